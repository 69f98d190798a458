import json
import os
import subprocess
import sys
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import made_runs
import pytest

from pytest_tokenbench.cli import main
from pytest_tokenbench.models import weights, widening
from pytest_tokenbench.models.base import ModelMissingError
from pytest_tokenbench.records import Outcome, Scores


def status(*arguments: object) -> int:
    return main(list(map(str, arguments)))


@pytest.fixture
def run(tmp_path) -> Path:
    return made_runs.folder(tmp_path / "reports", made_runs.BY_HAND)


class TestReport:
    def test_results_and_report_come_out_of_the_ledger_alone(self, run, capsys):
        assert status("report", run) == 0
        results = json.loads((run / "results.json").read_text())
        assert results["conditions"]["C"]["measures"]["input_tokens"]["estimate"] == 100
        assert results["costs"][0]["price"]["name"] == "by hand"
        assert "H1 passed" in (run / "report.md").read_text()
        assert capsys.readouterr().out.endswith(
            f"rewrote {run}/results.json, {run}/report.md and {run}/report.html\n"
        )

    def test_a_second_time_gives_the_same_bytes(self, run):
        status("report", run)
        first = {file.name: file.read_bytes() for file in run.iterdir()}
        status("report", run)
        assert {file.name: file.read_bytes() for file in run.iterdir()} == first

    @pytest.mark.parametrize(("columns", "has_all"), [(80, False), (160, True)])
    def test_the_table_fits_the_terminal(self, run, capsys, monkeypatch, columns, has_all):
        monkeypatch.setenv("COLUMNS", str(columns))
        status("report", run)
        lines = capsys.readouterr().out.splitlines()[:-1]
        assert max(map(len, lines)) <= columns
        assert ("pays from" in "\n".join(lines)) is has_all

    def test_a_torn_last_line_is_left_out_and_told(self, run, capsys):
        with (run / "observations.jsonl").open("ab") as ledger:
            ledger.write(b'{"study":"made","ques')
        assert status("report", run) == 0
        note = "the last line of a ledger was cut short while it was written, and is left out"
        assert f"note: {note}" in capsys.readouterr().out.replace("\n    ", " ")
        assert f"- {note}" in (run / "report.md").read_text()

    def test_verdicts_on_more_trials_than_the_ledger_has_are_not_known(self, run, capsys):
        ledger = run / "observations.jsonl"
        whole = ledger.read_bytes()
        ledger.write_bytes(b"".join(whole.splitlines(keepends=True)[:2]))
        record = json.loads((run / "run.json").read_text())
        (run / "run.json").write_text(json.dumps(record | {"judged": 8}))
        reason = "not known: the ledger lacks 6 of the 8 trials that it was judged on"
        for _ in range(2):
            assert status("report", run) == 0
            assert f"H1 unavailable ({reason}): C costs less." in capsys.readouterr().out.replace(
                "\n    ", " "
            )
            (verdict,) = json.loads((run / "results.json").read_text())["hypotheses"]
            assert (verdict["ruling"], verdict["reason"], verdict["evidence"]) == ("unavailable", reason, [])
            assert all(reason in (run / name).read_text() for name in ("report.md", "report.html"))
        ledger.write_bytes(whole)
        assert status("report", run) == 0
        assert "H1 passed: C costs less." in capsys.readouterr().out


class TestNothingMeasured:
    """A run folder without any observation: nothing is reported as if it was measured, and nothing overwritten."""

    COMMANDS = (["report", "RUN"], ["claim", "RUN"], ["compare", "RUN", "OTHER"], ["compare", "OTHER", "RUN"])

    @pytest.fixture
    def refused(self, run, tmp_path, capsys):
        """Takes the run's trials away, and gives what each command says then."""
        other = made_runs.folder(tmp_path / "other")
        assert status("report", run) == 0

        def refused(command: list[str], **record: object) -> str:
            (run / "observations.jsonl").write_bytes(b"")
            (run / "run.json").write_text(json.dumps(json.loads((run / "run.json").read_text()) | record))
            before = {file: file.read_bytes() for file in run.iterdir()}
            capsys.readouterr()
            assert status(*({"RUN": run, "OTHER": other}.get(word, word) for word in command)) == 2
            assert {file: file.read_bytes() for file in run.iterdir()} == before
            out, err = capsys.readouterr()
            assert not out
            return err

        return refused

    @pytest.mark.parametrize("command", COMMANDS)
    @pytest.mark.parametrize("record", [{}, {"judged": 8}, {"judged": 3, "finished": None}])
    def test_where_trials_were_run_their_ledger_is_asked_for(self, refused, run, command, record):
        assert refused(command, **record) == (
            f"{run}/observations.jsonl: has no observation, though trials were run; put back the file that the run wrote\n"
        )

    @pytest.mark.parametrize("command", COMMANDS)
    @pytest.mark.parametrize("record", [{"verdicts": []}, {"judged": 0}])
    def test_a_run_interrupted_in_its_preparations_says_so(self, refused, run, command, record):
        assert refused(command, finished=None, **record) == (
            f"{run}: has no observation, since no trial was asked before the run was interrupted; "
            "--tokenbench-resume goes on with it\n"
        )

    def test_a_ledger_that_is_gone_is_one_without_observations(self, run, capsys):
        (run / "observations.jsonl").unlink()
        assert status("report", run) == 2
        assert "observations.jsonl: has no observation" in capsys.readouterr().err
        assert not (run / "results.json").exists()


def damage_observation(run: Path) -> None:
    lines = (run / "observations.jsonl").read_text().splitlines(keepends=True)
    lines[2] = lines[2].replace('"study"', '"stud')
    (run / "observations.jsonl").write_text("".join(lines))


def mistype_observation(run: Path) -> None:
    text = (run / "observations.jsonl").read_text()
    (run / "observations.jsonl").write_text(text.replace('"input_tokens":1010', '"input_tokens":"many"'))


def foreign_observation(run: Path) -> None:
    text = (run / "observations.jsonl").read_text()
    (run / "observations.jsonl").write_text(text.replace('"study":"made"', '"study":"another"', 1))


def newer_format(run: Path) -> None:
    (run / "run.json").write_text(json.dumps(json.loads((run / "run.json").read_text()) | {"format": 99}))


def half_a_record(run: Path) -> None:
    (run / "run.json").write_bytes((run / "run.json").read_bytes()[:200])


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda run: (run / "run.json").unlink(), "holds no run (run.json is missing)"),
        (newer_format, "run.json: has format 99; this version of pytest-tokenbench reads 1"),
        (half_a_record, "run.json: is damaged ("),
        (
            lambda run: (run / "run.json").write_text('{"format": 1}'),
            "is damaged (Object missing required field",
        ),
        (damage_observation, "observations.jsonl, line 3: "),
        (mistype_observation, "observations.jsonl, line 1: Expected `int | null`, got `str`"),
        (foreign_observation, "observations.jsonl: line 1 is of another study (another, mill-q1)"),
        (lambda run: (run / "report.md.part").mkdir(), "report.md.part: Is a directory"),
    ],
)
def test_a_run_that_cannot_be_reported_is_one_sentence_and_status_2(run, capsys, spoil, told):
    spoil(run)
    assert status("report", run) == 2
    out, err = capsys.readouterr()
    assert told in err
    assert str(run) in err
    assert err.count("\n") == 1
    assert not out


def test_reporting_a_folder_that_is_not_there_is_status_2(tmp_path, capsys):
    assert status("report", tmp_path / "nowhere") == 2
    assert capsys.readouterr().err == f"{tmp_path}/nowhere: holds no run (run.json is missing)\n"


class TestMerge:
    @pytest.fixture(autouse=True)
    def _here(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)

    @pytest.fixture
    def shards(self, tmp_path) -> list[Path]:
        return [made_runs.written(tmp_path / "parts", part) for part in made_runs.shards(3)]

    def test_a_part_of_the_whole_gets_reports_and_is_told_what_it_lacks_and_what_to_do(self, shards, capsys):
        assert status("merge", *shards[1:]) == 1
        (folder,) = Path("reports").glob("*/*")
        out, err = capsys.readouterr()
        assert out.startswith(f"merged 2 runs, 5 trials, into {folder}\n")
        assert err == (
            f"no verdicts, missing: A 2 of 4, C 1 of 4; pytest --tokenbench-resume={folder}, with the options of these runs, "
            "asks them and gives the verdicts\n"
        )
        assert "note: this run did not come to its end" in out
        assert json.loads((folder / "results.json").read_text())["conditions"]["C"]["statuses"] == {"ok": 3}
        assert not (folder / "writer.lock").exists()

    def test_the_reports_folder_can_be_chosen_and_the_parts_stay_as_they_are(self, shards, tmp_path):
        before = [file.read_bytes() for shard in shards for file in sorted(shard.iterdir())]
        assert status("merge", *shards[1:], "--into", tmp_path / "parts") == 1
        assert len(list((tmp_path / "parts" / "made").iterdir())) == 4
        assert [file.read_bytes() for shard in shards for file in sorted(shard.iterdir())] == before
        assert not Path("reports").exists()

    def test_a_whole_without_its_study_has_reports_and_no_verdicts_and_is_status_2(self, shards, capsys):
        assert status("merge", *shards) == 2
        (folder,) = Path("reports").glob("*/*")
        out, err = capsys.readouterr()
        assert "missing" not in out
        assert err == (
            f"no verdicts: test_made.py does not stand in {Path.cwd()} or above it as it was in these runs, and apart from them; name it with --study, or "
            f"pytest --tokenbench-resume={folder}, with the options of these runs, gives them\n"
        )
        assert (folder / "report.md").is_file()

    @pytest.mark.parametrize(("ended", "expected"), [(0, 0), (1, 1), (2, 2), (4, 2), (-9, 2)])
    def test_pytest_judges_a_whole_and_its_status_is_told(self, tmp_path, monkeypatch, ended, expected):
        study = tmp_path / "test_made.py"
        study.write_text("@study.trials\n")
        parts = [
            replace(
                part, record=replace(part.record, hashes={"study": sha256(study.read_bytes()).hexdigest()})
            )
            for part in made_runs.shards(2)
        ]
        called = []

        def run(command, **_options):
            called.append(command)
            return subprocess.CompletedProcess(command, ended)

        monkeypatch.setattr(subprocess, "run", run)
        folders = [made_runs.written(tmp_path / "parts", part) for part in parts]
        assert status("merge", *folders) == expected
        (folder,) = Path("reports").glob("*/*")
        ((python, *command),) = called
        assert python == sys.executable
        assert command[:3] == ["-m", "pytest", str(study)]
        assert f"--tokenbench-resume={tmp_path / folder}" in command

    @pytest.mark.parametrize("number", [0, 1])
    def test_fewer_than_two_runs_are_status_2(self, shards, capsys, number):
        try:
            ended = status("merge", *shards[:number])
        except SystemExit as usage:
            ended = usage.code
        assert ended == 2
        assert (
            "one run; name at least two" if number else "usage: tokenbench merge"
        ) in capsys.readouterr().err

    def test_runs_that_are_not_of_one_are_one_sentence_and_status_2_and_leave_nothing(self, shards, capsys):
        text = (shards[1] / "run.json").read_text()
        (shards[1] / "run.json").write_text(text.replace('"order": "cold"', '"order": "shared"'))
        assert status("merge", *shards) == 2
        out, err = capsys.readouterr()
        assert err == (
            f"{shards[1]} is no part of the same run as {shards[0]}: not the same are --tokenbench-order "
            "(cold there, shared here)\n"
        )
        assert not out
        assert not Path("reports").exists()

    def test_a_folder_that_cannot_be_written_is_one_sentence_and_status_2(self, shards, capsys):
        Path("reports").write_text("a file")
        assert status("merge", *shards) == 2
        assert capsys.readouterr().err == "reports/made: Not a directory\n"


class TestCompare:
    @pytest.fixture
    def runs(self, tmp_path) -> tuple[Path, Path]:
        """Two runs, the second of which has every answer of C wrong."""
        made = made_runs.run()
        wrong = [
            replace(
                one, outcome=Outcome.WRONG, answer="no", scores=Scores(abstained=False, correct=False, f1=0.0)
            )
            if one.condition == "C"
            else one
            for one in made.observations
        ]
        spoilt = replace(made, observations=tuple(wrong))
        return made_runs.written(tmp_path / "first", made), made_runs.written(tmp_path / "second", spoilt)

    def test_a_loss_is_shown_in_a_table_and_answer_by_answer(self, runs, capsys):
        assert status("compare", *runs) == 0
        out, err = capsys.readouterr()
        assert "100% -> 0%" in out
        assert 'C correct -> wrong: "Finch" -> "no"' in out
        assert not err

    def test_as_markdown_it_is_the_same_with_its_file_names(self, runs, capsys):
        assert status("compare", *runs, "--markdown") == 0
        out = capsys.readouterr().out
        assert out.startswith("# Comparison of two runs\n")
        assert "100% -> 0%" in out

    @pytest.mark.parametrize("form", [[], ["--json"], ["--markdown"]])
    def test_html_is_written_beside_what_is_printed_and_replaces_what_was_there(
        self, runs, tmp_path, capsys, form
    ):
        status("compare", *runs, *form)
        without = capsys.readouterr().out
        file = tmp_path / "page.html"
        file.write_text("former")
        assert status("compare", *runs, *form, "--html", file) == 0
        out, err = capsys.readouterr()
        assert out == without + ("" if form else f"wrote {file}\n")
        assert not err
        assert file.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
        assert not list(tmp_path.glob("page.html?*"))

    def test_html_has_the_gates_and_does_not_open_them(self, runs, tmp_path):
        file = tmp_path / "page.html"
        assert status("compare", *runs, "--fail", "accuracy:C:3", "--html", file) == 1
        assert "accuracy of C fell by 100.0 points" in file.read_text(encoding="utf-8")

    @pytest.mark.parametrize(
        ("name", "reason"),
        [
            ("nowhere/page.html", "No such file or directory"),
            ("file/page.html", "Not a directory"),
            ("folder", "it is no regular file"),
            ("link", "it is no regular file"),
            ("pipe", "it is no regular file"),
        ],
    )
    def test_html_that_cannot_be_written_is_one_sentence_and_status_2(
        self, runs, tmp_path, capsys, name, reason
    ):
        (tmp_path / "file").write_text("kept")
        (tmp_path / "folder").mkdir()
        (tmp_path / "link").symlink_to("file")
        os.mkfifo(tmp_path / "pipe")
        assert status("compare", *runs, "--html", tmp_path / name) == 2
        assert capsys.readouterr().err == f"{tmp_path / name}: cannot be written ({reason})\n"
        assert (tmp_path / "file").read_text() == "kept"

    def test_as_json_it_can_be_read(self, runs, capsys):
        assert status("compare", *runs, "--json") == 0
        made = json.loads(capsys.readouterr().out)
        assert made["conditions"]["C"]["measures"]["accuracy"]["difference"] == -1

    @pytest.mark.parametrize(
        ("gates", "expected", "told"),
        [
            (["accuracy:A:0"], 0, []),
            (
                ["accuracy:C:3"],
                1,
                [
                    "accuracy of C fell by 100.0 points [100.0, 100.0] from the first run to the second, more than 3"
                ],
            ),
            (
                ["accuracy:A:0", "made_up:C:1"],
                1,
                ["made_up:C:1 cannot be judged: made_up of C was not measured"],
            ),
        ],
    )
    def test_a_gate_that_is_shut_is_status_1_and_one_sentence(self, runs, capsys, gates, expected, told):
        arguments = [part for gate in gates for part in ("--fail", gate)]
        assert status("compare", *runs, *arguments) == expected
        lines = capsys.readouterr().err.splitlines()
        assert [line[: len(wanted)] for line, wanted in zip(lines, told, strict=True)] == told

    def test_what_is_no_gate_is_status_2(self, runs, capsys):
        assert status("compare", *runs, "--fail", "accuracy") == 2
        assert capsys.readouterr().err.startswith(
            "--fail: 'accuracy' is no gate; write MEASURE:CONDITION:POINTS"
        )

    @pytest.mark.parametrize("place", [0, 1])
    def test_a_folder_without_a_run_is_one_sentence_and_status_2(self, runs, tmp_path, capsys, place):
        folders = list(runs)
        folders[place] = tmp_path
        assert status("compare", *folders) == 2
        assert capsys.readouterr().err == f"{tmp_path}: holds no run (run.json is missing)\n"


def test_what_a_run_folder_says_cannot_steer_the_terminal(run, capsys):
    text = (run / "observations.jsonl").read_text()
    (run / "observations.jsonl").write_text(text.replace('"study":"made"', '"study":"\\u001b[31m"', 1))
    assert status("report", run) == 2
    err = capsys.readouterr().err
    assert "\x1b" not in err
    assert r"is of another study ('\x1b[31m', mill-q1)" in err


class TestModelsPull:
    def test_the_path_alone_goes_to_standard_output(self, capsys, monkeypatch, tmp_path):
        def pull(name, say):
            say(f"downloading {name}")
            return tmp_path / "model.gguf"

        def widened(original, say):
            say(f"copying {original.name}")
            return original.with_name("copy.gguf")

        monkeypatch.setattr(weights, "pull", pull)
        monkeypatch.setattr(widening, "widened", widened)
        assert status("models", "pull", "smollm2-135m") == 0
        out, err = capsys.readouterr()
        assert out == f"{tmp_path}/copy.gguf\n", "the file that runs use"
        assert err == "downloading smollm2-135m\ncopying model.gguf\n"

    def test_an_unknown_name_is_status_2_with_the_known_ones(self, capsys):
        assert status("models", "pull", "gtp") == 2
        out, err = capsys.readouterr()
        assert 'no embedded model "gtp"' in err
        assert all(name in err for name in weights.KNOWN)
        assert not out

    def test_a_model_that_cannot_be_had_is_one_sentence_and_status_2(self, capsys, monkeypatch):
        def pull(name, **_say):
            raise ModelMissingError(f"the model {name} cannot be had")

        monkeypatch.setattr(weights, "pull", pull)
        assert status("models", "pull", "smollm2-135m") == 2
        assert capsys.readouterr().err == "the model smollm2-135m cannot be had\n"


class TestHelp:
    @pytest.mark.parametrize(
        ("command", "named"),
        [
            ([], ["init", "doctor", "corpus", "report", "merge", "compare", "models"]),
            (["corpus"], ["verify", "sample", "pin", "add"]),
            (["corpus", "add"], ["FILE", ".pdf", "--licence"]),
            (["init"], ["DIR"]),
            (["doctor"], ["--backend", "--model", "--host"]),
            (["compare"], ["RUN_A", "RUN_B", "--markdown", "--json", "--html", "--fail"]),
            (["report"], ["RUN"]),
            (["merge"], ["RUN", "--into"]),
            (["models"], ["pull"]),
            (["models", "pull"], ["NAME", "smollm2-135m"]),
        ],
    )
    def test_every_command_explains_itself_on_80_columns(self, capsys, monkeypatch, command, named):
        monkeypatch.setenv("COLUMNS", "80")
        with pytest.raises(SystemExit) as ended:
            main([*command, "--help"])
        text = capsys.readouterr().out
        assert ended.value.code == 0
        assert text.startswith(f"usage: {' '.join(['tokenbench', *command])} ")
        assert all(word in text for word in named)
        assert max(map(len, text.splitlines())) <= 80

    @pytest.mark.parametrize(
        "command",
        [
            [],
            ["corpus"],
            ["models"],
            ["models", "pull"],
            ["report"],
            ["merge"],
            ["compare"],
            ["init"],
            ["repot"],
        ],
    )
    def test_half_a_command_is_status_2_with_the_usage(self, capsys, command):
        with pytest.raises(SystemExit) as ended:
            main(command)
        assert ended.value.code == 2
        assert capsys.readouterr().err.startswith("usage: tokenbench ")

    def test_the_installed_command_runs_without_numpy_and_pytest(self):
        code = "import sys; from pytest_tokenbench.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass\n"
        code += "print(sorted({'numpy', 'pytest', 'genai_prices', 'xllamacpp', 'gguf'} & set(sys.modules)))"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout.splitlines()[-1] == "[]"
