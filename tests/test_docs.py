"""What the documents name exists."""

import ast
import re
from pathlib import Path

import pytest

from pytest_tokenbench import options


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
