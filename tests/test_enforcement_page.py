"""What the page on enforcement says is tested: by the tests and parts of the testbed it names.

The names stand in comments at the end of a line, which only its source shows.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from bench.testbed.__main__ import PARTS
from tests.test_invariants import source_of

ROOT = Path(__file__).resolve().parents[1]
MARK = re.compile(r"<!-- (.+) -->(?: \|)?$")
UNTESTED = "untested: "


def statements() -> list[str]:
    """Its list items and the rows of its tables."""
    lines = (ROOT / "docs/enforcement.md").read_text().splitlines()
    # Below the words of a table's head stands a line of dashes.
    heads = {number - 1 for number, line in enumerate(lines) if line.startswith("|---")}
    return [
        line
        for number, line in enumerate(lines)
        if re.match(r"\* |\| ", line) and number not in heads
    ]


def marks() -> list[str]:
    page = (ROOT / "docs/enforcement.md").read_text()
    return [mark[1] for line in page.splitlines() if (mark := MARK.search(line))]


@pytest.mark.parametrize("line", statements(), ids=lambda line: line[:60])
def test_statement_names_its_test_or_says_why_it_has_none(line: str) -> None:
    assert MARK.search(line)


@pytest.mark.parametrize("mark", sorted(set(marks())))
def test_named_tests_and_parts_of_the_testbed_exist(mark: str) -> None:
    if mark.startswith(UNTESTED):
        assert mark != UNTESTED
        return
    for name in mark.split(", "):
        if name.startswith("bench "):
            assert name.removeprefix("bench ") in PARTS
        else:
            path, _, function = name.partition("::")
            assert source_of(f"tests/{path}", function) is not None, name


def test_each_of_the_seven_harms_shows_the_tests_that_it_names() -> None:
    page = (ROOT / "docs/enforcement.md").read_text()
    section = page.partition("## What harmed")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (\d) \| .+ \| (.+) <!-- (.+) --> \|$", section, re.MULTILINE)

    assert [number for number, _, _ in rows] == list("1234567")
    for _, shown, named in rows:
        functions = {name.partition("::")[2] for name in named.split(", ") if "::" in name}
        assert set(re.findall(r"`(test_\w+)`", shown)) == functions


def test_page_says_which_of_its_tests_are_long() -> None:
    page = (ROOT / "docs/enforcement.md").read_text()
    said = next(line for line in page.splitlines() if line.startswith("`make test-kernels`"))
    names = {name for mark in marks() for name in mark.split(", ") if "::" in name}
    long = {Path(name.partition("::")[0]).name for name in names if is_long(name)}

    assert set(re.findall(r"`(test_\w+\.py)`", said)) == long


def is_long(name: str) -> bool:
    """Whether the test, or all of its file, is marked as long."""
    path, _, function = name.partition("::")
    body = ast.parse((ROOT / "tests" / path).read_text()).body
    own = next(node for node in body if getattr(node, "name", None) == function)
    marked = [
        ast.unparse(node.value)
        for node in body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark"
    ]
    marked += [ast.unparse(one) for one in getattr(own, "decorator_list", [])]
    return any(re.search(r"pytest\.mark\.long\b", one) for one in marked)


def test_few_statements_are_untested() -> None:
    found = [mark for mark in marks() if mark.startswith(UNTESTED)]

    assert len(found) <= 3
