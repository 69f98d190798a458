"""Two runs side by side. Runs are made by hand; what is known of one run with both as its conditions is the oracle."""

import json
import re
from dataclasses import replace
from itertools import pairwise

import made_runs
import pages
import pytest

from pytest_tokenbench import comparison
from pytest_tokenbench.gates import Gate
from pytest_tokenbench.pairing import CompareError
from pytest_tokenbench.records import Decision, ModelInfo, Observation, Outcome, Question, Scores
from pytest_tokenbench.reporting import comparison as shown
from pytest_tokenbench.results import Results
from pytest_tokenbench.run_folder import Run

KINDS = ("who", "when", "how many", "where")
ANSWERABLE = tuple(
    Question(
        f"{'mill' if number < 20 else 'quay'}-q{number:02}",
        "mill" if number < 20 else "quay",
        f"What is {number}?",
        (str(number),),
        answerable=True,
        slices={"kind": KINDS[number % 4]},
    )
    for number in range(40)
)
UNANSWERABLE = tuple(
    Question(f"quay-u{number}", "quay", f"Where is {number}?", (), answerable=False) for number in range(8)
)
QUESTIONS = ANSWERABLE + UNANSWERABLE
# The places of the questions that each run gets wrong under D25.
WRONG = (set(range(5)), set(range(3, 20)))


def seen(
    question: Question, condition: str, *, right: bool, repeat: int = 0, tokens: int = 100
) -> Observation:
    made = made_runs.observation(
        Question(question.id, question.document, "", ("x",), answerable=True), condition, tokens, repeat
    )
    if question.answerable:
        outcome = Outcome.CORRECT if right else Outcome.WRONG
        scores = Scores(abstained=False, correct=right, f1=float(right))
    else:
        outcome = Outcome.ABSTAINED if right else Outcome.MADE_UP
        scores = Scores(abstained=right, made_up=not right)
    return replace(made, outcome=outcome, scores=scores, answer="right" if right else "wrong")


def observations(wrong: set[int], condition: str = "D25", tokens: int = 100) -> tuple[Observation, ...]:
    return tuple(
        seen(question, condition, right=place not in wrong, tokens=tokens + place)
        for place, question in enumerate(QUESTIONS)
    )


def run(*trials: Observation, **changes) -> Run:
    record = replace(
        made_runs.record(),
        questions=QUESTIONS,
        conditions=("A", "D25"),
        recipes={},
        scheduled=2 * len(QUESTIONS),
    )
    return Run(replace(record, **changes), trials, ())


def first(**changes) -> Run:
    return run(*observations(set(), "A"), *observations(WRONG[0]), **changes)


def second(**changes) -> Run:
    return run(*observations(set(), "A"), *observations(WRONG[1] | {44}, tokens=80), **changes)


@pytest.fixture(scope="module")
def made() -> dict:
    return comparison.build(first(), second(), ("reports/made/1", "reports/made/2"))


@pytest.mark.parametrize("measure", ["accuracy", "abstention", "made_up", "input_tokens"])
def test_a_difference_is_that_of_two_conditions_of_one_run(made, measure):
    both = Results(
        QUESTIONS,
        ("was", "is"),
        "was",
        [*observations(WRONG[0], "was"), *observations(WRONG[1] | {44}, "is", tokens=80)],
    )
    wanted = both.paired_difference(measure, "is", "was")
    figure = made["conditions"]["D25"]["measures"][measure]
    assert figure["difference"] == pytest.approx(wanted.estimate, abs=1e-12)
    assert (figure["low"], figure["high"]) == pytest.approx((wanted.low, wanted.high), abs=1e-12)
    assert figure["n"] == wanted.n
    assert figure["first"] == pytest.approx(both.level(measure, "was").estimate)
    assert figure["second"] == pytest.approx(both.level(measure, "is").estimate)


def test_what_did_not_change_is_zero_without_width(made):
    figure = made["conditions"]["A"]["measures"]["accuracy"]
    assert (figure["difference"], figure["low"], figure["high"], figure["zero_width"]) == (0, 0, 0, True)


def test_answers_that_changed_are_listed_both_ways(made):
    changes = {(one["condition"], one["question"]): one for one in made["changes"]}
    lost = {QUESTIONS[place].id for place in range(5, 20)} | {"quay-u4"}
    gained = {QUESTIONS[place].id for place in range(3)}
    assert {question for (_, question), one in changes.items() if one["change"] == "lost"} == lost
    assert {question for (_, question), one in changes.items() if one["change"] == "gained"} == gained
    one = changes["D25", "mill-q05"]
    assert (one["from"], one["to"], one["answers"]) == ("correct", "wrong", [["right"], ["wrong"]])
    assert (changes["D25", "quay-u4"]["from"], changes["D25", "quay-u4"]["to"]) == ("abstained", "made_up")
    assert [made["conditions"]["D25"][key] for key in ("lost", "gained")] == [16, 3]
    assert made["rewordings"] == []
    assert made["conditions"]["A"] | {"measures": {}} == {
        "lost": 0,
        "gained": 0,
        "reworded": 0,
        "measures": {},
    }


def test_answers_in_other_words_are_listed_apart_with_both(made):
    def worded(run, answer):
        # The fourth question is wrong in both runs, the fifth too, the sixth is lost.
        trials = [replace(one, answer=answer) if one.question in asked else one for one in run.observations]
        return replace(run, observations=tuple(trials))

    asked = {QUESTIONS[place].id for place in (3, 5)}
    again = comparison.build(worded(first(), "one"), worded(second(), "another"), ("r1", "r2"))
    told = [(one["condition"], one["question"], one["from"], one["to"]) for one in again["rewordings"]]
    assert told == [
        ("A", "mill-q03", "correct", "correct"),
        ("A", "mill-q05", "correct", "correct"),
        ("D25", "mill-q03", "wrong", "wrong"),
    ]
    assert again["rewordings"][0]["answers"] == [["one"], ["another"]]
    assert [again["conditions"][name]["reworded"] for name in ("A", "D25")] == [2, 1]
    assert [one["question"] for one in again["changes"]] == [one["question"] for one in made["changes"]]


def test_slices_have_the_differences_of_their_questions_alone(made):
    kinds = made["slices"]["kind"]
    for kind in KINDS:
        places = [place for place, question in enumerate(ANSWERABLE) if question.slices["kind"] == kind]
        wanted = sum((place in WRONG[0]) - (place in WRONG[1]) for place in places) / len(places)
        figure = kinds[kind]["D25"]["accuracy"]
        assert figure["difference"] == pytest.approx(wanted)
        assert figure["n"] == len(places)
        assert figure["low"] <= wanted <= figure["high"]
        assert "made_up" not in kinds[kind]["D25"], "no unanswerable question has a kind"
    documents = made["slices"]["document"]
    assert documents["mill"]["D25"]["accuracy"]["difference"] == pytest.approx(-12 / 20)
    assert documents["quay"]["D25"]["made_up"]["difference"] == pytest.approx(1 / 8)


def test_repeats_are_averaged_and_most_of_them_decide_what_changed():
    def trials(*right: tuple[bool, ...]) -> tuple[Observation, ...]:
        return tuple(
            seen(question, "D25", right=one, repeat=repeat)
            for question, its in zip(ANSWERABLE, right, strict=False)
            for repeat, one in enumerate(its)
        )

    was = run(*trials((True, True, False), (True, True, True), (True, False, False)), repeats=3)
    now = run(*trials((True, False, False), (True, True, False), (False, False, False)), repeats=3)
    made = comparison.build(was, now)
    assert made["conditions"]["D25"]["measures"]["accuracy"]["difference"] == pytest.approx(-1 / 3)
    assert [one["question"] for one in made["changes"]] == ["mill-q00"]
    assert made["changes"][0]["answers"] == [["right", "right", "wrong"], ["right", "wrong", "wrong"]]


def test_only_pairs_count_and_what_one_run_lacks_is_told():
    lacking = run(*observations(set(), "A"), *observations(WRONG[0])[10:])
    figure = comparison.build(lacking, second())["conditions"]["D25"]["measures"]["accuracy"]
    assert figure["n"] == 30
    assert figure["difference"] == pytest.approx(-10 / 30), "of the questions from the eleventh on"
    # Those ten were right in the first run, if all went against the second: then it lost 17 of 40.
    assert figure["worst"]["missing"] == 10
    assert figure["worst"]["n"] == 40
    assert figure["worst"]["difference"] == pytest.approx(-17 / 40)


def trials_of(
    condition: str, *right: tuple[bool | None, ...], failed: bool = True
) -> tuple[Observation, ...]:
    """The repeats of each of the first questions: right, wrong, or (None) ended in an error, or not run."""
    return tuple(
        seen(question, condition, right=one)
        if one is not None
        else made_runs.errored(seen(question, condition, right=True))
        for question, its in zip(ANSWERABLE, right, strict=False)
        for one in its
        if one is not None or failed
    )


def numbered(trials: tuple[Observation, ...]) -> tuple[Observation, ...]:
    """Trials of two repeats each, numbered."""
    return tuple(replace(one, repeat=place % 2) for place, one in enumerate(trials))


def test_a_question_of_which_one_repeat_is_missing_is_not_taken_for_whole():
    was = run(*numbered(trials_of("D25", *[(True, True)] * 10)), repeats=2)
    now = run(*numbered(trials_of("D25", *[(True, None)] * 10)), repeats=2)
    figure = comparison.build(was, now)["conditions"]["D25"]["measures"]["accuracy"]
    assert (figure["difference"], figure["n"]) == (0, 10)
    # If every second repeat went wrong, each question lost half.
    assert (figure["worst"]["missing"], figure["worst"]["n"]) == (10, 10)
    assert figure["worst"]["difference"] == pytest.approx(-0.5)


def test_an_error_in_both_runs_may_hide_a_loss_and_what_neither_was_asked_does_not():
    half = [(True,)] * 10 + [(None,)] * 10
    for failed in (True, False):
        runs = [run(*trials_of("D25", *half, failed=failed)) for _ in range(2)]
        figure = comparison.build(*runs)["conditions"]["D25"]["measures"]["accuracy"]
        assert figure["n"] == 10
        assert figure.get("worst", {}).get("difference") == (pytest.approx(-0.5) if failed else None)


def test_tokens_that_are_missing_are_counted_too():
    lacking = run(*observations(set(), "A"), *observations(set())[:30])
    untold = [
        replace(one, input_tokens=None) if one.question == "mill-q00" else one for one in lacking.observations
    ]
    figure = comparison.build(first(), replace(lacking, observations=tuple(untold)))["conditions"]["D25"][
        "measures"
    ]
    # 18 of 48 were not run, and of one the tokens were not told.
    assert figure["input_tokens"]["worst"] == {"missing": 19, "n": 48}
    assert figure["accuracy"]["worst"]["missing"] == 10


def test_an_answer_is_reworded_if_the_same_repeat_was_worded_otherwise():
    def worded(*answers: str) -> Run:
        trials = [replace(seen(ANSWERABLE[0], "D25", right=True, repeat=place), answer=answer)
                  for place, answer in enumerate(answers) if answer]  # fmt: skip
        return run(*trials, repeats=len(answers))

    def reworded(was: Run, now: Run) -> int:
        return comparison.build(was, now)["conditions"]["D25"]["reworded"]

    assert reworded(worded("one"), worded("one", "one", "one")) == 0
    assert reworded(worded("one", "", "two"), worded("one", "three", "two")) == 0
    assert reworded(worded("one", "two"), worded("two", "one")) == 1


def test_what_was_not_measured_has_the_reason_and_no_number():
    made = comparison.build(first(), run(*observations(set(), "A")))
    assert made["conditions"]["D25"]["measures"]["accuracy"] == {
        "unavailable": "accuracy of D25 was not measured in the second run"
    }
    assert "NaN" not in json.dumps(made)


def test_questions_that_are_not_the_same_are_left_out_and_told():
    changed = replace(QUESTIONS[0], answers=("another",))
    other = second(questions=(changed, *QUESTIONS[2:], replace(QUESTIONS[1], id="new-q1")))
    made = comparison.build(first(), other)
    assert made["questions"] == 46
    assert made["conditions"]["D25"]["measures"]["accuracy"]["n"] == 38
    assert "1 question left out, since they changed: mill-q00" in made["warnings"]
    assert "1 question left out, since only the first run has them" in made["warnings"]
    assert "1 question left out, since only the second run has them" in made["warnings"]


def test_conditions_of_one_run_alone_are_named():
    made = comparison.build(first(), second(conditions=("D25", "E")))
    assert made["only_in"] == {"first": ["A"], "second": ["E"]}
    assert list(made["conditions"]) == ["D25"]


@pytest.mark.parametrize(
    ("changes", "what"),
    [({"questions": (replace(QUESTIONS[0], id="x"),)}, "question"), ({"conditions": ("E",)}, "condition")],
)
def test_runs_with_nothing_in_common_are_refused_in_one_sentence(changes, what):
    with pytest.raises(
        CompareError, match=f"^r1 and r2 have no {what} in common; there is nothing to compare$"
    ):
        comparison.build(first(), second(**changes), ("r1", "r2"))


MODEL = ModelInfo("ollama", "reader:1b", "digest", 4096, server_version="0.33.0", options={"seed": 0})


@pytest.mark.parametrize(
    ("was", "now", "warning"),
    [
        (
            {"model": MODEL},
            {"model": replace(MODEL, digest="other")},
            "the model's digest is not the same: digest in the first run, other in the second",
        ),
        (
            {"model": MODEL},
            {"model": replace(MODEL, server_version="0.34.0")},
            "the server's version is not the same: 0.33.0 in the first run, 0.34.0 in the second",
        ),
        ({"model": MODEL}, {"model": replace(MODEL, window=2048)}, "the window is not the same: 4096 in the first"),
        (
            {"model": MODEL},
            {"model": replace(MODEL, options={"seed": 1})},
            "the model's option seed is not the same: 0 in the first run, 1 in the second",
        ),
        ({}, {"order": "shared"}, "--tokenbench-order is not the same: cold in the first run, shared in the second"),
        ({}, {"quick": True}, "--tokenbench-quick is not the same: off in the first run, on in the second"),
        (
            {"hashes": {"prompt answer": "0" * 64}},
            {"hashes": {"prompt answer": "1" * 64}},
            "the prompt answer is not the same: sha256 000000000000... in the first run",
        ),
        (
            {"hashes": {"questions": "0" * 64}},
            {"hashes": {"questions": "1" * 64}},
            "the questions file is not the same: ",
        ),
        ({}, {"finished": None}, "the second run did not come to its end"),
        ({"doubts": ("the model changed",)}, {}, "of the first run: the model changed"),
    ],
)  # fmt: skip
def test_what_could_have_changed_a_number_is_warned_of_in_words(was, now, warning):
    made = comparison.build(first(**was), second(**now))
    assert [one for one in made["warnings"] if one.startswith(warning)], made["warnings"]
    assert any(f"warning: {warning}"[:40] in line for line, _ in shown.summary(made, 300))


def test_arms_that_were_decided_otherwise_are_warned_of_with_what_each_leaves_out():
    was = (
        Decision("composed", left_out=("system", "tail")),
        Decision("pair-a-b", left_out=("a", "b")),
        Decision("no-a-1", needless="a came out removable"),
        Decision("no-b-1"),
        Decision("filler-a", lengths={"s1": 3}),
        Decision("only-here", left_out=("a",)),
    )
    now = (
        Decision("composed", left_out=("tail",)),
        Decision("pair-a-b", left_out=("b", "a")),
        Decision("no-a-1"),
        Decision("no-b-1", needless="b came out removable"),
        Decision("filler-a", lengths={"s1": 4}),
    )
    made = comparison.build(replace(first(), decisions=was), replace(first(), decisions=now))
    assert made["warnings"] == [
        (
            "the arm composed is not the same: it leaves out system, tail in the first run, tail in the second, so that "
            "its figures are those of different prompts"
        ),
        "asked in the first run alone, since earlier trials made it needless in the other: no-b-1",
        "asked in the second run alone, since earlier trials made it needless in the other: no-a-1",
    ]


def test_a_table_with_more_columns_than_there_is_room_for_stands_in_parts():
    conditions = ("A", *(f"condition-{number:02}" for number in range(20)))
    trials = [trial for name in conditions for trial in observations({1}, name)]
    many = run(*trials, conditions=conditions)
    made = comparison.build(many, many)
    lines = [line for line, _ in shown.summary(made, 80)]
    assert max(map(len, lines)) <= 80
    heads = [line.split() for line in lines if line.startswith("points by kind")]
    assert len(heads) > 1
    assert [name for head in heads for name in head[4:]] == list(conditions)
    assert all(sum(line.startswith(kind) for line in lines) == len(heads) for kind in KINDS)


def test_runs_that_differ_in_nothing_but_the_answers_have_no_warning(made):
    assert made["warnings"] == []


class TestGates:
    @pytest.mark.parametrize(
        ("given", "gate"),
        [
            ("accuracy:D25:3", Gate("accuracy", "D25", 3)),
            ("made_up:D25:0", Gate("made_up", "D25", 0)),
            ("input_tokens:A:2.5", Gate("input_tokens", "A", 2.5)),
        ],
    )
    def test_a_gate_is_written_as_it_is_read(self, given, gate):
        assert Gate.parse(given) == gate
        assert str(gate) == given

    @pytest.mark.parametrize(
        "given", ["", "accuracy", "accuracy:D25", "speed:D25:3", "accuracy::3", "accuracy:D25:", "accuracy:D25:-1",
                  "accuracy:D25:nan", "accuracy:D25:many"],
    )  # fmt: skip
    def test_what_is_no_gate_is_told_in_one_clause(self, given):
        with pytest.raises(ValueError, match=r"as (in )?accuracy:D25:3") as caught:
            Gate.parse(given)
        assert repr(given) in str(caught.value)

    @pytest.mark.parametrize(
        ("gate", "failure"),
        [
            ("accuracy:D25:3", "accuracy of D25 fell by 30.0 points ["),
            ("accuracy:D25:29", "accuracy of D25 fell by 30.0 points ["),
            ("accuracy:D25:30", None),
            ("accuracy:A:0", None),
            ("made_up:D25:5", None),  # 12.5 points, which one question of eight may do by chance
            ("input_tokens:D25:0", None),
            ("accuracy:E:3", "accuracy:E:3 cannot be judged: E is no condition of both runs"),
        ],
    )
    def test_a_gate_is_shut_by_a_loss_beyond_its_points_and_noise(self, made, gate, failure):
        found = Gate.parse(gate).failure(made)
        assert (found is None) == (failure is None)
        assert failure is None or found.startswith(failure)

    def test_more_tokens_and_made_up_answers_are_losses_too(self):
        made = comparison.build(second(), run(*observations({*range(40, 48)}, tokens=200)))
        assert Gate.parse("made_up:D25:5").failure(made).startswith("made_up of D25 rose by 87.5 points [")
        found = Gate.parse("input_tokens:D25:10").failure(made)
        # From a mean of 80 + 23.5 to one of 200 + 23.5.
        assert found.startswith(f"input_tokens of D25 rose by {100 * 120 / 103.5:.1f}% [")
        assert Gate.parse("input_tokens:D25:116").failure(made) is None

    def test_missing_trials_that_could_hide_a_loss_shut_it(self):
        lacking = run(*observations(set(), "A"), *observations(WRONG[0])[:30])
        made = comparison.build(first(), lacking)
        assert Gate.parse("accuracy:D25:30").failure(made) is None
        assert Gate.parse("accuracy:D25:3").failure(made) == (
            "accuracy:D25:3 cannot be judged: 10 of 40 questions lack trials in one of the runs, which could hide a loss"
        )

    def test_a_missing_repeat_counts_as_wrong_where_that_could_hide_a_loss(self):
        was = run(*numbered(trials_of("D25", *[(True, True)] * 20)), repeats=2)
        now = run(*numbered(trials_of("D25", *[(True, None)] * 20)), repeats=2)
        assert Gate.parse("accuracy:D25:3").failure(comparison.build(was, now)) == (
            "accuracy:D25:3 cannot be judged: 20 of 20 questions lack trials in one of the runs, which could hide a loss"
        )

    def test_tokens_are_judged_on_every_question_or_not_at_all(self):
        lacking = run(*observations(set(), "A"), *observations(set())[:47])
        made = comparison.build(first(), lacking)
        assert Gate.parse("input_tokens:A:0").failure(made) is None
        assert Gate.parse("input_tokens:D25:50").failure(made) == (
            "input_tokens:D25:50 cannot be judged: 1 of 48 questions lack trials in one of the runs, which could hide a "
            "loss"
        )

    def test_questions_that_changed_or_are_gone_could_hide_a_loss_and_new_ones_that_are_right_do_not(self):
        gate = Gate.parse("accuracy:A:3")
        gone = QUESTIONS[10:]
        assert gate.failure(comparison.build(first(), second(questions=gone))) == (
            "accuracy:A:3 cannot be judged: 10 of 40 questions lack trials in one of the runs, which could hide a loss"
        )
        changed = tuple(
            replace(one, question="?") if place < 10 else one for place, one in enumerate(QUESTIONS)
        )
        assert "10 of 40 questions" in gate.failure(comparison.build(first(), second(questions=changed)))
        # All of them are right under A in the second run: none could have been lost.
        assert gate.failure(comparison.build(first(questions=gone), second())) is None
        assert "10 of 48" in Gate.parse("input_tokens:A:3").failure(
            comparison.build(first(questions=gone), second())
        )

    def test_what_was_not_measured_shuts_it(self):
        made = comparison.build(first(), run(*observations(set(), "A")))
        assert Gate.parse("accuracy:D25:3").failure(made) == (
            "accuracy:D25:3 cannot be judged: accuracy of D25 was not measured in the second run"
        )

    def test_one_question_alone_shuts_it(self):
        alone = [run(seen(QUESTIONS[0], "D25", right=right)) for right in (True, False)]
        assert "one question alone has no interval" in Gate.parse("accuracy:D25:3").failure(
            comparison.build(*alone)
        )


class TestText:
    @pytest.mark.parametrize("width", [80, 140])
    def test_lines_fit_the_terminal(self, made, width):
        lines = [line for line, _ in shown.summary(made, width, [Gate.parse("accuracy:D25:3")])]
        assert max(map(len, lines)) <= width
        text = " ".join(" ".join(lines).split())
        assert re.search("8[78]% -> 5[78]%", text), "87.5 and 57.5"
        assert "-30.0 [" in text
        assert 'D25 correct -> wrong: "right" -> "wrong"' in text
        assert "gate accuracy:D25:3 is shut: accuracy of D25 fell by 30.0 points" in text
        heading = next(line for line in lines if "tokens/q" in line)
        assert ("reworded" in heading) == (width == 140)

    @pytest.mark.parametrize("width", [80, 140])
    def test_nothing_is_set_apart_by_more_than_one_blank_line(self, made, width):
        lines = [line for line, _ in shown.summary(made, width, [Gate.parse("accuracy:D25:3")])]
        assert ("", "") not in pairwise(lines)

    def test_what_a_run_lacks_is_told_below_the_table_and_in_the_slices(self):
        lacking = run(*observations(set(), "A"), *observations(set())[:15])
        made = comparison.build(first(), lacking)
        sentence = "D25: 25 of 40 questions lack trials with accuracy in one of the runs; 15 are compared"
        text = [line for line, _ in shown.summary(made, 140)]
        assert sentence in text
        assert "D25: 33 of 48 questions lack trials with tokens in one of the runs; 15 are compared" in text
        assert "- D25: 25 of 40 questions lack trials" in shown.markdown(made)
        # Of the twenty on the mill fifteen are there under D25, five of which were wrong before.
        (by_document,) = (place for place, line in enumerate(text) if line.startswith("points by document"))
        assert text[by_document + 2].split() == ["mill", "20", "+0.0", "+33.3*", "(n=15)"]

    def test_what_is_lost_gained_and_reworded_is_explained_once(self, made):
        told = (
            "lost and gained count the questions that are right in the first run only, and in the second only, "
            "unanswerable ones too, which points of accuracy leave out; reworded those answered in other words, right or "
            "wrong as before"
        )
        text = " ".join(" ".join(line for line, _ in shown.summary(made, 80)).split())
        assert text.count(f"note: {told}") == 1
        assert shown.markdown(made).count(f"{told}.") == 1

    def test_columns_are_those_that_the_page_explains(self, made, repository):
        text = pages.section(pages.read(repository, "reading-the-report.md"), "## Comparing two runs")
        cells = re.findall(r"^\| (`.*`) \|", text, re.MULTILINE)
        named = {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}
        table = next(line for line in shown.markdown(made).splitlines() if line.startswith("|"))
        assert named == {cell.strip() for cell in table.split("|") if cell.strip()}

    def test_losses_are_red_and_gains_green(self, made):
        marked = {line.strip(): markup for line, markup in shown.summary(made, 140)}
        assert marked['D25 correct -> wrong: "right" -> "wrong"'] == {"red": True}
        assert marked['D25 wrong -> correct: "wrong" -> "right"'] == {"green": True}

    def test_markdown_has_every_change_and_slice(self, made):
        text = shown.markdown(made, [Gate.parse("accuracy:D25:3")])
        assert text.count("correct -\\> wrong") == 15
        assert "## Accuracy by kind, in points" in text
        assert "## Accuracy by document, in points" in text
        assert "**accuracy of D25 fell by 30.0 points" in text.replace("\\", "")

    def test_what_answers_and_questions_hold_is_shown_as_text(self):
        strange = "<script>\x1b[31m|\n# x"
        trials = [replace(seen(QUESTIONS[0], "D25", right=right), answer=strange) for right in (True, False)]
        made = comparison.build(
            *(run(one, questions=(replace(QUESTIONS[0], question=strange),)) for one in trials)
        )
        text = "\n".join(line for line, _ in shown.summary(made, 140))
        assert "\x1b" not in text
        markdown = shown.markdown(made)
        assert "\x1b" not in markdown
        assert "<script>" not in markdown
        assert "\n# x" not in markdown

    def test_runs_without_a_change_say_so(self):
        made = comparison.build(first(), first())
        assert ("no answer changed from right to wrong or from wrong to right", {}) in shown.summary(
            made, 140
        )
        assert "no answer changed from right to wrong" in shown.markdown(made)

    def test_json_is_what_was_built(self, made):
        assert json.loads(shown.as_text(made)) == json.loads(json.dumps(made))
