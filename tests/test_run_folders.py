"""A run's folder: names from outside, links planted in it, and nothing left of a run that could not begin."""

import errno
import json
import os
from dataclasses import replace

import made_runs
import pytest

from pytest_tokenbench import run_folder
from pytest_tokenbench.records import decode
from pytest_tokenbench.run_folder import RunError, RunRecord

NAMES = [
    "..",
    "../../etc",
    "/etc/passwd",
    "a/../..",
    "",
    ".",
    "\x1b[31mred\n",
    "\u202egnp.exe",
    "x" * 5000,
    "." * 300,
    "hf.co/some/Model-GGUF:Q4_K_M",
    "C:\\Windows",
]


class TestNames:
    @pytest.mark.parametrize("name", NAMES)
    @pytest.mark.parametrize("whose", ["study", "model", "started"])
    def test_no_name_makes_a_folder_elsewhere_or_one_that_cannot_be_typed(self, tmp_path, name, whose):
        record = made_runs.record()
        record = (
            replace(record, model=replace(record.model, name=name))
            if whose == "model"
            else replace(record, **{whose: name})
        )
        reports = tmp_path / "reports"
        folder = run_folder.create(reports, record)
        assert folder.resolve().parent.parent == reports.resolve()
        assert folder.parent == run_folder.home(reports, record.study)
        assert folder.name.isascii()
        assert folder.name.isprintable()
        assert list(tmp_path.iterdir()) == [reports]
        assert run_folder.read_record(folder) == record

    def test_a_model_is_named_without_its_publisher_by_what_can_stand_in_a_path(self, tmp_path):
        record = made_runs.record()
        record = replace(record, model=replace(record.model, name="hf.co/some/Model-GGUF:Q4_K_M"))
        assert run_folder.create(tmp_path, record).name == "20260102T030405-Model-GGUF-Q4_K_M"

    def test_runs_of_the_same_second_get_a_folder_each(self, tmp_path):
        names = [run_folder.create(tmp_path, made_runs.record()).name for _ in range(3)]
        assert names == [f"20260102T030405-reader-1b{end}" for end in ("", "-2", "-3")]


class TestBeginning:
    def test_a_record_that_cannot_be_written_leaves_nothing_behind(self, tmp_path, monkeypatch):
        def full(_handle):
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space left") as refused:
            run_folder.create(tmp_path / "reports", made_runs.record())
        assert refused.value.filename.endswith("run.json")
        assert not list((tmp_path / "reports").iterdir())

    def test_a_run_without_an_observation_is_discarded_with_its_empty_ledgers(self, tmp_path):
        nothing = replace(made_runs.run(), observations=(), preparations=())
        run_folder.discard(made_runs.written(tmp_path, nothing))
        assert not list(tmp_path.iterdir())

    @pytest.mark.parametrize("kept", ["observations", "preparations"])
    def test_a_run_with_a_record_is_kept(self, tmp_path, kept):
        others = {"observations", "preparations"} - {kept}
        folder = made_runs.written(tmp_path, replace(made_runs.run(), **dict.fromkeys(others, ())))
        before = contents(folder)
        run_folder.discard(folder)
        assert contents(folder) == before

    def test_a_folder_with_a_file_of_something_else_is_kept_whole(self, tmp_path):
        folder = made_runs.written(tmp_path, replace(made_runs.run(), observations=(), preparations=()))
        (folder / "notes.txt").touch()
        before = contents(folder)
        run_folder.discard(folder)
        assert contents(folder) == before

    def test_other_runs_of_the_study_are_kept(self, tmp_path):
        other = made_runs.folder(tmp_path)
        run_folder.discard(run_folder.create(tmp_path, made_runs.record()))
        assert list(tmp_path.glob("*/*")) == [other]


def contents(folder):
    return {file.name: file.read_bytes() for file in folder.iterdir()}


class TestLinks:
    """A run folder that someone else handed over."""

    @pytest.fixture
    def outside(self, tmp_path):
        outside = tmp_path / "outside"
        outside.write_text('{"format": 1, "secret": "mine"}\n')
        return outside

    @pytest.fixture
    def folder(self, tmp_path):
        return made_runs.folder(tmp_path / "reports")

    @pytest.mark.parametrize("link", ["symlink_to", "hardlink_to"])
    @pytest.mark.parametrize("name", ["results.json", "results.json.part"])
    def test_what_a_link_leads_to_is_not_written(self, folder, outside, link, name):
        before = outside.read_bytes()
        getattr(folder / name, link)(outside)
        run_folder.write(folder / "results.json", "new")
        assert outside.read_bytes() == before
        assert (folder / "results.json").read_text() == "new"
        assert not (folder / "results.json").is_symlink()
        assert not (folder / "results.json.part").exists()

    @pytest.mark.parametrize("name", ["run.json", "observations.jsonl", "preparations.jsonl"])
    def test_what_a_link_leads_to_is_not_read(self, folder, outside, name):
        (folder / name).unlink()
        (folder / name).symlink_to(outside)
        with pytest.raises(RunError, match="symbolic link") as refused:
            run_folder.read(folder)
        assert str(folder / name) in str(refused.value)
        assert "mine" not in str(refused.value)

    def test_replacing_a_text_keeps_the_former_one_if_the_disk_is_full(self, folder, monkeypatch):
        run_folder.write(folder / "results.json", "old")

        def full(_handle):
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space left"):
            run_folder.write(folder / "results.json", "new")
        assert (folder / "results.json").read_text() == "old"
        assert not (folder / "results.json.part").exists()


class TestReading:
    def test_what_was_asked_or_built_again_counts_once_as_seen_last(self, tmp_path):
        made = made_runs.run()
        first, *others = made.observations
        summary, other = made.preparations
        failed = replace(summary, units=(), failure="nothing answers", failure_kind="unreachable")
        folder = made_runs.written(
            tmp_path,
            replace(
                made,
                observations=(made_runs.errored(first), *others, first),
                preparations=(failed, other, summary),
            ),
        )
        read = run_folder.read(folder)
        assert set(read.observations) == set(made.observations)
        assert len(read.observations) == len(made.observations)
        assert sorted(read.preparations, key=str) == sorted(made.preparations, key=str)

    def test_one_preparation_serves_two_documents_of_the_same_text(self, tmp_path):
        made = made_runs.run()
        twins = tuple(replace(made.preparations[0], document=name) for name in ("mill", "quay"))
        folder = made_runs.written(tmp_path, replace(made, preparations=twins))
        assert run_folder.read(folder).preparations == twins

    def test_a_record_from_before_repeats_and_shards_is_read(self, tmp_path):
        folder = made_runs.folder(tmp_path)
        later = {"repeats", "nonce", "shard", "hosts", "resumed", "doubts", "condition_options"}
        value = json.loads((folder / "run.json").read_text())
        text = json.dumps({key: one for key, one in value.items() if key not in later})
        (folder / "run.json").write_text(text)
        assert run_folder.read_record(folder) == decode(text, RunRecord) == made_runs.record()
