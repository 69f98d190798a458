"""report.html without a browser: what stands on the page, geometry by hand, and that nothing from outside is markup."""

import base64
import hashlib
import json
import re
import zlib
from collections import Counter
from dataclasses import replace
from itertools import pairwise

import made_runs
import parsed
import pytest
import scripted
from hypothesis import given
from hypothesis import strategies as st

from pytest_tokenbench import contexts, prompting
from pytest_tokenbench.records import Evidence, Question, Ruling, Status, Verdict
from pytest_tokenbench.reporting import document, files, wording
from pytest_tokenbench.reporting.html import (
    forest,
    labels,
    numbers,
    page,
    preparation,
    slices,
    tradeoff,
    trials,
    verdicts,
)
from pytest_tokenbench.reporting.html.tradeoff import Point
from pytest_tokenbench.run_folder import Run

NASTY = "</script><script>alert(1)</script><!-- <b>&amp; \u2028 $x^2$ {{ 7 * 7 }}"
SECTIONS = [
    "verdicts",
    "tradeoff",
    "conditions",
    "preparation",
    "slices",
    "trials",
    "run",
    "doubts",
    "limitations",
]


class Parsed(parsed.Parsed):
    """A report, whose scripts begin with its data."""

    @property
    def trials(self):
        return json.loads(self.scripts[0])

    @property
    def contexts(self):
        return json.loads(zlib.decompress(base64.b64decode(self.scripts[1])))


def render(run, texts=None, change=None):
    made = document.build(run)
    if change:
        change(made)
    return page.render(made, run, texts or {})


def parsed(run, texts=None):
    return Parsed(render(run, texts))


def changed(run, **changes):
    return replace(run, record=replace(run.record, **changes))


def untold():
    """The run with a server that told nothing but its answers."""
    run = made_runs.run()
    return replace(
        run,
        observations=tuple(replace(o, input_tokens=None, output_tokens=None) for o in run.observations),
        preparations=(),
    )


RUNS = {
    "usual": made_runs.run(made_runs.BY_HAND),
    "repeats": made_runs.repeated(3),
    "no observation": replace(made_runs.run(made_runs.BY_HAND), observations=(), preparations=()),
    "nothing but errors": replace(
        made_runs.run(), observations=tuple(map(made_runs.errored, made_runs.observations()))
    ),
    "counts not told": untold(),
    "one condition": replace(
        made_runs.run(), observations=tuple(o for o in made_runs.observations() if o.condition == "A")
    ),
    "one question": changed(
        replace(made_runs.run(), observations=made_runs.observations()[:2]), questions=made_runs.QUESTIONS[:1]
    ),
    "none answerable": changed(
        replace(made_runs.run(), observations=(scripted.observation(scripted.unanswerable("q"), "A"),)),
        questions=(scripted.unanswerable("q"),),
    ),
    "not judged": changed(made_runs.run(), verdicts=(), finished=None),
    "a shard": made_runs.shards(2)[0],
    "a quick look": changed(made_runs.run(), quick=True),
    "a server that tells little": changed(
        made_runs.run(), model=replace(made_runs.record().model, digest=None, window=None), commit=None
    ),
}


@pytest.fixture(params=RUNS.values(), ids=RUNS.keys(), scope="module")
def any_page(request):
    return parsed(request.param)


@pytest.fixture(scope="module")
def priced():
    """The page of the usual run, as it is written."""
    return render(RUNS["usual"])


class TestPage:
    def test_its_parts_come_in_the_order_of_importance(self):
        elements = parsed(made_runs.run()).elements
        assert [its["id"] for tag, its in elements if tag == "section"] == SECTIONS

    def test_it_shows_no_value_that_is_none_or_no_number(self, any_page):
        shown = [any_page.text, *(value or "" for _, its in any_page.elements for value in its.values())]
        assert not re.search(r"\b(None|NaN|nan|inf|Infinity|undefined|null)\b", "\n".join(shown))

    def test_every_plot_that_there_is_has_a_text_and_what_there_is_not_is_told(self, any_page):
        drawn = [its for tag, its in any_page.elements if tag == "svg"]
        ids = {its["id"] for _, its in any_page.elements if "id" in its}
        assert all(its["role"] == "img" and set(its["aria-labelledby"].split()) <= ids for its in drawn)
        # Three trade-offs, three differences, one preparation; each price beyond the first one more.
        assert len(drawn) + any_page.text.count("Not drawn") == 7

    def test_it_asks_for_nothing_from_outside(self, any_page):
        for tag, its in any_page.elements:
            asked = [its.get(name, "") for name in ("src", "href", "xlink:href", "action", "srcset", "data")]
            assert all(re.match(r"(#|data:,|$)", address) for address in asked), (tag, its)

    def test_ids_are_unique(self, any_page):
        ids = Counter(its["id"] for _, its in any_page.elements if "id" in its)
        assert [name for name, count in ids.items() if count > 1] == []

    def test_what_plots_refer_to_is_there(self, priced):
        named = set(re.findall(r'\bid="([^"]+)"', priced))
        assert set(re.findall(r"url\(#([^)]+)\)", priced)) <= named
        assert set(re.findall(r'xlink:href="#([^"]+)"', priced)) <= named

    def test_the_same_run_gives_the_same_bytes(self, priced):
        assert render(RUNS["usual"]) == priced

    def test_plots_have_their_text_as_text_and_no_colour_of_their_own(self, priced):
        plots = "".join(re.findall(r"<svg.*?</svg>", priced, re.DOTALL))
        assert "Input tokens per question</text>" in plots
        assert re.findall(r"#[0-9a-f]{6}\b", plots) == []
        assert "<style" not in plots

    def test_a_run_that_did_not_end_says_so(self):
        assert "This run did not come to its end." in parsed(RUNS["not judged"]).text

    def test_a_run_without_hypotheses_says_so(self):
        assert "No hypothesis was judged." in parsed(RUNS["not judged"]).text

    def test_cost_without_prices_says_how_to_give_them(self):
        assert "no prices (--tokenbench-prices)" in parsed(made_runs.run()).text

    def test_notes_are_those_of_the_other_reports(self):
        run = replace(
            made_runs.run(),
            observations=(*made_runs.observations()[1:], made_runs.errored(made_runs.observations()[0])),
        )
        assert "A: 1 trial missing (1 error)" in parsed(run).text

    def test_options_are_told_as_json_has_them(self):
        options = {
            "truncate": False,
            "stop": [],
            "top_p": 0.9,
            "seed": None,
            "ends": ["a", "b"],
            "kv": {"unified": True, "n": None},
        }
        run = made_runs.run()
        run = changed(run, model=replace(run.record.model, options=options))
        assert "truncate false, stop none, top_p 0.9, ends a b, kv unified true" in parsed(run).text

    def test_prompts_are_shown_if_they_are_still_those_of_the_run(self):
        same = changed(made_runs.run(), hashes={"prompt answer": prompting.sha256("answer")})
        other = changed(made_runs.run(), hashes={"prompt answer": "0" * 64, "prompt ../x": "0" * 64})
        assert "using only the context" in parsed(same).text
        assert "using only the context" not in parsed(other).text
        assert "0" * 64 in parsed(other).text


def run_with(text):
    """A run in which everything from outside is this text, and its context."""
    question = Question("q1", text, text, (text,), answerable=True, paragraph=0, slices={text: text})
    run = made_runs.run()
    seen = replace(
        scripted.observation(question, "A"),
        answer=text,
        host=text,
        worker=text,
        context_sha256="0" * 64,
        units=(text,),
    )
    verdict = Verdict(text, text, Ruling.UNAVAILABLE, text, (Evidence(text, 1.0, 0.5, 2.0, 3),))
    record = replace(
        run.record,
        study=text,
        questions=(question,),
        model=replace(run.record.model, name=text, host=text, options={text: text}),
        machine={text: text},
        hashes={text: text},
        registration=text,
        doubts=(text,),
        condition_options={"A": {"class": text}},
        verdicts=(verdict,),
        prices=(replace(made_runs.BY_HAND, name=text, currency=text, source=text),),
    )
    return Run(record, (seen,), ()), {"0" * 64: text}


@pytest.fixture(scope="module")
def nasty():
    """The page of a run with nasty texts."""
    return parsed(*run_with(NASTY))


class TestTextFromOutside:
    """Answers, questions and names are never markup, whatever they hold."""

    def test_it_adds_no_element(self, nasty):
        plain = parsed(*run_with("plain"))
        assert Counter(tag for tag, _ in nasty.elements) == Counter(tag for tag, _ in plain.elements)

    def test_the_scripts_data_is_whole(self, nasty):
        (trial,) = nasty.trials["trials"]
        assert trial[trials.FIELDS.index("answer")] == NASTY
        assert nasty.trials["questions"][0]["text"] == NASTY
        assert nasty.contexts["lines"] == NASTY.split("\n")

    def test_it_is_shown_as_it_is_written(self, nasty):
        shown = " ".join(NASTY.replace("\u2028", "\ufffd").split())
        # Heading and title, card, slice, document, model, machine, hashes, options, registration, doubts, prices.
        assert nasty.text.count(shown) >= 15

    @given(st.text())
    def test_any_text_stands_in_a_script_element(self, text):
        within = str(page.embedded({"text": text}))
        assert not set("<>&\u2028\u2029") & set(within)
        assert json.loads(within) == {"text": text}


class TestPolicy:
    def test_the_policy_allows_the_pages_own_script_alone(self):
        made = parsed(made_runs.run())
        (policy,) = [its["content"] for _, its in made.elements if its.get("http-equiv")]
        digest = base64.b64encode(hashlib.sha256(made.scripts[-1].encode()).digest()).decode()
        assert f"script-src 'sha256-{digest}'" in policy
        assert policy.startswith("default-src 'none'")


def evidence(measure, estimate, low, high, *bounds):
    made = {"measure": measure, "estimate": estimate, "low": low, "high": high, "n": 80}
    told = [dict(zip(("end", "relation", "value"), bound, strict=True)) for bound in bounds]
    return made | {"bounds": told} if bounds else made


def card(*items, ruling="failed", reason=""):
    entry = {"hypothesis": "H2", "statement": "It is so.", "ruling": ruling, "reason": reason}
    (made,) = verdicts.cards({"hypotheses": [entry | {"evidence": list(items)}]})
    return made


class TestVerdicts:
    def test_an_interval_stands_against_its_threshold_and_zero(self):
        # From -0.10 to +0.05 on the 88 percent between the margins of 6: -0.05 is a third along, 0 two thirds.
        (number,) = card(evidence("accuracy of D25 less A", -0.02, -0.10, 0.05, ("low", ">", -0.05))).numbers
        assert (number.scale.low, number.scale.high) == (6.0, 94.0)
        assert number.scale.estimate == pytest.approx(6 + 88 * 8 / 15, abs=0.01)
        zero, asked = number.scale.marks
        assert (zero.place, zero.label, zero.is_asked) == (pytest.approx(64.67), "0", False)
        assert (asked.place, asked.label, asked.is_asked) == (pytest.approx(35.33), "\N{MINUS SIGN}5.0", True)
        assert number.asked == "lower end > \N{MINUS SIGN}5.0"
        assert number.value == "\N{MINUS SIGN}2.0 [\N{MINUS SIGN}10.0, +5.0] points, n = 80"

    def test_where_no_threshold_is_known_the_interval_stands_against_zero_alone(self):
        (number,) = card(evidence("accuracy of D25 less A", -0.02, -0.10, 0.05)).numbers
        assert [(mark.label, mark.is_asked) for mark in number.scale.marks] == [("0", False)]
        assert number.asked == ""

    def test_ends_that_differ_by_rounding_alone_are_the_same(self):
        third = evidence("accuracy of D25 less A", 1 / 3, 1 / 3, 1 / 3 + 1e-16)
        assert third["low"] != third["high"]
        (number,) = card(third).numbers
        assert number.value == "+33.3 [+33.3, +33.3]! points, n = 80"
        assert numbers.points(third | {"zero_width": True}) == "+33.3 [+33.3, +33.3]!"
        assert wording.evidence(third) == "accuracy of D25 less A = 0.3333 [0.3333, 0.3333]!, n=80"

    def test_zero_can_be_what_was_asked(self):
        (number,) = card(evidence("accuracy of D25 less A", 0.02, 0.01, 0.05, ("low", ">", 0.0))).numbers
        assert [(mark.label, mark.is_asked) for mark in number.scale.marks] == [("0", True)]

    def test_numbers_of_one_kind_share_their_scale(self):
        first, second = card(
            evidence("made_up of D25", 0.2, 0.1, 0.4, ("estimate", "<=", 0.3)),
            evidence("made_up of B4", 0.3, 0.2, 0.5),
        ).numbers
        assert second.scale.estimate == first.scale.marks[1].place
        assert first.asked == "estimate ≤ 30.0%"
        assert first.label == "made-up answers of D25"

    def test_a_number_that_was_read_twice_is_shown_once_with_all_that_was_asked(self):
        (number,) = card(
            evidence("accuracy of D25", 0.7, 0.6, 0.8, ("low", ">", 0.5)),
            evidence("accuracy of D25", 0.7, 0.6, 0.8, ("high", "<", 0.9)),
        ).numbers
        assert number.asked == "lower end > 50.0%, upper end < 90.0%"

    @pytest.mark.parametrize(
        ("measure", "told"),
        [
            ("input_tokens of A", "9,512 tokens, n = 80"),
            ("reduction of input_tokens of D25 versus A", "951200.0%, n = 80"),
            ("total_s of A", "9,512 s, n = 80"),
            ("the author's own", "9,512, n = 80"),
        ],
    )
    def test_numbers_have_their_unit_and_none_where_it_is_not_known(self, measure, told):
        (number,) = card(evidence(measure, 9512.0, None, None)).numbers
        assert number.value == told
        assert number.scale.low is None

    def test_the_reason_is_shown_where_the_numbers_do_not_tell_it(self):
        assert card(ruling="unavailable", reason="D25 was not measured").reason == "D25 was not measured"
        assert card(ruling="failed", reason="assert 1 == 2").reason == "assert 1 == 2"
        assert card(evidence("accuracy of A", 1, 1, 1), ruling="failed", reason="assert 1 < 0").reason == ""

    @given(st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=3), st.floats(-1e6, 1e6))
    def test_everything_stands_within_the_scale(self, ends, bound):
        low, estimate, high = sorted(ends)
        (number,) = card(evidence("input_tokens of A", estimate, low, high, ("low", ">", bound))).numbers
        scale = number.scale
        places = [scale.low, scale.estimate, scale.high, *(mark.place for mark in scale.marks)]
        assert all(6 <= place <= 94 for place in places)
        assert scale.low <= scale.estimate <= scale.high


def point(name, x, y):
    return Point(name, x, y, None, None)


class TestFrontier:
    def test_what_is_beaten_is_not_on_it(self):
        points = [point("A", 9000, 0.8), point("B", 500, 0.7), point("C", 900, 0.6), point("D", 800, 0.9)]
        assert [one.name for one in tradeoff.frontier(points)] == ["B", "D"]

    def test_of_two_that_take_as_much_the_better_is(self):
        assert [one.name for one in tradeoff.frontier([point("A", 1, 0.5), point("B", 1, 0.6)])] == ["B"]

    def test_of_two_that_are_as_good_the_cheaper_is(self):
        assert [one.name for one in tradeoff.frontier([point("A", 2, 0.5), point("B", 1, 0.5)])] == ["B"]

    def test_equals_both_are(self):
        assert len(tradeoff.frontier([point("A", 1, 0.5), point("B", 1, 0.5)])) == 2

    @given(st.lists(st.tuples(st.integers(1, 5), st.integers(0, 5)), min_size=1))
    def test_it_is_all_that_nothing_beats(self, pairs):
        points = [point(str(place), x, y) for place, (x, y) in enumerate(pairs)]

        def is_beaten(one):
            return any(
                other.x <= one.x and other.y >= one.y and (other.x, other.y) != (one.x, one.y)
                for other in points
            )

        assert {one.name for one in tradeoff.frontier(points)} == {
            one.name for one in points if not is_beaten(one)
        }


class TestLabels:
    @given(st.lists(st.floats(0, 400), min_size=1, max_size=9))
    def test_spread_keeps_the_order_and_the_distance(self, wanted):
        found = labels.spread(wanted, 14)
        order = sorted(range(len(wanted)), key=lambda place: (wanted[place], found[place]))
        assert all(found[b] - found[a] >= 14 - 1e-6 for a, b in pairwise(order))

    def test_labels_that_do_not_touch_stay_where_they_are(self):
        assert labels.spread([100, 10, 50], 14) == [100, 10, 50]

    def test_labels_that_touch_move_apart_by_as_much(self):
        assert labels.spread([100, 100], 14) == [93, 107]

    def test_a_label_keeps_clear_of_points_and_labels(self):
        points = [(100.0, 100.0), (112.0, 104.0), (90.0, 96.0)]
        names = ["A", "B", "C"]
        everywhere = labels.Area(0, 0, 300, 300)
        areas = [
            place.area(*at, name)
            for place, at, name in zip(
                labels.beside(points, names, [], everywhere), points, names, strict=True
            )
        ]
        dots = [labels.Area(x - 3, y - 3, x + 3, y + 3) for x, y in points]
        assert all(area.overlap(dot) == 0 for area in areas for dot in dots)
        assert all(one.overlap(other) == 0 for one in areas for other in areas if one is not other)

    def test_a_label_stays_inside(self):
        inside = labels.Area(0, 0, 100, 100)
        (place,) = labels.beside([(98.0, 98.0)], ["D25"], [], inside)
        assert place.area(98.0, 98.0, "D25").outside(inside) == 0


class TestPlots:
    def test_dominated_conditions_are_named_so_to_those_who_cannot_see(self):
        # Both are always right, and C takes fewer tokens.
        assert "A: 100%! at 1,259 (dominated); C: 100%! at 100" in render(made_runs.run())

    def test_a_condition_that_is_not_in_the_plot_is_named(self):
        run = made_runs.run()
        lost = tuple(replace(o, input_tokens=None) if o.condition == "C" else o for o in run.observations)
        (tokens, *_) = tradeoff.plots(document.build(replace(run, observations=lost)))
        assert tokens.note == "Not in the plot: C (they are not known)."

    def test_each_condition_that_is_not_in_a_plot_has_its_own_reason(self):
        def cost(run):
            return tradeoff.plots(document.build(run))[1]

        tier = cost(made_runs.run(replace(made_runs.BY_HAND, base_up_to=1500)))
        assert tier.svg is None
        over = "tokens; over 1,500 they cost more than the prices say"
        assert tier.note == (
            f"Not drawn against cost: a prompt under A has 2,000 {over}; the summary of quay has 2,000 {over}."
        )
        free = cost(made_runs.run(replace(made_runs.BY_HAND, input=0.0, output=0.0)))
        assert free.note == "Not drawn against cost: 0 has no place on a logarithmic axis."
        run = made_runs.run(made_runs.BY_HAND)
        untold = tuple(replace(o, output_tokens=None) if o.condition == "C" else o for o in run.observations)
        assert cost(replace(run, observations=untold)).note == (
            "Not in the plot: C (output_tokens of condition C was not measured). Prices: by hand."
        )

    def test_a_prefill_of_no_seconds_is_told_as_one(self):
        run = made_runs.run()
        cold = tuple(
            replace(o, cached_tokens=0, prefill_s=0.0 if o.condition == "C" else 1.0)
            for o in run.observations
        )
        (*_, prefill) = tradeoff.plots(document.build(replace(run, observations=cold)))
        assert prefill.note == "Not in the plot: C (0 has no place on a logarithmic axis)."

    def test_an_interval_of_zero_width_is_told_from_none_at_all(self):
        # Everything is right; of the quay there is one question alone, which has no interval.
        made = parsed(changed(made_runs.run(), questions=tuple(
            replace(question, slices={"place": question.document}) for question in made_runs.QUESTIONS
        )))  # fmt: skip
        panels = re.search(r"place mill \(3\) (.*?) quay \(1\) (.*?) Documents", " ".join(made.text.split()))
        assert panels.groups() == ("A 100%! C 100%!", "A 100% C 100%")
        assert ">A!</text>" in tradeoff.plots(document.build(made_runs.run()))[0].svg
        alone = tradeoff.plots(document.build(RUNS["one question"]))[0].svg
        assert ">A</text>" in alone

    def test_differences_that_did_not_vary_are_not_called_known(self):
        told = parsed(made_runs.run()).text
        assert "±" not in told
        assert "The difference in accuracy is the same on every question under C: how far it is known" in told

    def test_how_far_differences_are_known_is_said_of_those_that_vary(self):
        run = made_runs.run()
        wrong = replace(run.observations[0].scores, correct=False)
        both = [
            replace(o, condition="D", scores=wrong if o.question == "mill-q1" else o.scores)
            for o in run.observations
            if o.condition == "A"
        ]
        run = changed(replace(run, observations=(*run.observations, *both)), conditions=("A", "C", "D"))
        # One of four: from all four right to three of the four draws wrong.
        told = parsed(run).text
        assert "differences in accuracy are known to about ±38 points" in told
        assert "is the same on every question under C: how far" in told

    def test_the_break_even_is_marked(self):
        # Built once: (1,100 + 2,050) / 2; a question saves 1,258.75 - 100: after one it has not paid, after two it has.
        made = preparation.plot(document.build(made_runs.run()))
        assert "C: 1,575 once and 100 a question, cheaper from 2 questions" in made.svg
        assert ">2</text>" in made.svg

    def test_differences_are_told_for_every_other_condition(self):
        accuracy, made_up, f1 = forest.plots(document.build(made_runs.run()))
        assert "C: 0.0 [0.0, 0.0]!" in accuracy.svg
        assert made_up.svg is None
        assert made_up.note == (
            "Not drawn: made-up answers, since no question has it under A and another condition."
        )
        assert f1.svg is not None


class TestSlices:
    def panels(self):
        questions = (
            *(scripted.question(f"q{n}", document="mill" if n < 3 else "quay") for n in range(4)),
            scripted.unanswerable("q4", document="quay"),
        )
        kinds = ("who", "who", "when", "when", "none")
        questions = tuple(
            replace(question, slices={"kind": kind}) for question, kind in zip(questions, kinds, strict=True)
        )
        rights = {"A": (True, True, True, False, True), "C": (True, False, False, False, True)}
        seen = tuple(
            scripted.observation(question, name, right=right)
            for name, its in rights.items()
            for question, right in zip(questions, its, strict=True)
        )
        run = replace(changed(made_runs.run(), questions=questions), observations=seen)
        return document.results_of(run)

    def test_each_part_has_the_accuracy_of_its_answerable_questions(self):
        (kinds,) = slices.by_slice(self.panels()).values()
        told = {one.name: (one.n, [level.estimate for level in one.levels]) for one in kinds}
        assert told == {"who": (2, [100, 50]), "when": (2, [50, 0])}

    def test_one_bad_document_is_seen(self):
        found = slices.by_document(self.panels())
        assert [(one.name, one.n, round(one.mean, 1)) for one in found] == [
            ("mill", 3, 66.7),
            ("quay", 1, 0.0),
        ]

    def test_an_interval_holds_its_estimate(self):
        (kinds,) = slices.by_slice(self.panels()).values()
        for level in (level for one in kinds for level in one.levels):
            assert level.low <= level.estimate <= level.high


class TestTrials:
    def test_a_context_that_trials_share_is_in_the_page_once(self):
        run = made_runs.run()
        seen = tuple(
            replace(o, context_sha256=f"of {o.document}", units=("whole",)) for o in run.observations
        )
        found = trials.data(
            replace(run, observations=seen), {"of mill": "One.\n\nTwo.", "of quay": "One.\nThree."}
        )
        assert len(found["contexts"]) == 2
        texts = ["\n".join(found["lines"][place] for place in one["lines"]) for one in found["contexts"]]
        assert texts == ["One.\n\nTwo.", "One.\nThree."]
        assert found["lines"].count("One.") == 1
        assert [found["units"][place] for place in found["contexts"][0]["units"]] == ["whole"]

    def test_a_context_whose_text_is_missing_is_told_as_missing(self):
        made = parsed(made_runs.run())
        assert all(one["lines"] is None for one in made.contexts["contexts"])
        assert "the texts of 4 of 4 contexts are not in the run's folder" in made.text

    def test_trials_do_not_depend_on_the_order_in_which_they_ended(self):
        run = made_runs.run()
        assert render(run) == render(replace(run, observations=run.observations[::-1]))

    def test_disagreements_are_counted_both_ways(self):
        question = made_runs.QUESTIONS
        rights = {"A": (True, True, True, False), "C": (True, False, False, True)}
        seen = tuple(
            scripted.observation(one, name, right=right)
            for name, its in rights.items()
            for one, right in zip(question, its, strict=True)
        )
        (found,) = trials.disagreements(replace(made_runs.run(), observations=seen), ("A", "C"))
        assert (found.condition, found.lost, found.won, found.pairs) == ("C", 2, 1, 4)

    def test_a_trial_without_its_pair_does_not_disagree(self):
        seen = scripted.observation(made_runs.QUESTIONS[0], "C", right=False)
        lost = scripted.observation(made_runs.QUESTIONS[0], "A", status=Status.ERROR)
        (found,) = trials.disagreements(replace(made_runs.run(), observations=(seen, lost)), ("A", "C"))
        assert (found.lost, found.won, found.pairs) == (0, 0, 0)


def test_the_page_is_written_with_the_contexts_of_its_folder(tmp_path):
    sums = {text: hashlib.sha256(text.encode()).hexdigest() for text in ("The mill.", "The quay.")}
    run = made_runs.run()
    seen = tuple(replace(o, context_sha256=sums[f"The {o.document}."]) for o in run.observations)
    folder = made_runs.written(tmp_path, replace(run, observations=seen))
    contexts.write(folder, {name: text for text, name in sums.items()})
    files.write_page(folder, document.build(run), replace(run, observations=seen))
    made = Parsed((folder / "report.html").read_text(encoding="utf-8"))
    assert made.contexts["lines"] == ["The mill.", "The quay."]
    assert "are not in the run's folder" not in made.text
