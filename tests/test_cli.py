import json
import subprocess
import sys
from pathlib import Path

import made_runs
import pytest

from pytest_tokenbench.cli import main
from pytest_tokenbench.models import weights, widening
from pytest_tokenbench.models.base import ModelMissingError


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
        assert capsys.readouterr().out.endswith(f"rewrote {run}/results.json and {run}/report.md\n")

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

    def test_an_unfinished_run_without_observations_says_so(self, run, capsys):
        (run / "observations.jsonl").unlink()
        record = json.loads((run / "run.json").read_text()) | {"finished": None, "verdicts": []}
        (run / "run.json").write_text(json.dumps(record))
        assert status("report", run) == 0
        text = capsys.readouterr().out
        assert "note: this run did not come to its end" in text
        assert "note: not measured: A" in text


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
            ([], ["corpus", "report", "models"]),
            (["corpus"], ["verify", "sample", "pin"]),
            (["report"], ["RUN"]),
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
        "command", [[], ["corpus"], ["models"], ["models", "pull"], ["report"], ["repot"]]
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
