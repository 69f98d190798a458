"""compare.html: what stands on the page, that text stays text, and what a browser makes of it."""

import re
from collections import Counter
from dataclasses import replace

import chromium
import made_runs
import parsed
import pytest

from pytest_tokenbench import comparison
from pytest_tokenbench.gates import Gate
from pytest_tokenbench.records import Outcome, Question, Scores
from pytest_tokenbench.reporting import comparison as text
from pytest_tokenbench.reporting.html import comparison as html
from pytest_tokenbench.run_folder import Run

NASTY = (
    "</script><script>document.title = 'owned'</script><img src=x onerror=alert(1)> {{ 7 * 7 }} $x^2$ & None"
)
GATES = [Gate.parse(one) for one in ("accuracy:D25:3", "made_up:D25:0", "input_tokens:A:2", "accuracy:E:1")]
MINUS, NONE = "\N{MINUS SIGN}", "\N{EN DASH}"
SECTIONS = ["compared", "gates", "conditions", "slices", "answers"]
ANSWERABLE = tuple(
    Question(
        f"q{n}",
        "mill" if n < 6 else "quay",
        f"What is {n}?",
        (f"{n}",),
        answerable=True,
        aliases=(f"number {n}",),
        slices={"kind": "even" if n % 2 == 0 else "odd"},
    )
    for n in range(12)
)
QUESTIONS = (*ANSWERABLE, Question("q12", "quay", "Who knows?", (), answerable=False))
# Places under D25: 0 is right in the second run only, 1 to 8 in the first only, 9 is right in other words, and what
# cannot be answered was not made up in the first run.
GAINED, LOST, REWORDED, MADE_UP = {0}, set(range(1, 9)), {9}, 12


class Parsed(parsed.Parsed):
    """With the minus that a keyboard has."""

    @property
    def text(self):
        return super().text.replace(MINUS, "-")


def trial(place, condition, *, right, answer):
    question = QUESTIONS[place]
    asked = replace(question, answers=("x",))
    seen = made_runs.observation(asked, condition, 1000 if condition == "A" else 100)
    outcomes = (
        (Outcome.CORRECT, Outcome.WRONG) if question.answerable else (Outcome.ABSTAINED, Outcome.MADE_UP)
    )
    scores = (
        Scores(abstained=False, correct=right, f1=float(right))
        if question.answerable
        else Scores(abstained=right, made_up=not right)
    )
    return replace(seen, answer=answer, outcome=outcomes[not right], scores=scores)


def run(wrong, answers=(), **changes):
    """A run in which A is always right, and D25 but for these places; `answers` are those that D25 words otherwise."""
    answers = dict(answers)
    places = range(len(QUESTIONS))
    trials = [trial(place, "A", right=True, answer="as ever") for place in places]
    trials += [
        trial(place, "D25", right=place not in wrong, answer=answers.get(place, f"said {place not in wrong}"))
        for place in places
    ]
    record = replace(made_runs.record(), questions=QUESTIONS, conditions=("A", "D25"), recipes={})
    return Run(replace(record, **changes), tuple(trials), ())


def former(**changes):
    return run(GAINED, {9: "nine"}, **changes)


def later(**changes):
    return run({*LOST, MADE_UP}, {9: "the number nine", 12: "Somebody"}, **changes)


def render(first, second, gates=()):
    return html.render(comparison.build(first, second, ("reports/1", "reports/2")), gates)


@pytest.fixture(scope="module")
def usual():
    return Parsed(render(former(), later(order="shared"), GATES))


def nothing_in_common():
    """Of D25 the second run has nothing, and of A the first has not."""
    one, other = former(), later()
    return (
        replace(one, observations=tuple(seen for seen in one.observations if seen.condition == "D25")),
        replace(other, observations=tuple(seen for seen in other.observations if seen.condition == "A")),
    )


def alone():
    """One question, that cannot be answered, without a slice."""
    question = replace(QUESTIONS[MADE_UP], slices={})
    made = [replace(its, record=replace(its.record, questions=(question,))) for its in (former(), later())]
    return [
        replace(its, observations=tuple(seen for seen in its.observations if seen.question == question.id))
        for its in made
    ]


RUNS = {
    "usual": (former(), later()),
    "the same": (former(), former()),
    "no trial": (replace(former(), observations=()), later()),
    "nothing in common": nothing_in_common(),
    "one question": alone(),
    "other conditions": (former(), later(conditions=("D25", "E"))),
    "nothing told": tuple(
        replace(its, record=replace(its.record, model=replace(its.record.model, digest=None, window=None)))
        for its in (former(), later())
    ),
}


@pytest.fixture(scope="module", params=RUNS)
def any_page(request):
    return Parsed(render(*RUNS[request.param], GATES))


class TestAnyPage:
    def test_its_sections_are_those_its_links_lead_to(self, any_page):
        assert [its["id"] for its in any_page.all("section")] == SECTIONS
        assert [its["href"] for its in any_page.all("a")] == [
            "#conditions",
            *(f"#{name}" for name in SECTIONS),
        ]

    def test_it_shows_no_value_that_is_none_or_no_number(self, any_page):
        shown = [any_page.text, *(value or "" for _, its in any_page.elements for value in its.values())]
        assert not re.search(r"\b(None|NaN|nan|inf|Infinity|undefined|null)\b", "\n".join(shown))

    def test_every_plot_has_a_text_or_a_sentence_says_why_it_is_not_there(self, any_page):
        drawn = any_page.all("svg")
        ids = [its["id"] for _, its in any_page.elements if "id" in its]
        assert len(ids) == len(set(ids))
        assert all(its["role"] == "img" and set(its["aria-labelledby"].split()) <= set(ids) for its in drawn)
        assert len(drawn) + any_page.text.count("Not drawn: ") == 2

    def test_it_asks_for_nothing_from_outside(self, any_page):
        for tag, its in any_page.elements:
            assert tag not in {"iframe", "object", "embed", "img"}
            asked = [its.get(name) for name in ("src", "href", "xlink:href", "action", "data", "srcset")]
            assert [one for one in asked if one and not one.startswith(("#", "data:,"))] == []


class TestWhatItSays:
    def test_warnings_stand_before_everything_else(self, usual):
        told = "--tokenbench-order is not the same: cold in the first run, shared in the second"
        assert told in usual.text.split("What is compared")[0]

    def test_both_runs_are_told_with_digest_and_order(self, usual):
        compared = usual.text.split("First run")[1].split("Gates")[0]
        first, second = compared.split("Second run")
        assert "run reports/1" in first
        assert "digest digest" in first
        assert "order cold" in first
        assert "order shared" in second

    def test_runs_without_a_difference_say_so(self):
        text_of = Parsed(render(former(), former())).text
        assert "Nothing that could change a number differs between the runs but the time." in text_of
        assert "No answer changed from right to wrong or from wrong to right." in text_of
        assert "No answer that was right or wrong as before was worded otherwise." in text_of
        assert "No gate was set" in text_of

    def test_each_gate_is_told_with_its_outcome(self, usual):
        gates = usual.text.split("Gates ")[-1].split("Conditions")[0]
        # 8 of 12 lost and 1 gained.
        assert re.search(r"accuracy:D25:3 ✗ shut accuracy of D25 fell by 58\.3 points \[", gates)
        assert (
            "made_up:D25:0 ✗ shut made_up:D25:0 cannot be judged: one question alone has no interval" in gates
        )
        assert (
            "input_tokens:A:2 ✓ passed input_tokens of A: +0 [+0, +0]! tokens (n=13), no loss of more than 2% beyond noise"
        ) in gates
        assert "accuracy:E:1 ✗ shut accuracy:E:1 cannot be judged: E is no condition of both runs" in gates

    def test_the_table_has_the_figures_of_the_terminal(self, usual):
        made = comparison.build(former(), later())
        (row,) = [line for line, _ in text.summary(made, 300) if line.startswith("D25 ")]
        assert " ".join(row.replace("->", "→").split()) in usual.text

    def test_what_counts_as_lost_is_explained_once(self, usual):
        assert (
            usual.text.count("Lost and gained count the questions that are right in the first run only") == 1
        )

    def test_the_forest_has_a_row_for_each_condition_in_words_and_colour_where_it_excludes_zero(self, usual):
        assert usual.text.count("Accuracy: points from the first run to the second") == 2, "heading and title"
        page = render(former(), later()).replace(MINUS, "-")
        (plot,) = re.findall(r'<svg class="plot".*?</svg>', page.split("<h4>Accuracy: points")[1], re.DOTALL)[
            :1
        ]
        assert re.search(r"<desc [^>]*>A: 0\.0 \[0\.0, 0\.0\]!; D25: -58\.3 \[-\d", plot)
        assert plot.count("var(--accent)") == 2, "line and dot of D25 alone"

    def test_slices_and_documents_have_tables(self, usual):
        slices = usual.text.split("prove nothing.")[1].split("Answers that changed")[0]
        # Of mill, 5 of 6 are lost and one gained; of quay 3 of 6 are lost.
        assert re.search(
            r"Accuracy by document, in points .* mill 6 \+0\.0 -66\.7 quay 6 \+0\.0 -50\.0", slices
        )
        assert re.search(r"Accuracy by kind, in points .* even 6 \+0\.0 -50\.0 odd 6 \+0\.0 -66\.7\*", slices)

    def test_answers_that_changed_stand_with_question_gold_and_both_answers(self, usual):
        answers = usual.text.split("Answers that changed")[-1]
        changed, reworded = answers.split("Reworded, right or wrong as before: 1 answer to 1 question")
        assert changed.count("lost") == len(LOST) + 1
        assert changed.count("gained") == len(GAINED)
        assert (
            "What is 1? Gold: 1 · number 1 q1 · document mill · kind odd D25 lost right → wrong first said True second "
            "said False"
        ) in changed
        assert "D25 gained wrong → right first said False second said True" in changed
        assert (
            "Who knows? Not answerable: the document does not say. q12 · document quay D25 lost abstained → made up first "
            "said True second Somebody"
        ) in changed
        assert "D25 reworded right as before first nine second the number nine" in reworded

    def test_what_is_missing_is_told_in_words(self):
        lacking = later()
        kept = [
            seen
            for seen in lacking.observations
            if seen.condition == "A" or seen.question not in {"q1", "q2"}
        ]
        told = Parsed(render(former(), replace(lacking, observations=tuple(kept)))).text
        assert "D25: 2 of 12 questions lack trials with accuracy in one of the runs; 10 are compared." in told
        told = Parsed(render(*RUNS["nothing in common"])).text
        assert "No difference in accuracy, since nothing has it in both runs." in told
        assert "No accuracy was measured in both runs." in told
        told = Parsed(render(*RUNS["other conditions"])).text
        assert "Conditions that only the first run has: A." in told
        assert "Conditions that only the second run has: E." in told

    def test_a_long_name_is_cut_in_the_plot_and_whole_in_its_description(self):
        name = "a-condition-with-a-very-long-name"
        runs = [
            replace(
                its,
                record=replace(its.record, conditions=("A", name)),
                observations=tuple(
                    replace(seen, condition=name) if seen.condition == "D25" else seen
                    for seen in its.observations
                ),
            )
            for its in (former(), later())
        ]
        page = render(*runs).replace(MINUS, "-")
        assert f"{name}: -58.3 [" in page
        assert ">a-condition-with…</text>" in page


@pytest.fixture(scope="module")
def blocks():
    """The page of two runs over blocks; that they are such is put into the comparison by hand."""
    drop = {"estimate": 0.25, "low": 0.125, "high": 0.375, "n": 80, "zero_width": False}
    found = {
        "arms": ["A"],
        "blocks": [
            {"name": "system", "first": {"verdict": "needed", "drop": drop}, "second": None},
            {
                "name": "tail",
                "first": {"verdict": "removable", "drop": drop},
                "second": {"verdict": "not measured", "drop": {"unavailable": "no trial"}},
            },
        ],
        "needed_fraction": {"first": drop, "second": {"unavailable": "the base was not measured"}},
    }
    first, second = (
        replace(
            its,
            record=replace(its.record, questions=ANSWERABLE),
            observations=tuple(
                seen for seen in its.observations if seen.question != "q12" and seen.condition in arms
            ),
        )
        for its, arms in ((former(), {"A", "D25"}), (later(), {"A"}))
    )
    made = comparison.build(first, second, ("reports/1", "reports/2"))
    return Parsed(html.render(made | {"ablation": found}))


class TestOverBlocks:
    def test_the_findings_of_both_stand_side_by_side(self, blocks):
        assert [its["id"] for its in blocks.all("section")] == [*SECTIONS[:2], "findings", *SECTIONS[2:]]
        findings = blocks.text.split("Findings")[-1].split("Arms")[0]
        assert f"system needed {NONE} 25.0 [12.5, 37.5] {NONE}" in findings
        assert f"tail removable not measured 25.0 [12.5, 37.5] {NONE}" in findings
        assert "not known in the second run (the base was not measured)" in findings
        assert "None" not in blocks.text

    def test_an_arm_that_only_one_run_asked_is_named_and_has_no_row(self, blocks):
        arms = blocks.text.split("Arms")[-1].split("Differences")[0]
        assert "Not in the table, since not asked in both runs: D25." in arms
        assert arms.count("D25") == 1
        assert "made up" not in arms, "cases are all answerable"

    def test_the_forest_has_the_main_arms(self, blocks):
        assert len(blocks.all("svg")) == 1
        assert "A: 0.0 [0.0, 0.0]!" in blocks.text


class TestTextFromOutside:
    @staticmethod
    def page(told):
        question = Question("q1", told, told, (told,), answerable=True, slices={told: told})
        record = replace(
            made_runs.record(),
            study=told,
            questions=(question,),
            conditions=("A", told),
            recipes={},
            model=replace(made_runs.record().model, name=told, digest=told, server_version=told),
            doubts=(told,),
        )

        def one(right):
            seen = made_runs.observation(question, told, 100)
            scores = Scores(abstained=False, correct=right, f1=float(right))
            return replace(seen, answer=told, scores=scores)

        runs = [Run(record, (one(right),), ()) for right in (True, False)]
        return Parsed(html.render(comparison.build(*runs, (told, told)), [Gate("accuracy", told, 1)]))

    def test_it_is_never_markup_and_shown_as_it_is_written(self):
        nasty, plain = self.page(NASTY), self.page("plain")
        assert Counter(tag for tag, _ in nasty.elements) == Counter(tag for tag, _ in plain.elements)
        shown = " ".join(NASTY.split())
        # Names, models, studies, digests and servers of both runs, doubts, gate, condition, slice, question and answers.
        assert nasty.text.count(shown) >= 20


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    found = chromium.Chromium(tmp_path_factory.mktemp("profile"))
    yield found
    found.close()


class TestInABrowser:
    @pytest.fixture
    def page(self, browser, tmp_path):
        """The page, which must neither complain nor ask for anything but itself."""
        file = tmp_path / "compare.html"
        second = later()
        trials = [
            replace(seen, answer=NASTY) if seen.question == "q1" else seen for seen in second.observations
        ]
        file.write_text(
            render(former(), replace(second, observations=tuple(trials)), GATES), encoding="utf-8"
        )
        shown = browser.page()
        shown.open(file.as_uri())
        yield shown
        assert shown.told("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded") == []
        asked = {one["request"]["url"].partition("#")[0] for one in shown.told("Network.requestWillBeSent")}
        assert asked <= {file.as_uri(), "about:blank", "data:,"}
        assert shown.run("document.title") == "made: two runs compared"

    @pytest.mark.parametrize("width", [390, 760, 1280])
    def test_nothing_is_wider_than_the_window(self, page, width):
        page.resize(width, 900)
        page.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        assert page.run("document.documentElement.scrollWidth") == width

    def test_a_table_sorts_by_a_click(self, page):
        names = "[...document.querySelectorAll('#conditions tbody th')].map((one) => one.textContent)"
        assert page.run(names) == ["A", "D25"]
        page.run(
            "[...document.querySelectorAll('#conditions thead button')]"
            ".find((one) => one.textContent === 'points [95%]').click()"
        )
        assert page.run(names) == ["D25", "A"]

    def test_reworded_answers_open_by_a_click(self, page):
        visible = "document.querySelector('.reworded .question').checkVisibility()"
        assert not page.run(visible)
        page.run("document.querySelector('.reworded summary').click()")
        assert page.run(visible)

    def test_it_is_dark_where_the_user_likes_it_dark(self, page):
        colour = "getComputedStyle(document.body).backgroundColor"
        light = page.run(colour)
        page.resize(1280, 900, "dark")
        assert page.run(colour) != light
