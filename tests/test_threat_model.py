"""The threat model names tests that exist, and no protection without one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.test_invariants import source_of

ROOT = Path(__file__).resolve().parents[1]
TABLE = (ROOT / "docs/threat-model.md").read_text().partition("## What holds, and by what")[2]
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in TABLE.splitlines()
    if line.startswith("| ") and not line.startswith("| Threat")
]
TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_protection_names_tests_that_exist(row: list[str]) -> None:
    _, protection, tests = row

    named = TEST.findall(tests)
    assert protection
    assert named
    assert [one for one in named if source_of(*one) is None] == []


def test_table_is_read() -> None:
    assert len(ROWS) > 12
