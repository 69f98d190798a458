"""The page of an ablation: its parts for every kind of result, its plots in words, and the way to the lost cases."""

import html
import re
from collections import Counter
from urllib.parse import parse_qs

import chromium
import made_findings
import pytest
from parsed import Parsed

from pytest_tokenbench.reporting.html import ablation, page, sweep, verdicts

SECTIONS = ["verdicts", "needed", "conditions", "slices", "trials", "run", "doubts", "limitations"]
EVIL = "<b>x</b></script> & $y$"


def render(kind="whole", made=None):
    run = made_findings.run(quick=kind == "quick")
    return page.render(made_findings.built(kind, made), run, made_findings.TEXTS)


@pytest.fixture(scope="module", params=made_findings.KINDS)
def any_page(request):
    return Parsed(render(request.param))


@pytest.fixture(scope="module")
def whole():
    return render()


def plot(name, kind="whole", made=None):
    """One of the plots that stand with a part of what was found."""
    parts = {one.name: one for one in ablation.parts(made_findings.built(kind, made))}
    return parts[name].plots


class TestPage:
    def test_what_was_found_stands_where_other_studies_have_their_trade_off(self, any_page):
        assert [its["id"] for its in any_page.all("section")] == SECTIONS
        linked = [its["href"] for its in any_page.all("a") if its["href"][1:] in SECTIONS]
        assert linked == ["#verdicts", *(f"#{name}" for name in SECTIONS)]

    def test_it_shows_no_value_that_is_none_or_no_number(self, any_page):
        shown = [any_page.text, *(value or "" for _, its in any_page.elements for value in its.values())]
        assert not re.search(r"\b(None|NaN|nan|inf|Infinity|undefined|null)\b", "\n".join(shown))

    def test_every_plot_has_a_text_or_a_sentence_says_why_it_is_not_there(self, any_page):
        drawn = any_page.all("svg")
        ids = {its["id"] for _, its in any_page.elements if "id" in its}
        assert all(its["role"] == "img" and set(its["aria-labelledby"].split()) <= ids for its in drawn)
        told = ("composed arm: ", "selector: no retrieval score was swept", "Not drawn: ")
        # The bar, the drops, the composed arm, the selector.
        assert len(drawn) + sum(any_page.text.count(one) for one in told) >= 4

    def test_ids_are_unique_and_nothing_is_asked_from_outside(self, any_page):
        ids = Counter(its["id"] for _, its in any_page.elements if "id" in its)
        assert [name for name, count in ids.items() if count > 1] == []
        for _, its in any_page.elements:
            asked = [its.get(name, "") for name in ("src", "href", "xlink:href", "action", "srcset", "data")]
            assert all(re.match(r"(#|data:,|$)", address) for address in asked)

    def test_what_plots_refer_to_is_there_and_they_have_no_colour_of_their_own(self, whole):
        named = set(re.findall(r'\bid="([^"]+)"', whole))
        assert set(re.findall(r"url\(#([^)]+)\)", whole)) <= named
        assert set(re.findall(r'xlink:href="#([^"]+)"', whole)) <= named
        assert re.findall(r"#[0-9a-f]{6}\b", "".join(re.findall(r"<svg.*?</svg>", whole, re.DOTALL))) == []

    def test_the_same_run_gives_the_same_bytes(self, whole):
        assert render() == whole

    def test_cases_are_counted(self, whole):
        assert "80 cases and 20 of the stress slice, cold order" in Parsed(whole).text

    def test_the_oracle_has_its_caveat_beside_it(self, whole):
        assert re.search(
            r"oracle fraction: 31\.4% .{0,60}" + re.escape(made_findings.NOTE), Parsed(whole).text
        )

    def test_a_case_is_not_listed_as_its_own_document(self, whole):
        assert "document" not in [its.get("name") for its in Parsed(whole).all("select")]

    def test_slices_show_the_arms_that_leave_out_a_block_and_no_other(self, whole):
        names = re.findall(
            r"<dt>([^<]*)</dt>", whole[whole.index('id="slices"') : whole.index('id="trials"')]
        )
        assert set(names) == {"base", "composed", *(f"no-{one['name']}" for one in made_findings.BLOCKS)}

    def test_an_arm_that_was_not_asked_has_no_line_of_figures_and_no_pairs(self, whole):
        section = whole.split('<section id="conditions">')[1].split("</section>")[0]
        assert "<b>passages-to-1</b>" in section
        assert "examples-1" not in section
        assert "made that needless: examples-1" in whole

    def test_limits_are_those_of_a_set_of_cases(self, whole):
        text = Parsed(whole).text
        assert "What is removable on this set may be needed for what the set does not ask" in text
        assert "Questions on one document are not independent" not in text
        assert "Each trial was run once" not in text
        assert "Each trial was run once" in Parsed(render("quick")).text

    def test_a_quick_look_and_a_refused_threshold_are_told_at_its_head(self):
        for kind, told in (
            ("quick", "QUICK look: few cases"),
            ("refused", "refused: the threshold of 5.0 points"),
        ):
            text = Parsed(render(kind)).text
            assert text.index(told) < text.index("What was asked, and the verdicts")

    def test_names_from_outside_are_text(self):
        blocks = [one | {"name": f"{EVIL}{number}"} for number, one in enumerate(made_findings.BLOCKS)]
        composed = made_findings.COMPOSED | {
            "left_out": [EVIL],
            "pairs": [made_findings.COMPOSED["pairs"][0] | {"blocks": [EVIL, EVIL], "lost": [EVIL]}],
            "lost": [{"case": EVIL, "slices": {EVIL: EVIL}}],
        }
        found = made_findings.FOUND | {"blocks": blocks, "composed": composed, "notes": [EVIL]}
        made = Parsed(render(made=found))
        usual = Parsed(render())
        # Those of the page's own have a place in a drawing or name an arm.
        assert made.all("b").count({}) == usual.all("b").count({})
        assert len(made.all("script")) == len(usual.all("script"))
        assert made.text.count(EVIL) >= 20


class TestVerdicts:
    @pytest.mark.parametrize(
        ("measure", "told"),
        [
            ("drop under no-tail on the stress cases", "+10.0 [+3.8, +17.5] points, n = 80"),
            ("shortfall of the composed arm", "+10.0 [+3.8, +17.5] points, n = 80"),
            ("oracle fraction, a ceiling that is not available at serve time", "10.0% [3.8%, 17.5%], n = 80"),
            ("share of the oracle's saving recovered by select-8", "10.0% [3.8%, 17.5%], n = 80"),
            ("points per 1,000 tokens of tail", "0.1 [0.0375, 0.175], n = 80"),
        ],
    )
    def test_what_a_hypothesis_asked_is_told_in_its_unit(self, measure, told):
        item = made_findings.figure(0.1, 0.0375, 0.175) | {"measure": measure, "bounds": []}
        entry = {"hypothesis": "H1", "statement": "", "ruling": "passed", "reason": "", "evidence": [item]}
        (card,) = verdicts.cards({"hypotheses": [entry]})
        assert [number.value for number in card.numbers] == [told]


class TestBar:
    def test_each_block_has_its_tokens_and_its_verdict_in_words(self):
        bar, _ = plot("blocks")
        for told in (
            "system: 900 tokens, 6%, undecided at this n (n=1,240)",
            "policy: 300 tokens, 2%, removable on this set",
            "passages: 9,800 tokens, 70%, needed",
        ):
            # In the drawing, and for those who cannot see it.
            assert bar.svg.count(told) == 2

    def test_blocks_are_as_long_as_their_tokens(self):
        blocks = [
            made_findings.block("a", 100, made_findings.figure(0.2, 0.1, 0.3), "needed"),
            made_findings.block("b", 300, made_findings.figure(0.2, 0.1, 0.3), "needed"),
        ]
        svg = ablation.bar({"blocks": blocks, "threshold": 0.05}).svg
        boxes = re.findall(
            r'd="M ([\d.]+) [\d.]+ \nL ([\d.]+) [^"]*z\n"[^>]*style="fill: var\(--series-0\)', svg
        )
        spans = [(float(left), float(right)) for left, right in boxes]
        long = [right - left for left, right in spans]
        assert len(spans) == 4  # each in the bar and below it
        assert long[2] == pytest.approx(3 * long[0], rel=1e-3)
        assert spans[2][0] == pytest.approx(spans[0][1], abs=0.01)

    def test_verdicts_differ_in_more_than_their_colour(self):
        def face(verdict):
            made = made_findings.block("a", 100, made_findings.figure(0.2, 0.1, 0.3), verdict)
            svg = ablation.bar({"blocks": [made], "threshold": 0.05}).svg
            style = re.search(r"z\n\"[^>]*style=\"([^\"]*)\"", svg)[1]
            hollow = "fill: var(--page)" in style
            return hollow, "opacity" in style, "dasharray" in style

        faces = {
            verdict: face(verdict)
            for verdict in ("needed", "undecided", "removable", "refused", "not measured")
        }
        assert len(set(faces.values())) == 4
        assert faces["refused"] == faces["not measured"]

    def test_a_block_of_unknown_size_is_named(self):
        unknown = made_findings.BLOCKS[0] | {"tokens": {"unavailable": "no counts"}, "share": None}
        found = made_findings.FOUND | {"blocks": [unknown, *made_findings.BLOCKS[1:]]}
        bar, _ = plot("blocks", made=found)
        assert bar.note == "Not in the plot, since their tokens are not known: system."


class TestDrops:
    def test_the_threshold_is_drawn_and_told(self):
        _, drops = plot("blocks")
        assert ">threshold 5.0</text>" in drops.svg
        assert "The threshold is 5.0 points." in drops.svg

    def test_stress_and_reweighted_drops_stand_beside_the_main_one(self):
        def markers(kind):
            _, drops = plot("blocks", kind)
            # A marker is drawn once and used wherever it stands.
            return len(re.findall(r"<use ", drops.svg))

        blocks = len(made_findings.BLOCKS)
        assert markers("whole") - markers("no stress") == blocks
        assert markers("whole") - markers("no production") == blocks

    def test_a_block_that_was_not_measured_is_named(self):
        unknown = made_findings.BLOCKS[0] | {
            "drop": {"unavailable": "none was run"},
            "verdict": "not measured",
        }
        found = made_findings.FOUND | {"blocks": [unknown, *made_findings.BLOCKS[1:]]}
        _, drops = plot("blocks", made=found)
        assert drops.note == "Not in the plot, since not measured: system."

    def test_where_nothing_was_measured_the_reason_stands_there(self):
        for one in plot("blocks", "nothing measured"):
            assert one.svg is None
        _, drops = plot("blocks", "nothing measured")
        assert drops.note == "Not drawn: drop in points without each block, since no trial of base was run."

    def test_units_and_ranks_have_plots_of_their_own(self):
        (units,) = plot("units-examples")
        (ranks,) = plot("ranks-passages")
        assert "examples/2: \N{MINUS SIGN}1.2 [\N{MINUS SIGN}3.8, 0.0]" in units.svg
        assert "to 1: 17.5 [10.0, 26.2]" in ranks.svg


class TestComposed:
    def test_what_was_measured_stands_beside_what_was_predicted(self):
        (composed,) = plot("composed")
        assert (
            "sum of single drops: 0.0; measured: 10.0 [3.8, 17.5]; with production's shares: 13.0 [6.0, 21.0]; "
            "shortfall: 10.0 [3.8, 17.5]"
        ) in html.unescape(str(composed.svg))
        (unweighed,) = plot("composed", "no production")
        assert "production" not in unweighed.svg

    def test_without_one_the_reason_stands_there(self):
        (composed,) = plot("composed", "composed unavailable")
        assert composed.svg is None
        assert composed.note == "Not drawn: composed was not asked: nothing came out removable."

    def test_each_lost_case_has_a_way_to_its_two_trials(self):
        composed, pair, within = ablation.lost(made_findings.built())
        assert [case for case, *_ in composed.cases] == ["s003", "s004"]
        case, slices, address = pair.cases[0]
        assert (pair.what, case, slices) == (
            "policy and examples",
            "s003",
            "turn single_turn; rule redundant",
        )
        assert within.what == "within passages"
        section, _, query = address.partition("?")
        assert section == "#trials"
        assert parse_qs(query) == {
            "condition": ["pair-policy-examples"],
            "outcome": ["wrong"],
            "versus": ["base"],
            "versus-outcome": ["correct"],
            "open": ["pair-policy-examples-s003"],
        }

    def test_parts_that_are_all_that_was_left_out_lead_to_the_composed_arm_s_trials(self):
        its = made_findings.COMPOSED
        both = {key: [its[key][0] | {"arm": "composed"}] for key in ("pairs", "within")}
        found = ablation.lost(made_findings.built(made=made_findings.FOUND | {"composed": its | both}))
        asked = [parse_qs(one.cases[0][2].partition("?")[2])["condition"] for one in found]
        assert asked == [["composed"]] * 3

    def test_nothing_lost_lists_nothing(self):
        assert 'href="#lost"' not in render("nothing lost")
        assert ablation.lost(made_findings.built("nothing lost")) == []
        assert ablation.lost(made_findings.built("composed unavailable")) == []


class TestSelector:
    def test_each_score_is_told_with_what_it_saves_and_loses_under_the_ceiling(self):
        (selector,) = plot("selector")
        assert (
            "score 6 or more: 62.0% [57.0, 67.0] of the oracle&#39;s saving, 2.5 [-1.5, 6.5] points lost"
            in selector.svg
        )
        assert "The ceiling is 100%, all that the oracle saves." in selector.svg
        assert ">oracle</text>" in selector.svg

    def test_no_point_stands_beyond_the_ceiling(self):
        made = made_findings.FOUND | {
            "selector": [
                one | {"recovered": made_findings.figure(1.0, 1.0, 1.0)} for one in made_findings.SELECTOR
            ]
        }
        svg = sweep.plot(made).svg
        points = {
            float(x)
            for x in re.findall(r'<use [^>]*x="([\d.]+)" y="[\d.]+" style="fill: var\(--accent\)"', svg)
        }
        ceiling = re.findall(
            r'd="M ([\d.]+) [\d.]+ \nL \1 [\d.]+ \n" clip-path[^>]*style="[^"]*stroke: var\(--ink\)', svg
        )
        assert points == {float(x) for x in ceiling}

    def test_a_score_that_was_not_measured_is_named(self):
        first, *rest = made_findings.SELECTOR
        made = made_findings.FOUND | {"selector": [first | {"drop": {"unavailable": "not run"}}, *rest]}
        assert sweep.plot(made).note == "Not in the plot, since not measured: score 2."

    @pytest.mark.parametrize(
        ("kind", "why"),
        [("quick", "no retrieval score was swept"), ("nothing measured", "no trial of base was run")],
    )
    def test_without_any_the_reason_stands_there(self, kind, why):
        (selector,) = plot("selector", kind)
        assert selector.svg is None
        assert selector.note.startswith("Not drawn: ")
        assert why in selector.note


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    found = chromium.Chromium(tmp_path_factory.mktemp("profile"))
    yield found
    found.close()


@pytest.fixture(scope="module")
def address(tmp_path_factory, whole):
    file = tmp_path_factory.mktemp("page") / "report.html"
    file.write_text(whole, encoding="utf-8")
    return file.as_uri()


@pytest.fixture
def shown(browser, address):
    """The page, which must neither complain nor ask for anything but itself."""
    made = browser.page()
    made.open(address)
    yield made
    assert made.told("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded") == []
    asked = {one["request"]["url"].partition("#")[0] for one in made.told("Network.requestWillBeSent")}
    assert asked <= {address, "about:blank", "data:,"}


class TestInABrowser:
    def test_a_lost_case_opens_beside_the_base_with_one_click(self, shown):
        shown.run("document.querySelector('.lost-cases a').click()")
        shown.run(
            "new Promise((done) => { const look = () => document.querySelector('.opened:not([hidden]) .side')"
            " ? done() : setTimeout(look, 5); look(); })"
        )
        sides = shown.run("[...document.querySelectorAll('.side h4')].map((one) => one.textContent)")
        assert sides == ["composed wrong", "base right"]
        ids = shown.run("[...document.querySelectorAll('.row .id')].map((one) => one.textContent)")
        assert ids == ["s003", "s004"]

    def test_a_trial_that_was_not_needed_says_why(self, shown, address):
        shown.open(f"{address}#trials?condition=examples-1&outcome=not_needed")
        rows = shown.run("[...document.querySelectorAll('.row')].map((one) => one.innerText)")
        assert len(rows) == len(made_findings.CASES)
        assert all(made_findings.NEEDLESS in row and "not needed" in row for row in rows)

    def test_nothing_is_wider_than_a_phone(self, shown, address):
        shown.resize(360, 740)
        shown.open(address)
        assert shown.run("document.documentElement.scrollWidth") == 360

    def test_no_table_of_what_is_needed_is_cut_off_in_a_small_window(self, shown, address):
        shown.resize(1000, 800)
        shown.open(address)
        wide = "[...document.querySelectorAll('#needed .scroll')].filter((one) => one.scrollWidth > one.clientWidth)"
        assert shown.run("document.querySelectorAll('#needed .scroll').length") > 0
        assert shown.run(f"{wide}.map((one) => one.ariaLabel)") == []

    def test_the_needed_fraction_leads_to_the_cases_that_were_lost(self, shown):
        link = "document.querySelector('.fraction a')"
        assert "needed fraction" in shown.run(f"{link}.parentElement.innerText")
        shown.run(f"{link}.click()")
        assert shown.run("document.querySelector(':target').matches('details[open].lost-cases')")

    def test_verdicts_have_other_colours_in_the_dark(self, shown):
        colours = []
        for scheme in ("light", "dark"):
            shown.resize(1280, 900, scheme)
            colours.append(
                shown.run("getComputedStyle(document.querySelector('.swatch.needed')).backgroundColor")
            )
        assert len(set(colours)) == 2

    def test_the_lost_cases_are_on_paper(self, shown):
        shown.call("Emulation.setEmulatedMedia", media="print")
        assert shown.run("document.querySelector('.lost-cases a').checkVisibility()")
        assert shown.run("document.querySelector('#needed svg.plot').checkVisibility()")

    def test_a_table_with_words_sorts_by_its_numbers(self, shown):
        names = "[...document.querySelector('#needed table').tBodies[0].rows].map((row) => row.cells[0].textContent)"
        shown.run("document.querySelectorAll('#needed table thead button')[1].click()")
        assert shown.run(names)[0] == "policy"
        assert shown.run(names)[-1] == "passages"
