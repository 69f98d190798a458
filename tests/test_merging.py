"""Joining runs: parts give the whole, whatever is not of one run is refused, and what is lacking is told."""

import hashlib
import itertools
import random
from dataclasses import replace
from pathlib import Path

import made_runs
import pytest

from pytest_tokenbench import merging, resume, run_folder
from pytest_tokenbench.merging import MergeError, join
from pytest_tokenbench.records import Outcome, Scores, Status
from pytest_tokenbench.reporting import document
from pytest_tokenbench.run_folder import RunRecord

WHOLE = made_runs.run()


def named(runs):
    return {f"run {number}": run for number, run in enumerate(runs, 1)}


def told(run, **changed):
    return replace(run, record=replace(run.record, **changed))


def results(run):
    """The results document, without how the run went and as if the verdicts had not been given."""
    made = document.build(told(run, verdicts=(), finished=None))
    return document.as_text({name: one for name, one in made.items() if name != "course"})


class TestParts:
    @pytest.mark.parametrize("number", [1, 2, 3, 5, 8])
    @pytest.mark.parametrize("whole", [WHOLE, made_runs.repeated(3)], ids=["once", "repeated"])
    def test_all_shards_give_the_whole(self, number, whole):
        joined = join(named(made_runs.shards(number, whole)))
        assert results(joined.run) == results(whole)
        assert joined.run.preparations == whole.preparations
        assert joined.run.record.scheduled == len(whole.observations)
        assert joined.missing == ()
        assert joined.conditions == ("A", "C")

    def test_their_order_and_that_of_their_trials_are_no_matter(self):
        parts = made_runs.shards(3, made_runs.repeated(2))
        wanted = join(named(parts)).run
        dice = random.Random(4)
        for order in itertools.permutations(parts):
            shuffled = [
                replace(part, observations=tuple(dice.sample(part.observations, len(part.observations))))
                for part in order
            ]
            run = join(named(shuffled)).run
            assert run.observations == wanted.observations
            assert run.preparations == wanted.preparations
            assert run.record.started == wanted.record.started == "2026-01-02T03:04:10+00:00"

    def test_trials_stand_by_question_condition_and_repeat(self):
        seen = join(named(made_runs.shards(4, made_runs.repeated(2)))).run.observations
        assert seen == tuple(
            replace(one, host=seen[place].host) for place, one in enumerate(made_runs.observations(2))
        )

    def test_each_preparation_stands_once_with_its_cost(self):
        joined = join(named(made_runs.shards(2)))
        assert [(one.document, one.input_tokens) for one in joined.run.preparations] == [
            ("mill", 1000),
            ("quay", 2000),
        ]

    def test_the_record_is_that_of_the_whole_with_what_each_part_has_of_its_own(self):
        first, second = made_runs.shards(2)
        host = replace(second.record.model, host="http://other")
        second = told(second, doubts=("it rained",), registration="not pre-registered: x", model=host)
        record = join(named([first, second])).run.record
        assert record == replace(
            WHOLE.record,
            started="2026-01-02T03:04:10+00:00",
            finished=None,
            verdicts=(),
            registration="not pre-registered: x",
            machine={"system": "machine 0; machine 1"},
            doubts=("it rained",),
            hosts=(WHOLE.record.model, host),
        )

    def test_a_study_file_that_is_not_the_same_in_all_parts_is_not_pre_registered(self):
        first, second, third = made_runs.shards(3)
        second = told(second, hashes={"study": "1" * 64})
        clause = "the study file is not the same in all merged parts (absent and sha256 111111111111...)"
        record = join(named([first, second, third])).run.record
        assert record.registration == f"not pre-registered: {clause}"
        assert record.doubts == (clause,)
        third = told(third, registration="not pre-registered: x")
        assert (
            join(named([first, second, third])).run.record.registration == f"not pre-registered: x; {clause}"
        )

    def test_how_many_trials_the_verdicts_of_a_part_rest_on_is_not_said_of_the_whole(self):
        parts = [told(part, judged=3) for part in made_runs.shards(2)]
        assert join(named(parts)).run.record.judged is None

    def test_what_may_differ_and_may_matter_is_a_doubt(self):
        first, second = made_runs.shards(2)
        second = told(second, model=replace(second.record.model, server_version="0.9"))
        record = join(named([first, second])).run.record
        assert record.doubts == ("the server's version is not the same in all merged parts (none and 0.9)",)


class TestMissing:
    def test_what_no_part_has_is_told_by_condition(self):
        first, *others = made_runs.shards(3)
        assert [(one.condition, one.question) for one in first.observations] == [
            ("A", "mill-q1"),
            ("C", "mill-q2"),
            ("A", "quay-q1"),
        ]
        joined = join(named(others))
        assert joined.missing == ("A 2 of 4", "C 1 of 4")
        assert resume.is_unfinished(joined.run)

    def test_a_condition_without_a_trial_is_none_that_is_missing(self):
        only = [one for one in WHOLE.observations if one.condition == "A"]
        parts = [replace(WHOLE, observations=tuple(only[:2])), replace(WHOLE, observations=tuple(only[2:]))]
        joined = join(named(parts))
        assert joined.missing == ()
        assert joined.conditions == ("A",)
        assert joined.run.record.scheduled == 4

    def test_an_errored_trial_is_missing(self):
        seen = (made_runs.errored(WHOLE.observations[0]), *WHOLE.observations[1:])
        joined = join(named([replace(WHOLE, observations=seen[:4]), replace(WHOLE, observations=seen[4:])]))
        assert joined.missing == ("A 1 of 4",)

    def test_runs_without_any_trial_are_refused(self):
        empty = replace(WHOLE, observations=())
        with pytest.raises(MergeError, match=r"^run 1, run 2: no trial was run in any of them$"):
            join(named([empty, empty]))


def other_model(**changed):
    return {"model": replace(WHOLE.record.model, **changed)}


class TestRefusals:
    @pytest.mark.parametrize(
        ("change", "what"),
        [
            ({"study": "other"}, "the study's name (made there, other here)"),
            (
                {"hashes": {"questions": "0" * 64}},
                "the questions file (absent there, sha256 000000000000... here)",
            ),
            ({"hashes": {"manifest": "0" * 64}}, "the corpus' manifest"),
            ({"hashes": {"prompt answer": "0" * 64}}, "the prompt answer"),
            (other_model(digest="another"), "the model's digest (digest there, another here)"),
            (other_model(window=512), "the window (4096 there, 512 here)"),
            (other_model(options={"seed": 1}), "the model's option seed (none there, 1 here)"),
            ({"backend": "openai"}, "the backend"),
            ({"quick": True}, "--tokenbench-quick"),
            ({"order": "shared"}, "--tokenbench-order (cold there, shared here)"),
            ({"nonce": True}, "--tokenbench-nonce"),
            ({"repeats": 2}, "--tokenbench-repeats"),
            ({"recipes": {}}, "condition C's recipe"),
        ],
    )
    def test_runs_that_are_not_of_one_are_refused_in_one_sentence(self, change, what):
        first, second, third = made_runs.shards(3)
        with pytest.raises(MergeError) as refused:
            join(named([first, second, told(third, **change)]))
        sentence = str(refused.value)
        assert sentence.startswith(f"run 3 is no part of the same run as run 1: not the same are {what}")
        assert "\n" not in sentence

    @pytest.mark.parametrize(
        ("change", "what"),
        [
            ({"answer": "Smith"}, "its answer is 'Finch' there and 'Smith' here"),
            ({"input_tokens": 9}, "its input_tokens is 1010 there and 9 here"),
            ({"output_tokens": None}, "its output_tokens is 5 there and None here"),
            ({"context_sha256": "0"}, "its context_sha256 is "),
            ({"status": Status.OVER_WINDOW}, "its status is <Status.OK: 'ok'> there"),
            ({"outcome": Outcome.WRONG}, "its outcome is "),
            ({"scores": Scores(abstained=True)}, "its scores is "),
            ({"answer": "\x1b[31m\n" * 99}, "its answer is 'Finch' there and '\\x1b[31m\\n"),
        ],
    )
    def test_duplicates_that_disagree_are_refused_in_one_sentence(self, change, what):
        seen = (replace(WHOLE.observations[0], **change), *WHOLE.observations[1:3])
        with pytest.raises(MergeError) as refused:
            join(named([WHOLE, replace(WHOLE, observations=seen)]))
        sentence = str(refused.value)
        assert sentence.startswith(f"run 1 and run 2 disagree on the trial A-mill-q1: {what}")
        assert sentence.isprintable()
        assert len(sentence) < 250

    @pytest.mark.parametrize("place", [0, 1, 2])
    def test_a_part_that_is_spoilt_is_refused_and_named_wherever_it_stands(self, place):
        parts = made_runs.shards(3)
        parts[place] = told(parts[place], spoilt="the model digest was 1 and is 2 now\x1b[31m")
        with pytest.raises(MergeError) as refused:
            join(named(parts))
        sentence = str(refused.value)
        assert sentence.startswith(
            f"run {place + 1} cannot be merged, since 'the model digest was 1 and is 2 now"
        )
        assert sentence.isprintable()

    def test_preparations_that_disagree_are_refused_in_one_sentence(self):
        mill, quay = WHOLE.preparations
        other = replace(WHOLE, preparations=(mill, replace(quay, units=("Another.",))))
        with pytest.raises(
            MergeError, match=r"^run 1 and run 2 disagree on the summary of quay: its units is "
        ):
            join(named([WHOLE, other]))


class TestDuplicates:
    def test_that_agree_are_kept_once_whatever_their_timings(self):
        again = tuple(
            replace(one, started="later", host="other", worker="gw1", prefill_s=9.0, cached_tokens=4)
            for one in WHOLE.observations
        )
        joined = join(named([WHOLE, replace(WHOLE, observations=again)]))
        assert joined.run.observations == WHOLE.observations

    def test_with_a_nonce_may_differ_in_the_prompt_s_tokens_alone(self):
        whole = told(WHOLE, nonce=True)
        again = tuple(
            replace(one, input_tokens=1, prompt_sha256="0", nonce="0f0f") for one in WHOLE.observations
        )
        joined = join(named([whole, replace(whole, observations=again)]))
        assert joined.run.observations == WHOLE.observations
        wrong = tuple(replace(one, answer="Smith") for one in again)
        with pytest.raises(MergeError, match="its answer is"):
            join(named([whole, replace(whole, observations=wrong)]))

    @pytest.mark.parametrize("errored_first", [True, False])
    def test_that_came_to_nothing_yield_to_those_that_did_not(self, errored_first):
        bad = replace(WHOLE, observations=tuple(map(made_runs.errored, WHOLE.observations)))
        joined = join(named([bad, WHOLE] if errored_first else [WHOLE, bad]))
        assert joined.run.observations == WHOLE.observations
        assert joined.missing == ()

    @pytest.mark.parametrize("failed_first", [True, False])
    def test_of_preparations_that_the_model_was_in_trouble_with_yield_with_their_trials(self, failed_first):
        mill, quay = WHOLE.preparations
        failed = replace(mill, units=(), failure="nothing answers", failure_kind="unreachable")
        seen = tuple(
            made_runs.unconstructed(one) if one.preparation == mill.key else one for one in WHOLE.observations
        )
        bad = replace(WHOLE, observations=seen, preparations=(failed, quay))
        joined = join(named([bad, WHOLE] if failed_first else [WHOLE, bad]))
        assert joined.run.observations == WHOLE.observations
        assert joined.run.preparations == WHOLE.preparations
        assert joined.missing == ()

    def test_that_agree_on_a_failed_construction_are_kept(self):
        mill, quay = WHOLE.preparations
        failed = replace(mill, units=(), failure="empty", failure_kind="construction")
        seen = tuple(
            made_runs.unconstructed(one) if one.preparation == mill.key else one for one in WHOLE.observations
        )
        run = replace(WHOLE, observations=seen, preparations=(failed, quay))
        joined = join(named([run, run]))
        assert joined.run.observations == seen
        assert joined.run.preparations == (failed, quay)
        assert joined.missing == ()


class TestFolder:
    def test_a_joined_run_is_read_back_as_it_was_and_can_be_gone_on_with(self, tmp_path):
        joined = join(named(made_runs.shards(3)[1:]))
        folder = merging.write(tmp_path, joined.run)
        read = run_folder.read(folder)
        assert read == joined.run
        assert resume.is_unfinished(read)
        run_folder.lock(folder).release()


STUDY = b'"""A study."""\n\n\n@study.trials\ndef test_made(trial):\n    trial.ask()\n'


class TestStudyFile:
    @pytest.fixture
    def root(self, tmp_path):
        for name in ("root/benchmarks/test_made.py", "outside/test_made.py"):
            file = tmp_path / name
            file.parent.mkdir(parents=True)
            file.write_bytes(STUDY)
        return tmp_path / "root"

    @staticmethod
    def record(path) -> RunRecord:
        return replace(
            WHOLE.record, study_file=str(path), hashes={"study": hashlib.sha256(STUDY).hexdigest()}
        )

    def test_is_found_here_and_from_a_folder_below(self, root):
        record = self.record("benchmarks/test_made.py")
        assert merging.study_file(record, root) == root / "benchmarks" / "test_made.py"
        assert merging.study_file(record, root / "benchmarks") == root / "benchmarks" / "test_made.py"

    def test_is_not_taken_if_it_has_changed(self, root):
        (root / "benchmarks" / "test_made.py").write_text("import os")
        assert merging.study_file(self.record("benchmarks/test_made.py"), root) is None

    def test_is_not_taken_if_it_is_no_study(self, root):
        (root / "benchmarks" / "test_made.py").write_bytes(b"import os\n")
        record = replace(
            self.record("benchmarks/test_made.py"),
            hashes={"study": hashlib.sha256(b"import os\n").hexdigest()},
        )
        assert merging.study_file(record, root) is None

    @pytest.mark.parametrize("path", ["../outside/test_made.py", "benchmarks/../../outside/test_made.py"])
    def test_is_not_looked_for_outside(self, root, path):
        assert (root / path).is_file()
        assert merging.study_file(self.record(path), root) is None
        assert merging.study_file(self.record((root / path).resolve()), root) is None

    @pytest.mark.parametrize("path", ["a\0b.py", "a\0/b.py", "a" * 300 + ".py", "loop.py"])
    def test_is_none_where_no_file_can_have_its_path(self, root, path):
        (root / "loop.py").symlink_to("loop.py")
        assert merging.study_file(self.record(path), root, [root.parent / "runs"]) is None

    def test_is_not_taken_through_a_link_that_leads_outside(self, root):
        (root / "linked").symlink_to(root.parent / "outside")
        assert (root / "linked" / "test_made.py").is_file()
        assert merging.study_file(self.record("linked/test_made.py"), root) is None

    @pytest.mark.parametrize(
        "handed",
        [
            "benchmarks",
            "benchmarks/shards/one",
            "benchmarks/../benchmarks/one",
            ".",
            "benchmarks/test_made.py",
        ],
    )
    def test_is_not_taken_if_it_may_have_come_along_with_the_runs(self, root, handed):
        record = self.record("benchmarks/test_made.py")
        assert merging.study_file(record, root, [root / handed]) is None
        assert merging.study_file(record, root / "benchmarks", [root / handed]) is None

    def test_is_not_taken_if_a_link_leads_to_what_came_along(self, root):
        (root / "shards").mkdir()
        (root / "benchmarks").rename(root / "shards" / "one")
        (root / "benchmarks").symlink_to(root / "shards" / "one")
        record = self.record("benchmarks/test_made.py")
        assert merging.study_file(record, root) is not None
        assert merging.study_file(record, root, [root / "shards" / "one"]) is None

    @pytest.mark.parametrize("handed", ["reports/made/one", "shards", "../elsewhere"])
    def test_is_taken_if_it_stands_apart_from_the_runs(self, root, handed):
        record = self.record("benchmarks/test_made.py")
        assert merging.study_file(record, root, [root / handed]) == root / "benchmarks" / "test_made.py"

    def test_that_is_named_is_taken_wherever_it_stands_if_it_is_the_same(self, root):
        file = root.parent / "outside" / "test_made.py"
        assert merging.named_study_file(self.record("x.py"), file) == file
        file.write_bytes(b"import os\n")
        with pytest.raises(merging.MergeError, match="is not the study file of these runs"):
            merging.named_study_file(self.record("x.py"), file)
        with pytest.raises(merging.MergeError, match="cannot be read"):
            merging.named_study_file(self.record("x.py"), root / "nowhere.py")

    def test_is_none_where_there_is_none(self, root):
        assert merging.study_file(self.record("test_other.py"), root) is None
        assert merging.study_file(self.record("benchmarks"), root) is None


def test_pytest_is_told_all_options_of_the_run():
    record = replace(WHOLE.record, quick=True, order="shared", repeats=3, nonce=True)
    joined = merging.Joined(replace(WHOLE, record=record), ("A",), ())
    assert merging.judging(Path("/runs/x"), joined, Path("test_made.py")) == [
        "test_made.py",
        "-q",
        "--no-header",
        "--tokenbench-resume=/runs/x",
        "--tokenbench-backend=ollama",
        "--tokenbench-model=reader:1b",
        "--tokenbench-order=shared",
        "--tokenbench-repeats=3",
        "--tokenbench-conditions=A",
        "--override-ini=tokenbench_quick=True",
        "--override-ini=tokenbench_nonce=True",
        "--override-ini=tokenbench_shard=",
        "--override-ini=tokenbench_host=",
    ]
