"""Going on with a run: which one it is, what of it is done, and what forbids or blemishes it."""

import os
from dataclasses import replace
from pathlib import Path

import made_runs
import pytest

from pytest_tokenbench import resume, run_folder
from pytest_tokenbench.conditions import Chunks, Croutons, FullText, Summary
from pytest_tokenbench.records import Status, decode, encode
from pytest_tokenbench.run_folder import RunError, RunRecord
from pytest_tokenbench.scheduling import Order, TrialKey
from pytest_tokenbench.settings import Settings, Shard

WHOLE = made_runs.run()
CUT = replace(WHOLE, record=replace(WHOLE.record, finished=None), observations=WHOLE.observations[:3])


@pytest.fixture
def settings(tmp_path):
    """The options that the runs of `made_runs` were made with, and the newest one to be gone on with."""
    return Settings(
        backend="ollama",
        model="reader:1b",
        hosts=(),
        conditions=None,
        quick=False,
        reports=tmp_path / "reports",
        strict=False,
        prices=None,
        preparations=tmp_path / "preparations",
        resume="",
    )


def made(settings, run=CUT, started="2026-01-02T03:04:05+00:00", **told):
    return made_runs.written(
        settings.reports, replace(run, record=replace(run.record, started=started, **told))
    )


def of(run, *, at, change):
    """The run with one observation changed."""
    seen = list(run.observations)
    seen[at] = change(seen[at])
    return replace(run, observations=tuple(seen))


class TestWhichRun:
    def test_none_unless_it_is_asked_for(self, settings):
        made(settings)
        assert resume.earlier(replace(settings, resume=None), Path()) == {}

    def test_newest_of_each_study_that_did_not_come_to_its_end(self, settings):
        made(settings, started="2026-01-01T00:00:00+00:00")
        newest = made(settings, started="2026-01-03T00:00:00+00:00")
        made(settings, started="2026-01-02T00:00:00+00:00")
        made(settings, run=WHOLE, started="2026-01-04T00:00:00+00:00")
        other = made(settings, run=replace(CUT, observations=()), study="another")
        assert resume.earlier(settings, Path()) == {"made": newest, "another": other}

    def test_of_one_second_the_one_begun_last(self, settings):
        folders = [made(settings) for _ in range(11)]
        assert folders[-1].name.endswith("-11")
        assert resume.earlier(settings, Path()) == {"made": folders[-1]}

    def test_a_run_that_ended_with_errors_is_unfinished(self, settings):
        folder = made(settings, run=of(WHOLE, at=4, change=made_runs.errored))
        assert resume.earlier(settings, Path()) == {"made": folder}

    @pytest.mark.parametrize(
        ("other", "told"),
        [
            ({"backend": "openai"}, "backend ollama"),
            ({"model": "writer:1b"}, "model reader:1b"),
            ({"quick": True}, "quick off"),
            ({"order": Order.SHARED}, "order cold"),
            ({"nonce": True}, "nonce off"),
            ({"repeats": 3}, "repeats 1"),
            ({"shard": Shard(2, 5)}, "shard none"),
            ({"nonce": True, "repeats": 3}, "nonce off, repeats 1"),
        ],
    )
    def test_none_of_other_options_and_it_is_told_which(self, settings, other, told):
        folder = made(settings)
        with pytest.raises(RunError) as refused:
            resume.earlier(replace(settings, **other), Path())
        assert str(refused.value) == (
            f"no unfinished run in {settings.reports} has these options; the newest, {folder}, has {told}"
        )

    def test_the_newest_with_these_options_goes_before_a_newer_one_of_others(self, settings):
        folder = made(settings, shard="2/5")
        made(settings, started="2026-01-03T00:00:00+00:00")
        assert resume.earlier(replace(settings, shard=Shard(2, 5)), Path()) == {"made": folder}

    def test_a_model_file_is_known_by_its_name(self, settings):
        folder = made(settings, model=replace(WHOLE.record.model, name="own.gguf"))
        assert resume.earlier(replace(settings, model="models/own.gguf"), Path()) == {"made": folder}

    def test_where_all_came_to_their_end_that_is_told(self, settings):
        made(settings, run=WHOLE)
        with pytest.raises(RunError, match=r"reports has no unfinished run$"):
            resume.earlier(settings, Path())

    def test_where_there_is_no_run_that_is_told(self, settings):
        with pytest.raises(RunError, match=r"reports has no run to go on with$"):
            resume.earlier(settings, Path())

    def test_what_is_no_run_or_a_link_to_one_is_passed_over(self, settings, tmp_path):
        elsewhere = made(
            replace(settings, reports=tmp_path / "elsewhere"), started="2026-01-09T00:00:00+00:00"
        )
        folder = made(settings)
        home = run_folder.home(settings.reports, "made")
        (home / "20260105T000000-empty").mkdir()
        (home / "20260106T000000-damaged").mkdir()
        (home / "20260106T000000-damaged" / "run.json").write_text("{")
        (home / "notes.txt").write_text("mine")
        (home / "20260109T000000-link").symlink_to(elsewhere)
        (settings.reports / "linked").symlink_to(elsewhere.parent)
        assert resume.earlier(settings, Path()) == {"made": folder}

    def test_a_damaged_ledger_of_a_run_that_may_be_the_one_is_not_passed_over(self, settings):
        made(settings, started="2026-01-01T00:00:00+00:00")
        folder = made(settings, run=WHOLE)
        (folder / "observations.jsonl").write_text("damaged\n")
        assert resume.earlier(settings, Path()) == {"made": folder}

    def test_a_damaged_ledger_of_another_study_is_no_matter(self, settings):
        other = made(settings, run=replace(WHOLE, observations=()), study="another")
        (other / "observations.jsonl").write_text("damaged\n")
        folder = made(settings)
        earlier = resume.earlier(settings, Path())
        assert earlier["made"] == folder
        assert resume.check_found(earlier, ["made"], settings) is None

    def test_the_one_that_is_named_whatever_its_options(self, settings, tmp_path):
        folder = made(settings, run=WHOLE, quick=True)
        named = os.path.relpath(folder, tmp_path)
        assert resume.earlier(replace(settings, resume=named), tmp_path) == {"made": folder}
        assert resume.earlier(replace(settings, resume=str(folder)), Path("/")) == {"made": folder}

    def test_a_session_whose_studies_have_none_is_refused_though_another_study_has_one(self, settings):
        made(settings, run=replace(CUT, observations=()), study="another")
        made(settings, run=WHOLE)
        earlier = resume.earlier(settings, Path())
        with pytest.raises(RunError, match=r"^--tokenbench-resume: .*reports has no unfinished run of made$"):
            resume.check_found(earlier, ["made"], settings)
        with pytest.raises(RunError, match=r"reports has no run of third or fourth to go on with$"):
            resume.check_found(earlier, ["third", "fourth"], settings)

    def test_of_studies_that_have_none_the_newest_of_other_options_is_told(self, settings):
        made(settings, run=replace(CUT, observations=()), study="another")
        folder = made(settings, quick=True)
        with pytest.raises(
            RunError, match=r"no unfinished run of made in .* the newest, .*, has quick on$"
        ) as refused:
            resume.check_found(resume.earlier(settings, Path()), ["made"], settings)
        assert str(folder) in str(refused.value)

    def test_some_studies_without_one_are_told(self, settings):
        made(settings)
        earlier = resume.earlier(settings, Path())
        assert resume.check_found(earlier, ["made"], settings) is None
        assert resume.check_found(earlier, ["made", "b"], settings) == (
            "there is no run of b to go on with, which begins anew"
        )
        assert resume.check_found(earlier, ["b", "made", "c"], settings) == (
            "there is no run of b, c to go on with, which begin anew"
        )

    def test_nothing_is_missing_where_no_run_is_to_be_gone_on_with(self, settings):
        assert resume.check_found({}, ["made"], replace(settings, resume=None)) is None

    def test_a_named_folder_without_a_run_is_told(self, settings, tmp_path):
        with pytest.raises(RunError, match=r"nowhere: holds no run"):
            resume.earlier(replace(settings, resume="nowhere"), tmp_path)


class TestWhatIsDone:
    def test_every_trial_that_was_answered_or_did_not_fit_the_window(self):
        run = of(WHOLE, at=0, change=lambda one: replace(one, status=Status.OVER_WINDOW))
        done = resume.finished(run)
        assert done.keys() == {TrialKey(name, q.id) for name in "AC" for q in made_runs.QUESTIONS}
        assert done[TrialKey("A", "mill-q1")].status is Status.OVER_WINDOW
        assert not resume.is_unfinished(run)

    def test_not_what_trouble_with_the_model_brought_to_nothing(self):
        run = of(WHOLE, at=1, change=made_runs.errored)
        assert len(resume.finished(run)) == 7
        assert TrialKey("C", "mill-q1") not in resume.finished(run)
        assert resume.is_unfinished(run)

    @pytest.mark.parametrize(
        ("kind", "is_done"),
        [("construction", True), ("unreachable", False), ("timed_out", False), (None, False)],
    )
    def test_what_could_not_be_constructed_unless_the_model_was_in_trouble(self, kind, is_done):
        mill, quay = WHOLE.preparations
        failed = replace(mill, units=(), failure="empty", failure_kind=kind)
        run = of(replace(WHOLE, preparations=(failed, quay)), at=1, change=made_runs.unconstructed)
        assert (TrialKey("C", "mill-q1") in resume.finished(run)) is is_done
        assert resume.is_unfinished(run) is not is_done

    def test_not_what_could_not_be_constructed_from_a_preparation_that_is_there_no_more(self):
        run = of(replace(WHOLE, preparations=()), at=1, change=made_runs.unconstructed)
        assert TrialKey("C", "mill-q1") not in resume.finished(run)

    def test_each_repeat_by_itself(self):
        run = of(made_runs.repeated(3), at=1, change=made_runs.errored)
        done = resume.finished(run)
        assert len(done) == 23
        assert TrialKey("A", "mill-q1", 1) not in done
        assert {TrialKey("A", "mill-q1", 0), TrialKey("A", "mill-q1", 2)} <= done.keys()

    def test_a_run_that_was_interrupted_after_its_last_trial_is_unfinished(self):
        assert resume.is_unfinished(replace(WHOLE, record=replace(WHOLE.record, finished=None)))


RECORD = replace(
    WHOLE.record,
    hashes={
        "questions": "a" * 64,
        "manifest": "b" * 64,
        "sums": "c" * 64,
        "study": "d" * 64,
        "prompt answer": "e" * 64,
        "document mill": "f" * 64,
    },
    model=replace(WHOLE.record.model, options={"temperature": 0}, quantization="Q4_0"),
    recipe_options={"C": {"max_words": 600}},
    condition_options={"A": {"class": "FullText"}, "C": {"class": "Summary"}},
    machine={"pytest-tokenbench": "1.0"},
)


def hashes(**changed):
    return {"hashes": RECORD.hashes | {name.replace("_", " "): value for name, value in changed.items()}}


def model(**changed):
    return {"model": replace(RECORD.model, **changed)}


class TestWhatForbids:
    @pytest.mark.parametrize(
        ("change", "told"),
        [
            (
                hashes(questions="0123456789abcdef" * 4),
                (
                    "the questions file has changed since that run began "
                    "(sha256 aaaaaaaaaaaa... then, sha256 0123456789ab... now)"
                ),
            ),
            (hashes(manifest="0" * 64), "the corpus' manifest has changed"),
            (hashes(sums="0" * 64), "the corpus' SHA256SUMS has changed"),
            (hashes(prompt_answer="0" * 64), "the prompt answer has changed"),
            (hashes(document_mill="0" * 64), "the document mill has changed"),
            (hashes(document_new="0" * 64), "the document new has changed since that run began (absent then"),
            ({"questions": WHOLE.record.questions[:3]}, "the list of questions has changed"),
            ({"study": "other"}, "the study's name has changed since that run began (made then, other now)"),
            (
                {"conditions": ("A",)},
                "the list of conditions has changed since that run began (A, C then, A now)",
            ),
            ({"baseline": "C"}, "the baseline has changed"),
            ({"recipes": {"C": "croutons"}}, "condition C's recipe has changed"),
            (
                {"recipe_options": {"C": {"max_words": 60}}},
                "condition C's recipe's max_words has changed since that run began (600 then, 60 now)",
            ),
            (
                {"condition_options": RECORD.condition_options | {"A": {"class": "FullText", "top": 2}}},
                "condition A's top has changed since that run began (none then, 2 now)",
            ),
            ({"backend": "openai"}, "the backend has changed since that run began (ollama then, openai now)"),
            (
                model(name="writer"),
                "the model's name has changed since that run began (reader:1b then, writer now)",
            ),
            (
                model(digest="other"),
                "the model's digest has changed since that run began (digest then, other now)",
            ),
            (
                model(digest=None),
                "the model's digest has changed since that run began (digest then, none now)",
            ),
            (model(quantization="Q8_0"), "the model's quantization has changed"),
            (model(window=512), "the window has changed since that run began (4096 then, 512 now)"),
            (model(options={"temperature": 1}), "the model's option temperature has changed"),
            (
                model(options={}),
                "the model's option temperature has changed since that run began (0 then, none now)",
            ),
            ({"quick": True}, "--tokenbench-quick has changed since that run began (off then, on now)"),
            (
                {"order": "shared"},
                "--tokenbench-order has changed since that run began (cold then, shared now)",
            ),
            ({"nonce": True}, "--tokenbench-nonce has changed"),
            ({"repeats": 5}, "--tokenbench-repeats has changed since that run began (1 then, 5 now)"),
            ({"shard": "2/5"}, "--tokenbench-shard has changed since that run began (none then, 2/5 now)"),
        ],
    )
    def test_each_change_that_could_change_a_number_is_one_clause(self, change, told):
        (clause,) = resume.differences(RECORD, replace(RECORD, **change))
        assert clause.startswith(told)

    def test_several_changes_are_several_clauses(self):
        assert (
            len(resume.differences(RECORD, replace(RECORD, quick=True, order="shared", **model(window=1))))
            == 3
        )

    @pytest.mark.parametrize(
        "change",
        [
            pytest.param({}, id="nothing"),
            pytest.param(
                {"started": "2027", "finished": None, "resumed": ("2027",), "verdicts": (), "scheduled": 3},
                id="its course",
            ),
            pytest.param({"machine": {"system": "another"}, "commit": "1" * 40}, id="machine and commit"),
            pytest.param(model(host="http://other", engine={"threads": 9}), id="where the model runs"),
            pytest.param(
                hashes(study="0" * 64) | model(server_version="2.0"), id="what is a matter of doubts"
            ),
            pytest.param({"condition_options": {}}, id="conditions of a record of an earlier version"),
            pytest.param(
                {"hashes": {name: one for name, one in RECORD.hashes.items() if name != "document mill"}},
                id="documents of a record of an earlier version",
            ),
        ],
    )
    def test_what_cannot_change_a_number_forbids_nothing(self, change):
        assert resume.differences(RECORD, replace(RECORD, **change)) == ()
        assert resume.differences(replace(RECORD, **change), RECORD) == ()

    def test_a_record_that_was_read_back_is_the_same_as_before(self):
        record = replace(
            RECORD, recipe_options={"C": {"sizes": (1, 2)}}, **model(options={"stop": ("a", "b")})
        )
        assert resume.differences(decode(encode(record), RunRecord), record) == ()

    def test_a_value_from_a_record_cannot_steer_the_terminal(self):
        (clause,) = resume.differences(RECORD, replace(RECORD, study="\x1b[31m\u202e"))
        assert clause.isprintable()
        (clause,) = resume.differences(
            RECORD, replace(RECORD, hashes=RECORD.hashes | {"prompt \x1b[31m": "\x1b"})
        )
        assert clause.isprintable()


class TestDoubts:
    def test_a_new_server_version_study_file_and_plugin_are_told_and_do_not_forbid(self):
        later = replace(
            RECORD,
            machine={"pytest-tokenbench": "1.1"},
            **hashes(study="0" * 64) | model(server_version="0.9"),
        )
        assert resume.doubts(RECORD, later) == (
            "the server's version changed after the run began (none, later 0.9)",
            "the version of pytest-tokenbench changed after the run began (1.0, later 1.1)",
            (
                "the study file changed after the run began "
                "(sha256 dddddddddddd..., later sha256 000000000000...)"
            ),
        )

    def test_there_are_none_where_nothing_changed(self):
        assert resume.doubts(RECORD, RECORD) == ()


class Slotted:
    __slots__ = ("_seen", "family_name", "id")

    def __init__(self):
        self.id, self.family_name, self._seen = "S", "slotted", 3


class TestOptionsOf:
    @pytest.mark.parametrize(
        ("one", "other"),
        [
            (Chunks("B", top=2), Chunks("B", top=3)),
            (Chunks("B", top=2), Chunks("B", top=2, words=100)),
            (Croutons("D", top=10), Croutons("D", top=25)),
            (Croutons("D", top=10), Croutons("D")),
            (FullText("A"), Summary("A", max_words=600)),
        ],
    )
    def test_tell_conditions_apart_that_give_other_contexts(self, one, other):
        assert resume.options_of(one) != resume.options_of(other)

    @pytest.mark.parametrize(
        "make", [lambda: Chunks("B", top=2), lambda: Croutons("D", top=2), lambda: Summary("C", max_words=9)]
    )
    def test_are_the_same_for_the_same_condition_in_another_process(self, make):
        assert resume.options_of(make()) == resume.options_of(make())

    def test_of_an_author_s_own_class_are_its_public_plain_values(self):
        assert resume.options_of(Slotted()) == {"class": "Slotted", "family_name": "slotted", "id": "S"}
