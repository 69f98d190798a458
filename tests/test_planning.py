"""What a plan foresees: tokens, preparations, time and money, each worked out here by another way."""

from dataclasses import replace
from pathlib import Path

import made_runs
import numpy as np
import pytest
import scripted

from pytest_tokenbench import machine, pace, planning, preparation
from pytest_tokenbench.conditions import Chunks, Croutons, FullText, Summary
from pytest_tokenbench.corpus import passages
from pytest_tokenbench.loading import Loaded, load
from pytest_tokenbench.pace import LastRun
from pytest_tokenbench.reporting import plan as shown
from pytest_tokenbench.run_folder import Run
from pytest_tokenbench.scheduling import Order
from pytest_tokenbench.settings import Settings
from pytest_tokenbench.study import Study

HERE = {name: machine.describe()[name] for name in ("system", "cores")}


@pytest.fixture
def settings(tmp_path) -> Settings:
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
    )


def study() -> Study:
    made = Study(
        "made",
        questions="questions.json",
        corpus="corpus",
        conditions=[
            FullText("A"),
            Chunks("B2", top=2),
            Chunks("B4", top=4),
            Summary("C", max_words=600),
            Croutons("D25", top=25),
            Croutons("Dall"),
        ],
        baseline="A",
    )

    @made.trials
    def test_made(trial):
        trial.ask()

    @made.hypothesis("H2")
    def h2(results):
        """Within 5 points."""
        assert results.difference("accuracy", "D25", versus="A").low > -0.05

    @made.hypothesis("H3")
    def h3(results):
        """Made up no more often."""
        assert results.estimate("made_up", "D25").estimate <= results.estimate("made_up", "B4").estimate

    return made


@pytest.fixture
def loaded(repository, settings) -> Loaded:
    return load(study(), repository / "benchmarks" / "test_made.py", repository, settings)


def built(loaded: Loaded, settings: Settings, **given) -> planning.Plan:
    return planning.build(loaded, given.pop("selected", loaded.trials), settings, **given)


def words(prompt: str):
    """A tokenizer of words, for which every word is a token of its own."""
    return np.array([hash(word) & 0x7FFFFFFF for word in prompt.split()], dtype=np.int32)


def shown_of(plan: planning.Plan, width: int = 80) -> list[str]:
    return [
        line for line, _ in shown.lines(plan, model="m", manner="cold order", root=Path("/"), width=width)
    ]


class TestTokens:
    def test_are_estimated_from_words(self, loaded, settings):
        made = built(loaded, settings).conditions["A"]
        each = [
            round(loaded.documents[question.document].words * 1.4) + 100
            for question in loaded.questions.values()
        ]

        assert made.trials == len(each) == 100
        assert made.prompts == planning.Count(sum(each), is_exact=False)
        # Each document once, and of each question what is its own.
        documents = sum(round(document.words * 1.4) for document in loaded.documents.values())
        assert made.distinct.tokens == documents + 100 * 100

    def test_are_those_of_the_tokenizer_where_the_prompts_are_known(self, loaded, settings):
        made = built(loaded, settings, tokenize=words).conditions

        assert made["A"].prompts.is_exact
        assert made["A"].distinct.is_exact
        context = sum(
            passages.word_count(loaded.documents[question.document].text)
            + passages.word_count(question.question)
            for question in loaded.questions.values()
        )
        # The words of the instruction, "Context:" and "Question:".
        assert made["A"].prompts.tokens == context + 100 * 29
        assert [made[name].prompts.is_exact for name in ("B2", "C", "D25")] == [True, False, False]

    def test_distinct_ones_are_counted_for_the_first_condition_that_has_them(self, loaded, settings):
        few = [key for key in loaded.trials if key.condition in {"B2", "B4"} and "q01" in key.question]
        together = built(loaded, settings, selected=few, tokenize=words).conditions
        alone = built(
            loaded, settings, selected=[key for key in few if key.condition == "B4"], tokenize=words
        ).conditions

        assert together["B4"].prompts == alone["B4"].prompts
        # The top 4 begin with the top 2, so that little more than the other two are new.
        assert together["B4"].distinct.tokens < 0.6 * alone["B4"].distinct.tokens
        both = together["B2"].distinct.tokens + together["B4"].distinct.tokens
        assert both == pytest.approx(alone["B4"].distinct.tokens, rel=0.1)

    def test_to_be_read_depend_on_the_order(self, loaded, settings):
        cold = built(loaded, settings).conditions["A"]
        layout = replace(loaded.layout, order=Order.SHARED)
        shared = built(replace(loaded, layout=layout), settings).conditions["A"]

        assert cold.read == cold.prompts
        assert shared.read == shared.distinct == cold.distinct

    @pytest.mark.parametrize("tokenize", [None, words])
    @pytest.mark.parametrize("order", Order)
    def test_with_a_nonce_no_prompt_begins_like_another(self, repository, settings, order, tokenize):
        asked = replace(settings, nonce=True, order=order)
        bare = load(
            study(), repository / "benchmarks" / "test_made.py", repository, replace(asked, nonce=False)
        )
        loaded = load(study(), repository / "benchmarks" / "test_made.py", repository, asked)
        made = built(loaded, asked, tokenize=tokenize).conditions

        for name, one in made.items():
            assert one.prompts.tokens == one.distinct.tokens == one.read.tokens
            assert not one.prompts.is_exact, "a nonce is another each time"
            # One word more, if words are counted.
            more = 0 if tokenize is None or name in {"C", "D25", "Dall"} else one.trials
            assert (
                one.prompts.tokens
                == built(bare, asked, tokenize=tokenize).conditions[name].prompts.tokens + more
            )

    def test_of_trials_that_are_there_already_are_not_counted(self, loaded, settings):
        done = [key for key in loaded.trials if key.condition == "A"]
        plan = built(loaded, settings, done=done)

        assert "A" not in plan.conditions
        assert plan.reused == 100
        assert [one.claim.condition for one in plan.powers] == ["D25"]
        assert built(loaded, settings, done=loaded.trials).trials == 0


class TestPreparations:
    def test_are_as_many_calls_as_recipes_make_and_shared_by_conditions(self, loaded, settings):
        summary, croutons = built(loaded, settings).preparations
        sections = sum(len(passages.sections(one.text, 700)) for one in loaded.documents.values())

        assert (summary.recipe, summary.documents, summary.calls) == ("summary", 10, 10)
        assert (summary.written, summary.is_limit) == (10 * 1_200, True)
        assert (croutons.recipe, croutons.documents, croutons.calls) == ("croutons", 10, sections)
        assert croutons.written == sections * 1_536
        text = sum(passages.word_count(one.text) for one in loaded.documents.values())
        assert croutons.read.tokens == pytest.approx(1.4 * text, rel=0.15)

    def test_of_a_quick_look_are_limited(self, loaded, settings):
        summary, croutons = built(loaded, replace(settings, quick=True)).preparations

        assert summary.written == 10 * 128
        assert croutons.written == croutons.calls * 128

    def test_that_are_kept_need_not_be_built_and_make_contexts_known(self, loaded, settings):
        run = timed()
        recipe, store = Summary("C", max_words=600).recipe(), preparation.Store(settings.preparations)
        for document in loaded.documents.values():
            model = scripted.ScriptedModel("A summary of seven words it is.", info=run.record.model)
            store.put(preparation.build(recipe, document, model, run.record.model))
        plan = built(loaded, settings, last=LastRun(Path("r"), run), tokenize=words)

        assert (plan.preparations[0].kept, plan.preparations[0].calls) == (10, 0)
        assert plan.conditions["C"].prompts.is_exact
        questions = sum(passages.word_count(one.question) for one in loaded.questions.values())
        assert plan.conditions["C"].prompts.tokens == questions + 100 * (29 + 7)

    def test_of_a_recipe_that_stumbles_are_told_as_far_as_it_came(self, loaded, settings):
        class Stumbling(type(Summary("C", max_words=5).recipe())):
            def write(self, document, encoder):  # noqa: ARG002
                encoder.generate("Three words here", max_tokens=7)
                return int(encoder.generate("Three words more", max_tokens=7).text)

        class Own(Summary):
            def recipe(self):
                return Stumbling(5)

        mine = replace(loaded, conditions=loaded.conditions | {"C": Own("C", max_words=5)})
        own, _ = built(mine, settings).preparations

        assert (own.calls, own.written, own.read.tokens) == (20, 140, 20 * 4)


def timed(workers: int = 1, **given) -> Run:
    """A run on this machine that reads 200 tokens a second, and takes 0.5 s a trial beside."""
    made = made_runs.run()
    observations = tuple(
        replace(
            seen,
            cached_tokens=100 if seen.condition == "C" else 0,
            prefill_s=(seen.input_tokens - (100 if seen.condition == "C" else 0)) / 200,
            wall_s=(seen.input_tokens - (100 if seen.condition == "C" else 0)) / 200 + 0.5,
            worker=f"gw{place % workers}",
        )
        for place, seen in enumerate(made.observations)
    )
    record = replace(made.record, machine=dict(HERE), **given)
    prepared = tuple(replace(one, seconds=one.input_tokens / 100) for one in made.preparations)
    return Run(record, observations, prepared)


class TestTime:
    @pytest.mark.parametrize("workers", [1, 2])
    def test_is_that_of_reading_and_of_the_rest(self, loaded, settings, workers):
        only = [key for key in loaded.trials if key.condition == "A"]
        last = LastRun(Path("r"), timed(workers))
        plan = built(loaded, settings, selected=only, last=last)

        expected = (plan.conditions["A"].prompts.tokens / 200 + 100 * 0.5) / workers
        assert plan.trial_seconds == pytest.approx(expected)
        assert plan.preparation_seconds == 0

    def test_of_preparations_goes_by_what_they_read(self, loaded, settings):
        some = [key for key in loaded.trials if key.condition == "C"]
        plan = built(loaded, settings, selected=some, last=LastRun(Path("r"), timed()))
        (summary,) = plan.preparations

        assert plan.preparation_seconds == pytest.approx(summary.read.tokens / 100)
        # 150 tokens were written for 3,000 read.
        assert summary.written == round(summary.read.tokens * 0.05)
        assert not summary.is_limit

    def test_is_not_known_of_what_was_never_built(self, loaded, settings):
        plan = built(loaded, settings, last=LastRun(Path("r"), timed()))

        assert plan.preparation_seconds is None
        assert "not known" in " ".join(shown_of(plan))

    @pytest.mark.parametrize("prefill", [None, 0.0])
    def test_counts_all_of_it_as_reading_where_that_was_not_told(self, prefill):
        run = timed()
        untold = tuple(replace(seen, prefill_s=prefill, cached_tokens=None) for seen in run.observations)
        speed = pace.speed_of(LastRun(Path("r"), replace(run, observations=untold)))

        seconds = sum(seen.wall_s for seen in untold)
        assert speed.rate == pytest.approx(sum(seen.input_tokens for seen in untold) / seconds)
        assert speed.rest == 0


class TestLastRun:
    def test_is_the_newest_of_its_kind(self, settings):
        for started in (
            "2026-01-02T03:04:05+00:00",
            "2026-03-02T03:04:05+00:00",
            "2026-02-02T03:04:05+00:00",
        ):
            made_runs.written(settings.reports, timed(started=started))
        found = pace.last_run(settings, "made", None)

        assert found is not None
        assert found.run.record.started == "2026-03-02T03:04:05+00:00"

    @pytest.mark.parametrize(
        "other",
        [
            {"backend": "openai"},
            {"machine": {"system": "other", "cores": HERE["cores"]}},
            {"model": replace(made_runs.record().model, name="other:1b")},
            {"model": replace(made_runs.record().model, host="http://elsewhere:1")},
        ],
    )
    def test_is_of_this_backend_machine_model_and_host(self, settings, other):
        run = timed()
        made_runs.written(settings.reports, replace(run, record=replace(run.record, **other)))

        assert pace.last_run(settings, "made", "http://here:1") is None

    def test_is_one_that_measured_something(self, settings):
        run = timed()
        failed = tuple(made_runs.errored(seen) for seen in run.observations)
        made_runs.written(settings.reports, replace(run, observations=failed))
        (settings.reports / "made" / "no run").mkdir()

        assert pace.last_run(settings, "made", None) is None
        assert pace.last_run(settings, "unknown", None) is None


def test_cost_is_tokens_times_prices(loaded, settings):
    plan = built(loaded, settings, prices=(made_runs.BY_HAND,))
    trials, prepared, is_most = plan.cost(made_runs.BY_HAND)

    read = sum(made.prompts.tokens for made in plan.conditions.values())
    assert trials == pytest.approx((read * 2 + 600 * 64 * 10) / 1e6)
    assert prepared == pytest.approx(
        sum(one.read.tokens * 2 + one.written * 10 for one in plan.preparations) / 1e6
    )
    assert is_most
    assert any(line.startswith("expected cost, by hand: at most ") for line in shown_of(plan))


@pytest.mark.parametrize("tokenize", [None, words])
def test_a_prompt_beyond_the_base_tier_has_no_cost_as_in_a_report(loaded, settings, tokenize):
    few = [key for key in loaded.trials if key.condition == "A"]
    plan = built(loaded, settings, selected=few, tokenize=tokenize)
    longest = plan.conditions["A"].longest.tokens
    whole = max(
        passages.word_count(loaded.documents[question.document].text)
        for question in loaded.questions.values()
    )
    assert longest > whole * (1.4 if tokenize is None else 1)

    plan.cost(replace(made_runs.BY_HAND, base_up_to=longest))
    priced = replace(plan, prices=(replace(made_runs.BY_HAND, base_up_to=longest - 1),))
    told = f"a prompt under A has {'about ' if tokenize is None else ''}{longest:,} tokens; over {longest - 1:,} they cost"
    assert f"expected cost, by hand: not told, since {told} more than the prices say" in shown_of(priced, 300)


def test_a_preparation_beyond_the_base_tier_has_no_cost(loaded, settings):
    plan = built(loaded, settings, selected=[key for key in loaded.trials if key.condition == "C"])
    (made,) = plan.preparations
    assert made.read.tokens / made.documents < made.longest.tokens < made.read.tokens
    priced = replace(plan, prices=(replace(made_runs.BY_HAND, base_up_to=made.longest.tokens - 1),))
    assert any(
        line.startswith("expected cost, by hand: not told, since the summary of a document has about ")
        for line in shown_of(priced, 300)
    )


class TestPower:
    def test_is_of_the_questions_asked_under_both_conditions(self, loaded, settings):
        (power,) = built(loaded, settings).powers
        assert (power.questions, power.documents, power.needed) == (80, 10, 314)
        assert power.chance == pytest.approx(0.29, abs=0.01)

        some = [key for key in loaded.trials if not (key.condition == "A" and "harrow" in key.question)]
        (power,) = built(loaded, settings, selected=some).powers
        assert (power.questions, power.documents) == (72, 9)

    def test_goes_by_the_discordance_given(self, loaded, settings):
        (power,) = built(loaded, replace(settings, discordance=0.2)).powers
        assert abs(power.needed - 628) <= 2

    def test_is_not_told_of_one_question(self, loaded, settings):
        one = [key for key in loaded.trials if key.question == "harrow-q01"]
        plan = built(loaded, settings, selected=one)
        assert plan.unplanned["H2"].startswith("fewer than two of its questions are run")

    def test_says_what_the_last_run_had(self, loaded, settings):
        run = timed()
        wrong = replace(run.observations[0].scores, correct=False)
        record = replace(run.record, conditions=("A", "D25"))
        seen = tuple(
            replace(one, condition="D25" if one.condition == "C" else "A") for one in run.observations
        )
        seen = (replace(seen[0], scores=wrong), *seen[1:])
        last = LastRun(Path("r"), Run(record, seen, ()))
        (power,) = built(loaded, settings, last=last).powers
        assert power.measured == 0.25


@pytest.mark.parametrize("width", [60, 80, 140])
def test_text_fits_the_terminal(loaded, settings, width):
    last = LastRun(Path("/reports/made/20260102T030405Z-reader-1b"), timed())
    for plan in (
        built(loaded, settings, prices=(made_runs.BY_HAND,), tokenize=words),
        built(loaded, settings, prices=(made_runs.BY_HAND,), last=last),
        built(loaded, settings, done=loaded.trials),
    ):
        assert max(map(len, shown_of(plan, width))) <= width
