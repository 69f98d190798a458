"""The options in `pytest --help`, and what the plugin is in a project without a study: nothing."""

import pytest

HELP = """
tokenbench: token cost and accuracy studies:
  --tokenbench-model=NAME
                        Model that answers and writes preparations (default:
                        qwen2.5:7b-instruct; embedded: smollm2-135m).
  --tokenbench-backend=BACKEND
                        Where the model runs: ollama (default), embedded (in
                        this process), or openai (any server with that
                        interface).
  --tokenbench-host=URL
                        Address of a server (default: $OLLAMA_HOST, else
                        http://127.0.0.1:11434). May be given several times:
                        with -n, each worker asks one of them.
  --tokenbench-study=NAMES
                        Run these studies only, by name, separated by commas;
                        all: every one, also those that are opt-in and otherwise
                        run only when their file is named.
  --tokenbench-conditions=IDS
                        Run these conditions only, separated by commas.
  --tokenbench-quick    A quick look instead of the study: the first four
                        documents, shortened, and their questions; of a study
                        over blocks a few cases and arms.
  --tokenbench-reports=DIR
                        Folder for the run folders (default: reports).
  --tokenbench-html=ON  on (default): a run's end writes report.html. off: only
                        `tokenbench report` does.
  --tokenbench-strict   An unavailable hypothesis fails instead of being
                        skipped.
  --tokenbench-order=ORDER
                        cold (default): consecutive trials share no document, so
                        that prefill can be measured. shared: trials with a
                        common context follow each other, so that it is
                        prefilled once.
  --tokenbench-nonce    Begin every prompt with a few characters of its own, so
                        that no server finds any of it in a cache.
  --tokenbench-timeout=S
                        Seconds that one trial may take, all attempts together
                        (default: 900).
  --tokenbench-repeats=N
                        Run each trial this many times, which tells how far
                        answers vary (default: 1).
  --tokenbench-resume=[RUN]
                        Go on with a run that did not come to its end: this
                        folder, or without a value the newest.
  --tokenbench-shard=I/N
                        Run one part of the trials, as 2/5; `tokenbench merge`
                        joins the parts.
  --tokenbench-compare=RUN
                        Compare with this earlier run of the study when the last
                        trial is in; also writes compare.md, compare.json and,
                        where pages are, compare.html into the run folder.
  --tokenbench-compare-fail=GATE
                        Fail the session where a condition lost more since that
                        run, beyond noise: accuracy:D25:3 is 3 points. May be
                        given several times.
  --tokenbench-plan     Ask no model and run nothing: print trials, tokens,
                        preparations, expected time and cost, and the power.
  --tokenbench-discordance=SHARE
                        Share of answers that the plan expects to differ between
                        two conditions (default: 0.1).
  --tokenbench-progress=HOW
                        How a run tells where it stands: auto (default: below
                        pytest's own lines on a terminal, else as plain), plain
                        (one line a minute) or off.
  --tokenbench-prices=FILE
                        TOML file with prices per million tokens; adds cost per
                        question.
"""
HEAVY = [
    "numpy",
    "httpx",
    "ollama",
    "tqdm",
    "tenacity",
    "jinja2",
    "matplotlib",
    "jsonschema",
    "rank_bm25",
    "tabulate",
    "msgspec",
    "pytest_tokenbench.bridge",
]


def test_help_has_one_group_with_every_option(project):
    ran = project.run("--help")

    place = ran.lines.index("tokenbench: token cost and accuracy studies:")
    group = ran.lines[place : ran.lines.index("", place)]
    assert group == HELP.strip().splitlines()
    for name in ("model", "backend", "host", "conditions", "quick", "reports", "strict", "prices"):
        ran.has(f"  tokenbench_{name} (*")


def test_project_without_a_study_notices_nothing(project, workers):
    (project.path / "test_small.py").unlink()
    project.write("test_plain.py", "def test_trials():\n    pass\n")
    project.write("pytest.ini", "[pytest]\n")  # none of our keys, which would be read
    project.write(
        "conftest.py",
        "import pathlib\nimport sys\n\n\ndef pytest_sessionfinish(session):\n"
        "    name = 'worker' if hasattr(session.config, 'workerinput') else 'main'\n"
        "    pathlib.Path(f'{name}.txt').write_text('\\n'.join(sys.modules))\n",
    )
    before = {file.name for file in project.path.iterdir()}

    ran = project.run(workers)

    ran.has("=* 1 passed in *")
    ran.lacks("*tokenbench:*", "*= tokenbench*", "letters:*")
    kept = {"main.txt", "junit.xml"} | ({"worker.txt"} if workers == "-n2" else set())
    assert {file.name for file in project.path.iterdir()} - before == kept
    for file in project.path.glob("*.txt"):
        modules = set(file.read_text().splitlines())
        assert "pytest_tokenbench.plugin" in modules
        assert not modules.intersection(HEAVY)


def test_fixture_of_ones_own_named_trial_is_left_alone(project):
    (project.path / "test_small.py").unlink()
    project.write(
        "test_plain.py",
        "import pytest\n\n\n@pytest.fixture(params=[1, 2])\ndef trial(request):\n    return request.param\n\n\n"
        "def test_trials(trial):\n    assert trial in {1, 2}\n",
    )

    ran = project.run("-n2")

    ran.has("=* 2 passed in *")
    assert ran.status == pytest.ExitCode.OK
