"""What the documents name exists: tests, options, commands, links, and names of the package."""

import ast
import math
import re
import runpy
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import made_runs
import numpy as np
import pages as documents
import pytest
import scipy.stats
import scripted

import pytest_tokenbench
from pytest_tokenbench import options, preparation, scoring
from pytest_tokenbench.ablation.design import Parts
from pytest_tokenbench.ablation.findings import Finding, rule
from pytest_tokenbench.ablation.results import AblationResults
from pytest_tokenbench.cli import _parser
from pytest_tokenbench.conditions import Condition
from pytest_tokenbench.corpus import passages
from pytest_tokenbench.measures import MEASURES, Scope
from pytest_tokenbench.preparation import Recipe
from pytest_tokenbench.records import Attempt, Remark, Ruling, Scores
from pytest_tokenbench.reporting import items
from pytest_tokenbench.results import Figure
from pytest_tokenbench.statistics import Estimate


def named_in(file: Path) -> set[str]:
    """The tests that a file has, as pytest names them."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    owners = [("", tree), *((f"{node.name}::", node) for node in tree.body if isinstance(node, ast.ClassDef))]
    return {
        owner + node.name
        for owner, its in owners
        for node in its.body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }


@pytest.fixture(scope="module")
def pages(repository) -> list[Path]:
    return [repository / "README.md", *sorted((repository / "docs").glob("*.md"))]


@pytest.fixture(scope="module")
def page(repository):
    """The text of a page below docs/, by its name."""
    return lambda name: documents.read(repository, name)


def test_every_test_that_a_document_names_exists(repository, pages):
    named = [
        (page.name, *found)
        for page in pages
        for found in re.findall(r"\b(tests/[\w/]+\.py)::(\w+(?:::\w+)?)", page.read_text(encoding="utf-8"))
    ]
    assert len({test for page, _, test in named if page == "reliability.md"}) > 40
    missing = [
        one
        for one in named
        if one[2] != "NAME" and not ((file := repository / one[1]).is_file() and one[2] in named_in(file))
    ]
    assert not missing


def test_every_row_on_a_fault_names_a_test(repository):
    text = (repository / "docs" / "reliability.md").read_text(encoding="utf-8")
    rows = [
        line for line in text.splitlines() if line.startswith("| ") and not re.match(r"\| (---|what)", line)
    ]
    assert len(rows) > 40
    assert [row for row in rows if "::" not in row and "the same" not in row] == []


def test_every_option_that_a_document_names_exists(pages):
    parser = pytest.Parser(_ispytest=True)
    options.add(parser)
    known = {name for group in parser._groups for option in group.options for name in option.names()}
    assert "--tokenbench-resume" in known
    named = {
        (page.name, name)
        for page in pages
        for name in re.findall(r"--tokenbench-[a-z][a-z-]*[a-z]", page.read_text(encoding="utf-8"))
    }
    assert len(named) > 10
    assert [one for one in sorted(named) if one[1] not in known] == []


class Typed:
    """A configuration with what was typed and nothing else, for `options.read`."""

    def __init__(self, told, root: Path) -> None:
        self.option = told
        self.rootpath = root
        self.invocation_params = SimpleNamespace(dir=root)
        self.args = told.file_or_dir

    def getoption(self, name):
        return getattr(self.option, name)

    def getini(self, name):
        assert name.startswith("tokenbench_")


def test_every_pytest_command_of_a_document_is_understood(pages, pytestconfig, tmp_path):
    found = [
        words
        for page in pages
        for words in documents.commands(page.read_text(encoding="utf-8"))
        if words[0] == "pytest"
    ]
    assert len(found) > 25
    for _, *arguments in found:
        told, unknown = pytestconfig._parser.parse_known_and_unknown_args(arguments)
        assert not unknown, arguments
        assert options.read(Typed(told, tmp_path)).backend in {"ollama", "embedded", "openai"}


def test_every_tokenbench_command_of_a_document_is_understood(pages, capsys):
    found = [
        words
        for page in pages
        for words in documents.commands(page.read_text(encoding="utf-8"))
        if words[0] == "tokenbench"
    ]
    assert len(found) > 20
    for _, *arguments in found:
        # A shell makes several of a pattern.
        typed = [word for one in arguments for word in ([one, one] if one.endswith("/*") else [one])]
        if all(re.fullmatch("[a-z]+", word) for word in typed):
            # Where a command is only named, it is enough that there is one.
            with suppress(SystemExit):
                _parser().parse_args([*typed, "--help"])
            assert f"tokenbench {' '.join(typed)}" in capsys.readouterr().out, arguments
        else:
            assert callable(_parser().parse_args(typed).run_command), arguments


def test_every_link_of_a_document_leads_somewhere(pages, repository):
    links = [
        (page, target)
        for page in pages
        for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8"))
        if not target.startswith("https://")
    ]
    assert len(links) > 8
    # The package is the one that is imported: a checkout may come without its sources.
    package = Path(pytest_tokenbench.__file__).parent
    ends = [(page.name, (page.parent / target).resolve().relative_to(repository)) for page, target in links]
    led = [
        (name, package.joinpath(*end.parts[1:]) if end.parts[:1] == (package.name,) else repository / end)
        for name, end in ends
    ]
    assert [(name, str(end)) for name, end in led if not end.exists()] == []
    listed = {target for page, target in links if page == repository / "README.md"}
    assert {f"docs/{page.name}" for page in pages[1:]} <= listed, "README leads to every page"


def test_members_of_a_condition_and_of_a_recipe_are_those_that_are_asked_for(page):
    without, prepared = page("own-condition.md").split("## With a preparation")
    first = set(re.findall(r"^\| `(\w+)", without, re.MULTILINE)) - {"member"}
    assert first == _members(Condition)
    assert set(re.findall(r"^\| `(\w+)", prepared, re.MULTILINE)) == _members(Recipe)


def _members(protocol: type) -> set[str]:
    own = {name for name in vars(protocol) if not name.startswith("_")}
    return own | set(protocol.__annotations__)


class Outline:
    """A recipe as a reader of the page might have it."""

    name = "outline"
    prompts = ()

    def __init__(self, version: int) -> None:
        self._version = version

    def options(self):
        return {"version": self._version}

    def write(self, document, encoder):
        raise AssertionError(document, encoder)


class Rewritten(Outline):
    def write(self, document, encoder):
        return preparation.Written((encoder.generate(document.text, max_tokens=1).text,))


def test_a_preparation_is_known_by_its_options_and_not_by_its_code():
    document = scripted.document("A mill.")
    one, other, later = (
        preparation.key(recipe, document, scripted.INFO) for recipe in (Outline(1), Rewritten(1), Outline(2))
    )
    assert one == other != later


def test_measures_of_the_page_are_those_there_are(page):
    table = documents.section(page("own-hypothesis.md"), "## What can be asked")
    rows = dict(re.findall(r"^\| `([a-z0-9_]+)` \| (\w+)", table, re.MULTILINE))
    scopes = {Scope.ALL: "all", Scope.ANSWERABLE: "answerable", Scope.UNANSWERABLE: "unanswerable"}
    assert rows == {name: scopes[measure.scope] for name, measure in MEASURES.items()}


def test_binary_measures_of_the_page_are_those_that_are_counted_both_ways(page):
    text = documents.section(page("own-hypothesis.md"), "## The four verdicts")
    (told,) = re.findall(r"right\s+or\s+wrong\s+\(([^)]*)\)", text)
    assert set(re.findall(r"`(\w+)`", told)) == {
        name for name, measure in MEASURES.items() if measure.right is not None
    }
    assert set(re.findall(r"^\| (\w+) \|", text, re.MULTILINE)) - {"verdict"} == set(map(str, Ruling))
    figure = documents.section(page("own-hypothesis.md"), "## What can be asked")
    assert {name for name in re.findall(r"`\.(\w+)`", figure) if hasattr(Figure, name)} == {
        "estimate",
        "low",
        "high",
        "n",
    }


def test_properties_of_the_page_are_those_of_the_junit_file(page):
    text = documents.section(page("ci.md"), "## What the JUnit file has")
    suite, trial, hypothesis = re.split(r"^\| property of a \w+ \|.*$", text, flags=re.MULTILINE)
    record = replace(
        made_runs.record(),
        shard="1/2",
        commit="abc",
        model=replace(scripted.INFO, server_version="1"),
    )
    assert {f"tokenbench.{name}" for name in re.findall(r"`([a-z_]+)`", suite)} == {
        name for name, _ in items.suite_properties(record)
    }
    everything = scripted.observation(
        scripted.question(),
        "A",
        cached_tokens=1,
        scores=Scores(abstained=False, correct=True, made_up=False),
        remark=Remark.CUT,
        attempts=(Attempt("busy", "later", "here", 1.0),),
    )
    told = {name for name, _ in items.properties(everything, reused=True, repeats=2)}
    assert set(re.findall(r"`([a-z_]+)`", " ".join(_first_cells(trial)))) == told
    assert set(re.findall(r"`([a-z_]+)`", trial.split("| `remark` |")[1].split("\n")[0])) == set(
        map(str, Remark)
    )
    assert set(re.findall(r"`([a-z]+)`", hypothesis.split("| `ruling` |")[1].split("\n")[0])) == set(
        map(str, Ruling)
    )


def _first_cells(table: str) -> list[str]:
    return [line.split(" | ")[0] for line in table.splitlines() if line.startswith("| ")]


def test_what_the_pages_say_of_scoring_is_so(page):
    text = page("limits.md")
    assert '"Not 1804 but 1805"' in text
    assert scoring.is_correct("Not 1804 but 1805", ["1804"])
    assert '"Thirty-one metres"' in " ".join(text.split())
    assert not scoring.is_correct("Thirty-one metres", ["31 metres"])
    assert scoring.is_correct("1470", ["1,470"])
    assert not scoring.is_correct("1.470", ["1,470"])
    assert scoring.abstains("It is not stated, but 31 metres is likely.")
    assert not scoring.is_correct("It is not stated, but 31 metres is likely.", ["31 metres"])


def test_beginning_of_a_document_ends_with_a_paragraph():
    text = "One two three.\n\nFour five six.\n\nSeven."
    assert passages.cut(text, 4).strip() == "One two three.\n\nFour five six."


def chance_to_pass(lost: float, won: float, *, questions: int = 80, margin: float = 0.05) -> float:
    """How often the interval of a difference stays above -margin: simulated, with shares of pairs lost and won."""
    random = np.random.default_rng(20261130)
    draws = random.multinomial(questions, [lost, won, 1 - lost - won], size=2000)
    passed = 0
    for pairs in draws:
        again = random.multinomial(questions, pairs / questions, size=600)
        passed += np.quantile((again[:, 1] - again[:, 0]) / questions, 0.025) > -margin
    return passed / len(draws)


def test_how_often_the_second_hypothesis_passes_by_luck_is_as_told(page):
    told = " ".join(page("reading-the-report.md").split())
    assert "29% is the chance that H2 passes if D25 is truly as accurate as A" in told
    assert chance_to_pass(0.05, 0.05) == pytest.approx(0.29, abs=0.03)
    assert "would pass about 3 times in 100" in told
    assert chance_to_pass(0.075, 0.025) == pytest.approx(0.03, abs=0.015)
    assert "up to 9 in 100 where it only loses" in told
    assert chance_to_pass(0.05, 0.0) == pytest.approx(0.09, abs=0.02)


def test_what_a_hypothesis_over_blocks_may_ask_is_what_the_page_lists(page):
    table = documents.section(page("needed-context.md"), "## What a hypothesis may ask")
    own = {name for name in vars(AblationResults) if not name.startswith("_")} - {"counting"}
    assert {name for row in _first_cells(table) for name in re.findall(r"`(\w+)\(", row)} == own


def test_verdicts_and_parts_of_the_page_on_blocks_are_those_there_are(page):
    text = page("needed-context.md")
    rows = re.findall(
        r"^\| ([a-z ]+?)(?: on this set| at this n \(n=...\))? \| ",
        text.split("| verdict |")[1],
        re.MULTILINE,
    )
    assert rows[: len(Finding)] == [str(finding) for finding in Finding]
    told = documents.section(text, "## One's own study").split("**`parts`**")[1].split("- **")[0]
    assert set(re.findall(r"`(\w+)`", told)) == set(map(str, Parts))


@pytest.mark.parametrize("quick", [False, True])
def test_size_of_the_study_over_blocks_is_as_told(page, repository, quick):
    text = " ".join(page("needed-context.md").split())
    file = repository / "benchmarks" / "test_needed_context.py"
    study = runpy.run_path(str(file))["study"]
    made = study.material(lambda name: file.parent / name, quick=quick)
    arms, asked = len(made.conditions), len(made.questions)
    told = (
        f"**{'Quick' if quick else 'Whole'}**, it has {arms} arms over {asked} cases, {arms * asked:,} trials"
    )
    assert told in text


def test_how_many_cases_a_block_takes_is_as_told(page):
    told = " ".join(page("needed-context.md").split())
    assert "takes 72 cases without a single loss" in told
    assert 0.95**72 < 0.025 < 0.95**71
    assert "loses no case is removable, one that loses nine or more is needed" in told
    assert "one that loses one to eight is undecided" in told
    found = {lost: lost_of_80(lost) for lost in range(15)}
    assert {lost for lost, one in found.items() if one is Finding.REMOVABLE} == {0}
    assert {lost for lost, one in found.items() if one is Finding.UNDECIDED} == set(range(1, 9))
    assert {lost for lost, one in found.items() if one is Finding.NEEDED} == set(range(9, 15))


def lost_of_80(lost: int) -> Finding:
    """What comes out where a block's absence loses so many of 80 cases, with the interval that resampling tends to."""
    chance = lost / 80
    below = np.cumsum([math.comb(80, one) * chance**one * (1 - chance) ** (80 - one) for one in range(81)])
    low, high = (int(np.searchsorted(below, tail)) / 80 for tail in (0.025, 0.975))
    high = max(high, float(scipy.stats.beta.ppf(0.975, lost + 1, 80 - lost)))
    return rule(Estimate(chance, low, high, 80), 0.05, None, 1.0).finding


def test_oracle_never_stands_on_the_page_without_its_caveat(page):
    told = re.findall(r"^oracle fraction: \d.*(?:\n .*)*", page("needed-context.md"), re.MULTILINE)
    assert len(told) == 1
    assert "a ceiling over every selector" in " ".join(told[0].split())
    assert "not available when a prompt is served" in " ".join(told[0].split())
