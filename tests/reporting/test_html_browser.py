"""report.html in a headless Chromium: what a reader clicks, types and shares, and that nothing leaves the page."""

import base64
import hashlib
import io
import json
from dataclasses import replace

import chromium
import made_runs
import numpy as np
import pypdf
import pytest
from matplotlib.image import imread

from pytest_tokenbench.records import Outcome, Question, Scores
from pytest_tokenbench.reporting import document
from pytest_tokenbench.reporting.html import page as html

OWNED = "<script>document.title = 'owned'</script><img src=x onerror=\"document.title='owned'\">"
# 40 questions under A and C: 80 trials, more than are listed at once. C is wrong on every fifth, A on q07 alone.
QUESTIONS = tuple(
    Question(
        f"q{n:02}",
        "mill" if n < 20 else "quay",
        f"What is number {n}?",
        (f"answer {n}",),
        answerable=True,
        slices={"kind": "even: 2" if n % 2 == 0 else "odd"},
    )
    for n in range(40)
)
CONTEXT = {
    "A": "The whole of it: answer 5 and <b>more</b>.",
    "C": "A summary.\n\nWith <script>alert(1)</script>.",
}


def is_right(condition, number):
    return number % 5 != 0 if condition == "C" else number != 7


def trial(number, condition):
    right = is_right(condition, number)
    seen = made_runs.observation(QUESTIONS[number], condition, 1000 if condition == "A" else 100)
    return replace(
        seen,
        outcome=Outcome.CORRECT if right else Outcome.WRONG,
        answer=f"answer {number}" if right else OWNED,
        scores=Scores(
            abstained=False, correct=right, f1=float(right), squad_f1=float(right), exact_match=right
        ),
        context_sha256=hashlib.sha256(CONTEXT[condition].encode()).hexdigest(),
        units=("whole",) if condition == "A" else ("part-1", "part-2"),
    )


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """The address of the page of the run."""
    made = made_runs.run(made_runs.BY_HAND)
    run = replace(
        made,
        record=replace(made.record, questions=QUESTIONS),
        observations=tuple(trial(number, condition) for number in range(40) for condition in ("A", "C")),
    )
    texts = {hashlib.sha256(text.encode()).hexdigest(): text for text in CONTEXT.values()}
    file = tmp_path_factory.mktemp("page") / "report.html"
    file.write_text(html.render(document.build(run), run, texts), encoding="utf-8")
    return file.as_uri()


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    found = chromium.Chromium(tmp_path_factory.mktemp("profile"))
    yield found
    found.close()


@pytest.fixture
def page(browser, report):
    """The report in a page of its own, which must neither complain nor ask for anything but itself."""
    shown = browser.page()
    shown.open(report)
    yield shown
    assert shown.told("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded") == []
    asked = {one["request"]["url"].partition("#")[0] for one in shown.told("Network.requestWillBeSent")}
    assert asked <= {report, "about:blank", "data:,"}
    assert shown.run("document.title") == "made: reader:1b"


def listed(page):
    """What is in the list: condition and question of each row."""
    return page.run(
        "[...document.querySelectorAll('.row')].map((row) => "
        "row.querySelector('.name').textContent + ' ' + row.querySelector('.id').textContent)"
    )


def choose(page, name, value):
    """As a reader does in the form."""
    page.run(
        f"(() => {{ const control = document.querySelector('[name={json.dumps(name)}]'); "
        f"control.value = {json.dumps(value)}; "
        "control.dispatchEvent(new Event('input', { bubbles: true })); })()"
    )


def opened(page):
    """The text of every opened trial, when its context is there."""
    page.run(
        "new Promise((done) => { const look = () => [...document.querySelectorAll('.opened:not([hidden])')]"
        ".every((one) => one.querySelector('.side')) ? done() : setTimeout(look, 5); look(); })"
    )
    return page.run("[...document.querySelectorAll('.opened:not([hidden])')].map((one) => one.innerText)")


def click(page, selector):
    page.run(f"document.querySelector({json.dumps(selector)}).click()")


def link_named(page, text):
    return page.run(
        f"[...document.links].find((link) => link.textContent.startsWith({json.dumps(text)})).href"
    )


class TestFilters:
    def test_all_trials_are_listed_a_page_at_a_time(self, page):
        assert page.run("document.querySelector('.found').textContent") == "80 of 80 trials"
        assert len(listed(page)) == 50
        click(page, ".more")
        assert len(listed(page)) == 80
        assert not page.run("document.querySelector('.more').checkVisibility()")

    def test_condition_outcome_document_and_slice_narrow_the_list(self, page):
        choose(page, "condition", "C")
        choose(page, "outcome", "wrong")
        assert listed(page) == [f"C q{n:02}" for n in range(0, 40, 5)]
        choose(page, "document", "quay")
        assert listed(page) == ["C q20", "C q25", "C q30", "C q35"]
        choose(page, "slice", "kind: even: 2")
        assert listed(page) == ["C q20", "C q30"]
        assert page.run("document.querySelector('.found').textContent") == "2 of 80 trials"

    def test_search_finds_questions_golds_and_answers(self, page):
        choose(page, "q", "NUMBER 13?")
        assert listed(page) == ["A q13", "C q13"]
        choose(page, "q", "document.title")
        assert len(listed(page)) == 9

    def test_nothing_found_is_told(self, page):
        choose(page, "q", "no such thing")
        assert page.run("document.querySelector('.found').textContent") == "No trial fits these filters."

    def test_clear_shows_everything_again(self, page):
        choose(page, "condition", "C")
        click(page, "[type=reset]")
        page.run("new Promise((done) => setTimeout(done))")
        assert page.run("document.querySelector('.found').textContent") == "80 of 80 trials"

    def test_where_one_is_right_and_the_other_wrong_is_one_click(self, page):
        page.run(
            "[...document.links].find((link) => link.textContent.startsWith('A right, C wrong')).click()"
        )
        page.run("new Promise((done) => setTimeout(done))")
        assert listed(page) == [f"C q{n:02}" for n in range(0, 40, 5)]
        assert page.run("document.querySelector('.row .beside').textContent") == "A: answer 0"

    def test_the_other_way_round_too(self, page):
        page.open(link_named(page, "A wrong, C right"))
        assert listed(page) == ["C q07"]

    def test_a_click_on_the_link_again_shows_its_list_again(self, page):
        link = "[...document.links].find((link) => link.textContent.startsWith('A wrong, C right'))"
        page.run(f"{link}.click()")
        page.run("new Promise((done) => setTimeout(done))")
        page.run("scrollTo(0, 0)")
        page.run(f"{link}.click()")
        assert page.run("scrollY") > 0


class TestLinks:
    def test_the_filter_is_in_the_address_and_comes_back_from_it(self, page):
        choose(page, "condition", "C")
        choose(page, "slice", "kind: even: 2")
        address, before = page.run("location.href"), listed(page)
        assert len(before) == 20
        page.open(address)
        assert listed(page) == before

    def test_a_shared_link_opens_its_trial_however_far_down(self, page, report):
        page.open(f"{report}#trials?open=C-q39")
        (text,) = opened(page)
        assert "What is number 39?" in text
        assert page.run("document.activeElement.querySelector('.id').textContent") == "q39"
        assert page.run("document.activeElement.getBoundingClientRect().top < innerHeight")

    def test_the_link_in_an_opened_trial_leads_to_it(self, page):
        choose(page, "q", "number 12?")
        click(page, ".row")
        page.open(page.run("document.querySelector('.opened a').href"))
        (text,) = opened(page)
        assert "What is number 12?" in text

    def test_a_link_that_fits_nothing_is_harmless(self, page, report):
        page.open(f"{report}#trials?condition=Z&open=Z-q99&outcome=%3Cb%3E")
        assert len(listed(page)) == 50
        assert opened(page) == []


class TestOpenedTrial:
    def test_it_has_question_gold_answer_context_units_and_tokens(self, page, report):
        page.open(f"{report}#trials?open=A-q05")
        (text,) = opened(page)
        for told in (
            "What is number 5?",
            "Gold: answer 5",
            "1,000 in (cached not told), 5 out",
            "whole",
            "kind odd",
        ):
            assert told in text
        assert page.run("document.querySelector('.context').textContent") == CONTEXT["A"]
        assert page.run("document.querySelector('.context mark').textContent") == "answer 5"

    def test_two_conditions_stand_side_by_side(self, page, report):
        page.open(f"{report}#trials?condition=C&versus=A&open=C-q05")
        assert len(opened(page)) == 1
        contexts = page.run("[...document.querySelectorAll('.context')].map((one) => one.textContent)")
        assert contexts == [CONTEXT["C"], CONTEXT["A"]]
        lefts = page.run(
            "[...document.querySelectorAll('.side')].map((one) => one.getBoundingClientRect().left)"
        )
        assert lefts[0] < lefts[1]

    def test_markup_in_an_answer_stays_text(self, page, report):
        page.open(f"{report}#trials?condition=C&outcome=wrong&open=C-q00")
        assert len(opened(page)) == 1
        assert page.run("document.querySelector('blockquote').textContent") == OWNED
        assert page.run("document.querySelectorAll('main img, main script').length") == 0

    def test_it_opens_and_closes_by_keyboard(self, page):
        page.run("document.querySelector('.row').focus()")
        page.press("Enter")
        assert len(opened(page)) == 1
        assert page.run("document.activeElement.getAttribute('aria-expanded')") == "true"
        page.press("Enter")
        assert opened(page) == []
        page.press("Tab")
        assert page.run("document.activeElement.querySelector('.name').textContent") == "C"

    def test_focus_is_seen(self, page):
        page.press("Tab")
        assert page.run("document.activeElement.className") == "skip"
        page.press("Tab")
        assert page.run("getComputedStyle(document.activeElement).outlineStyle") == "solid"


class TestTable:
    def test_a_heading_sorts_by_its_numbers_and_says_so(self, page):
        order = "[...document.querySelector('table.sortable').tBodies[0].rows].map((row) => row.cells[0].textContent)"
        heading = "[...document.querySelectorAll('table.sortable th')].find((one) => one.innerText.startsWith('tokens/q'))"
        page.run(f"{heading}.querySelector('button').click()")
        assert page.run(order) == ["C", "A"]
        assert page.run(f"{heading}.getAttribute('aria-sort')") == "ascending"
        page.run(f"{heading}.querySelector('button').click()")
        assert page.run(order) == ["A", "C"]
        assert page.run(f"{heading}.getAttribute('aria-sort')") == "descending"


class TestLook:
    @pytest.mark.parametrize("fragment", ["", "#trials?condition=C&versus=A&open=C-q05"])
    def test_nothing_is_wider_than_a_phone(self, page, report, fragment):
        page.resize(360, 740)
        page.open(report + fragment)
        assert len(opened(page)) == (1 if fragment else 0)
        assert page.run("document.documentElement.scrollWidth") == 360

    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_a_table_that_is_cut_has_a_shadow_where_it_goes_on(self, page, scheme):
        page.resize(390, 844, scheme)
        table = "document.querySelector('#conditions .scroll')"
        assert page.run(f"{table}.scrollWidth > {table}.clientWidth + 20")
        edges = {}
        for end in (0, 9_999):
            page.run(f"{table}.scrollLeft = {end}")
            left, top, width, height = page.run(
                f"(({{left, top, width, height}}) => [left + scrollX, top + scrollY, width, height])({table}.getBoundingClientRect())"
            )
            clip = {"x": left, "y": top, "width": width, "height": height, "scale": 1}
            told = page.call("Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True)
            pixels = imread(io.BytesIO(base64.b64decode(told["data"])), format="png")[:, :, :3]
            # Text and lines are on few of a column's pixels; the ground is that of a gap between columns.
            edges[end] = [float(np.median(pixels[:, at], axis=0).sum()) for at in (0, -1)]
        assert edges[0][0] == edges[9_999][1]
        assert abs(edges[0][1] - edges[0][0]) > 0.3, "on the right, at first"
        assert abs(edges[9_999][0] - edges[9_999][1]) > 0.3, "on the left, at the end"

    def test_a_long_caption_wraps_where_its_table_scrolls(self, page):
        page.resize(390, 844)
        page.run("document.querySelectorAll('.scroll').forEach((one) => { one.scrollLeft = 9999; })")
        ends = page.run(
            "[...document.querySelectorAll('.scroll caption span')].map((one) => "
            "(({left, right}) => [left, right])(one.getBoundingClientRect()))"
        )
        assert len(ends) > 2
        assert all(left > 15 and right < 390 - 15 for left, right in ends)

    def test_dark_is_dark_and_light_is_light(self, page):
        shades = {}
        for scheme in ("light", "dark"):
            page.resize(1280, 900, scheme)
            shades[scheme] = page.run(
                "['backgroundColor', 'color'].map((name) => "
                "getComputedStyle(document.body)[name].match(/\\d+/g).reduce((sum, one) => sum + Number(one), 0))"
            )
        ground, text = zip(shades["light"], shades["dark"], strict=True)
        assert min(ground[0], text[1]) > 600
        assert max(ground[1], text[0]) < 200

    def test_plots_have_the_colours_of_the_page(self, page):
        colours = []
        for scheme in ("light", "dark"):
            page.resize(1280, 900, scheme)
            colours.append(page.run("getComputedStyle(document.querySelector('svg.plot text')).fill"))
        assert len(set(colours)) == 2

    def test_on_paper_the_trials_are_folded_away(self, page):
        page.call("Emulation.setEmulatedMedia", media="print")
        assert not page.run("document.querySelector('.trials').checkVisibility()")
        assert page.run("document.querySelector('.printed').checkVisibility()")
        assert page.run("document.querySelector('svg.plot').checkVisibility()")

    @pytest.mark.parametrize("rows", [0, 120])
    def test_on_paper_no_row_of_a_table_is_on_a_page_without_its_heading(self, page, rows):
        body = "document.querySelector('#conditions tbody')"
        page.run(
            f"for (let n = 0; n < {rows}; n++) {{ const row = {body}.rows[1].cloneNode(true); {body}.append(row); }}"
            f"[...{body}.rows].forEach((row) => {{ row.cells[0].textContent = 'ROW'; }})"
        )
        for room in range(0, 900, 150):
            page.run(f"document.getElementById('conditions').style.paddingTop = '{room}px'")
            told = page.call("Page.printToPDF", paperWidth=8.27, paperHeight=11.69)
            paper = pypdf.PdfReader(io.BytesIO(base64.b64decode(told["data"])))
            texts = [one.extract_text() for one in paper.pages]
            with_rows = [text for text in texts if "ROW" in text]
            assert sum(text.count("ROW") for text in with_rows) == rows + 2
            assert all("tokens/q" in text for text in with_rows), room


def test_without_a_chromium_it_is_said_how_to_get_one(tmp_path, monkeypatch):
    monkeypatch.delenv("CHROMIUM", raising=False)
    monkeypatch.setattr(chromium.shutil, "which", lambda _: None)
    with pytest.raises(AssertionError, match="apt-get install -y chromium"):
        chromium.Chromium(tmp_path)
