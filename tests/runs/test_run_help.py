"""The options in `pytest --help`, and what the plugin is in a project without a study: nothing."""

import pytest

HELP = """
tokenbench: token cost and accuracy studies:
  --tokenbench-model=NAME
                        Model that answers and writes preparations (default:
                        qwen2.5:7b-instruct; embedded: smollm2-135m).
  --tokenbench-backend=BACKEND
                        Where the model runs: ollama (default), or embedded, in
                        this process.
  --tokenbench-host=URL
                        Address of the Ollama server (default: $OLLAMA_HOST,
                        else http://127.0.0.1:11434).
  --tokenbench-conditions=IDS
                        Run these conditions only, separated by commas.
  --tokenbench-quick    A quick look instead of the protocol: the first four
                        documents, shortened, and their questions.
  --tokenbench-reports=DIR
                        Folder for the run folders (default: reports).
  --tokenbench-strict   An unavailable hypothesis fails instead of being
                        skipped.
  --tokenbench-prices=FILE
                        TOML file with prices per million tokens; adds cost per
                        question.
"""
HEAVY = [
    "numpy",
    "httpx",
    "ollama",
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
