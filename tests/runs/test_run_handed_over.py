"""Material and run folders from somebody else: they make the tool read, write and run nothing but what it should."""

import ast
import contextlib
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from disturbed import children, lines, wait_until
from small_project import ARTICLES, PASSING, QUESTIONS, STUDY, Project, Ran, Server

import pytest_tokenbench

TEMPLATES = (
    "$question ${question} $$ $context {0} {question} {question.__class__} %s %(text)s \\n `id` $(id) "
    "__import__('os')"
)
NASTY = "../../\x1b[31m\x07\u202e\u2028a\u2029b\x85c\u061c\u2067$x{0}%s"
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u2028\u2029\u202e\u2067]")
SOME = "--tokenbench-conditions=A,C"


def test_templates_in_documents_and_answers_are_handed_on_as_they_stand(project, workers):
    project.write(
        "corpus/articles/kell.txt", ARTICLES["kell"].replace("rope walk.", f"rope walk. {TEMPLATES}")
    )
    project.write_questions(
        [QUESTIONS[0] | {"question": f"Who {TEMPLATES} built the upper light?"}, *QUESTIONS[1:]]
    )
    project.pin()

    def answer(prompt: str) -> str:
        return TEMPLATES if "Who $question" in prompt else "not stated"

    with Server(answer) as server:
        ran = project.run(workers, SOME, server=server)
        prompts = [chat["messages"][-1]["content"] for chat in server.chats]

    about_kell = [
        prompt for prompt in prompts if prompt.startswith("Answer") and "known for its two" in prompt
    ]
    assert len(about_kell) == 3
    assert all(prompt.count(TEMPLATES) == 1 + ("Who $question" in prompt) for prompt in about_kell)
    summary = next(prompt for prompt in prompts if prompt.startswith("Text:\nKell"))
    assert summary.count(TEMPLATES) == 1
    assert ran.observations["A-kell-q01"]["answer"] == TEMPLATES


def files_of(folder: Path) -> dict[Path, bytes]:
    return {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def command(project: Project, *arguments: object) -> Ran:
    done = subprocess.run(
        [sys.executable, "-m", "pytest_tokenbench.cli", *map(str, arguments)],
        cwd=project.path,
        env=project._environment(None, 80)
        | {"OLLAMA_HOST": "http://127.0.0.1:9", "PYTHONDONTWRITEBYTECODE": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
        timeout=120,
    )
    sys.stdout.write(ascii(done.stdout))
    return Ran(done.returncode, done.stdout, project.path)


@pytest.fixture(scope="module")
def hostile(make_project):
    """A project and two run folders in it, outside of its reports, whose every text is hostile."""
    project = make_project(study=STUDY + PASSING)
    with Server() as server:
        folder = project.run("-n0", SOME, server=server).folder
    record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    record |= {"study": NASTY, "study_file": f"{NASTY}.py", "registration": NASTY, "doubts": [NASTY]}
    record |= {"machine": {NASTY: NASTY}, "hashes": {NASTY: NASTY, "study": "0" * 64}, "baseline": NASTY}
    record |= {"resumed": [NASTY], "order": NASTY, "shard": NASTY, "commit": NASTY}
    record["conditions"][0] = NASTY
    record["model"] |= {
        "name": NASTY,
        "digest": NASTY,
        "host": NASTY,
        "server_version": NASTY,
        "backend": NASTY,
    }
    for verdict in record["verdicts"]:
        verdict |= {"hypothesis": NASTY, "statement": NASTY, "reason": NASTY}
    observations = [
        one | {"study": NASTY} | ({"condition": NASTY} if one["condition"] == "A" else {})
        for one in map(json.loads, (folder / "observations.jsonl").read_text(encoding="utf-8").splitlines())
    ]
    observations[0]["attempts"] = [{"kind": NASTY, "message": NASTY, "host": NASTY, "seconds": 1.0}]
    preparations = [
        json.loads(line) | {"key": "../../../planted"}
        for line in (folder / "preparations.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    shutil.rmtree(project.path / "reports")
    folders = [project.path / "handed" / name for name in ("one", "other")]
    for folder in folders:
        folder.mkdir(parents=True)
        (folder / "run.json").write_text(json.dumps(record), encoding="utf-8")
        for name, records in (("observations", observations), ("preparations", preparations)):
            text = "".join(json.dumps(one) + "\n" for one in records)
            (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    return project, folders


def test_report_of_a_hostile_run_writes_its_reports_and_steers_no_terminal(hostile):
    project, (folder, _) = hostile
    before = files_of(project.path.parent)

    ran = command(project, "report", folder)

    after = files_of(project.path.parent)
    assert ran.status == 0
    assert {file.name for file in after.keys() - before.keys()} == {
        "results.json",
        "report.md",
        "report.html",
    }
    assert all(after[file] == text for file, text in before.items())
    assert not CONTROL.search(ran.text)
    for name in ("report.md", "report.html"):
        report = (folder / name).read_text(encoding="utf-8")
        assert not CONTROL.search(report), name


def test_trials_of_a_hostile_run_that_ended_in_an_error_steer_no_terminal(hostile):
    project, (hostile_folder, _) = hostile
    folder = shutil.copytree(hostile_folder, project.path / "failed")
    ledger = folder / "observations.jsonl"
    first, *others = ledger.read_text(encoding="utf-8").split("\n")
    error = {"status": "error", "outcome": None, "scores": None, "host": NASTY, "error_kind": NASTY}
    error["error_message"] = NASTY
    ledger.write_text("\n".join([json.dumps(json.loads(first) | error), *others]), encoding="utf-8")

    ran = command(project, "report", folder)

    assert ran.status == 0
    assert "trials that ended in an error" in ran.text
    assert not CONTROL.search(ran.text)
    for name in ("report.md", "report.html"):
        assert not CONTROL.search((folder / name).read_text(encoding="utf-8")), name


def test_merging_hostile_runs_writes_below_its_folder_only(hostile):
    project, folders = hostile
    before = files_of(project.path.parent)

    ran = command(project, "merge", *folders, "--into", "joined")

    after = files_of(project.path.parent)
    assert all(after[file] == text for file, text in before.items())
    fresh = after.keys() - before.keys()
    assert {file.relative_to(project.path).parts[0] for file in fresh} == {"joined"}
    assert not CONTROL.search(ran.text)
    assert "Traceback" not in ran.text


@pytest.mark.parametrize("place", ["handed/one/small/run/study.py", "handed/study.py"])
def test_merging_runs_no_study_file_that_came_along_with_the_runs(make_project, place):
    project = make_project(study=STUDY + PASSING)
    with Server() as server:
        for part in ("1", "2"):
            assert (
                project.run("-n0", SOME, f"--tokenbench-shard={part}/2", server=server).status
                == pytest.ExitCode.OK
            )
    runs = [project.path / "handed" / name / "small" / "run" for name in ("one", "other")]
    for folder, run in zip(Ran(0, "", project.path).folders, runs, strict=True):
        shutil.copytree(folder, run)
    planted = (STUDY + PASSING + "\nopen('ran', 'w').close()\n").encode()
    (project.path / place).write_bytes(planted)
    for run in runs:
        record = json.loads((run / "run.json").read_text(encoding="utf-8"))
        record["study_file"] = place
        record["hashes"]["study"] = hashlib.sha256(planted).hexdigest()
        (run / "run.json").write_text(json.dumps(record), encoding="utf-8")

    ran = command(project, "merge", *runs, "--into", "joined")

    assert not (project.path / "ran").exists()
    assert ran.count(f"no verdicts: {place} does not stand in") == 1
    assert "name it with --study" in ran.text


def test_hostile_run_is_not_gone_on_with(hostile, workers):
    project, (folder, _) = hostile
    before = files_of(folder)
    with Server() as server:
        ran = project.run(workers, SOME, f"--tokenbench-resume={folder}", server=server)
        assert not server.chats

    assert ran.status == pytest.ExitCode.USAGE_ERROR
    assert not CONTROL.search(ran.text)
    assert "Traceback" not in ran.text
    assert files_of(folder) == before
    assert not list(project.path.parent.rglob("planted*"))


def test_corpus_that_leads_out_of_its_folder_is_refused_before_anything_is_asked(project, workers):
    secret = project.path.parent / "secret.txt"
    secret.write_text("Nobody is to read this.\n", encoding="utf-8")
    file = project.path / "corpus/articles/orrin.txt"
    file.unlink()
    file.symlink_to(secret)
    with Server() as server:
        ran = project.run(workers, SOME, server=server)
        assert not server.requests

    assert ran.status == pytest.ExitCode.USAGE_ERROR
    assert ran.count('"articles/orrin.txt" is a symbolic link out of corpus/') == 1
    assert "Nobody is to read this" not in ran.text


def listening(pids: list[int]) -> list[str]:
    """The places where these processes accept connections, as /proc has them."""
    sockets = set()
    for pid in pids:
        for handle in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(FileNotFoundError):  # closed since it was listed
                sockets |= set(re.findall(r"^socket:\[(\d+)\]$", str(handle.readlink())))
    found = []
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text(encoding="ascii").splitlines()[1:]:
            _, place, _, state, *rest = line.split()
            if state == "0A" and rest[5] in sockets:
                found.append(place)
    return found


def test_nothing_listens_while_a_run_goes_on(project, workers):
    with Server(delay=0.3) as server:
        process = project.start(workers, SOME, server=server)
        wait_until(lambda: lines(project) >= 2, process)
        pids = [process.pid, *children(process)]
        assert len(pids) == 1 + int(workers[-1])
        # The means of this test: the server's socket is found.
        assert len(listening([os.getpid()])) >= 1
        assert listening(pids) == []
        process.terminate()
        project.ended(process)


def test_no_code_of_the_package_evaluates_text_or_unpickles():
    forbidden = {"eval", "exec", "compile", "__import__", "input"}
    modules = {"pickle", "marshal", "shelve", "yaml", "dill", "joblib"}
    files = sorted(Path(pytest_tokenbench.__file__).parent.rglob("*.py"))
    assert len(files) > 50
    for file in files:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                assert getattr(node.func, "id", None) not in forbidden, file
                shell = [word for word in node.keywords if word.arg == "shell"]
                assert not shell, file
            names = [alias.name for alias in getattr(node, "names", ()) if isinstance(alias, ast.alias)]
            names += [getattr(node, "module", None) or ""] if isinstance(node, ast.ImportFrom) else []
            assert not modules & {name.partition(".")[0] for name in names}, file
            assert not (isinstance(node, ast.Attribute) and node.attr in {"system", "popen"}) or (
                isinstance(node.value, ast.Name) and node.value.id == "platform"
            ), file
