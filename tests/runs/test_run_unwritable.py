"""A reports folder that cannot be written: told in one sentence, and nothing that was measured is lost."""

import pytest
from disturbed import settled
from small_project import PASSING, STUDY, Server

SOME = "--tokenbench-conditions=A,B2"
# A folder that has the name of the last file to be written: even who may write everywhere cannot.
IN_THE_WAY = STUDY.replace(
    "    trial.ask()",
    "    trial.ask()\n"
    "    for folder in Path('reports').glob('*/*'):\n"
    "        if not Path('free').exists():\n"
    "            (folder / '{name}').mkdir(parents=True, exist_ok=True)",
)


def blocked(name: str) -> str:
    return "from pathlib import Path\n\n" + IN_THE_WAY.replace("{name}", name) + PASSING


@pytest.mark.parametrize("name", ["results.json", "report.md", "results.json.part/x", "run.json.part/x"])
def test_results_that_cannot_be_written_fail_the_session_and_lose_nothing(make_project, workers, name):
    project = make_project(study=blocked(name))
    with Server() as server:
        ran = project.run(workers, SOME, server=server, columns=300)

    assert ran.status == pytest.ExitCode.TESTS_FAILED
    assert ran.count("cannot be written (Is a directory); what is measured is kept") == 1
    assert ran.count("INTERNALERROR") == ran.count("Traceback") == 0
    assert len(ran.observations) == 12
    assert ran.has("A *", "H1 unavailable*") is None

    blocking = ran.folder / name.partition("/")[0]
    for one in sorted(blocking.rglob("*"), reverse=True):
        one.rmdir()
    blocking.rmdir()
    project.write("free", "")
    again = project.run(workers, SOME, "--tokenbench-resume", "--tokenbench-model=smollm2:135m")
    with Server() as server:
        whole = make_project(study=STUDY + PASSING).run(workers, SOME, server=server)
    assert again.status == pytest.ExitCode.OK
    assert settled(again.file("results.json")) == settled(whole.file("results.json"))


def test_reports_folder_that_is_a_file_is_told_before_anything_is_asked(make_project, workers):
    project = make_project(study=STUDY + PASSING)
    project.write("reports", "in the way")
    with Server() as server:
        ran = project.run(workers, SOME, server=server)
        assert not server.chats

    assert ran.status == pytest.ExitCode.USAGE_ERROR
    assert ran.count("reports/small: cannot be written (Not a directory)") == 1


def test_preparations_that_cannot_be_kept_are_told_before_the_first_trial(make_project, workers):
    project = make_project()
    project.write(".tokenbench", "in the way")
    with Server() as server:
        ran = project.run(workers, server=server)

    assert ran.status == pytest.ExitCode.USAGE_ERROR
    assert ran.count("cannot be written (Not a directory)") == 1
    assert ran.count("INTERNALERROR") == 0
