"""What the page on enforcement says is tested: by the tests and parts of the testbed it names.

The names stand in comments at the end of a line, which only its source shows.
"""

from __future__ import annotations

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


def test_few_statements_are_untested() -> None:
    found = [mark for mark in marks() if mark.startswith(UNTESTED)]

    assert len(found) <= 3
