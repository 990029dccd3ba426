"""The table of invariants tells the truth: functions, assertions and tests are where it says."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PLACE = re.compile(r"`([\w/]+\.py)::([\w.]+)`(?: \(`([^`]+)`\))?")
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in (ROOT / "docs" / "invariants.md").read_text().splitlines()
    if line.startswith("| ") and not line.startswith("| Name")
]


def source_of(path: str, qualified_name: str) -> str | None:
    """The source of a function or method; None if the file has none of this name."""
    text = (ROOT / path).read_text()
    body: list[ast.stmt] = ast.parse(text).body
    found: ast.stmt | None = None
    for name in qualified_name.split("."):
        found = next((node for node in body if getattr(node, "name", None) == name), None)
        body = getattr(found, "body", [])
    return ast.get_source_segment(text, found) if found else None


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_invariant_is_asserted_where_it_is_written_and_read(row: list[str]) -> None:
    name, _, written, read, _ = row

    for cell in (written, read):
        places = PLACE.findall(cell)
        assert places, f"{name}: no place is named"
        for path, function, assertion in places:
            source = source_of(path, function)
            assert source is not None, f"{path} has no {function}"
            assert assertion in source, f"{path}::{function} does not contain {assertion!r}"


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_invariant_names_a_test_that_exists(row: list[str]) -> None:
    tests = PLACE.findall(row[-1])

    assert tests
    for path, function, _ in tests:
        assert path.startswith("tests/")
        assert source_of(path, function) is not None, f"{path} has no {function}"


def test_invariant_that_code_names_is_in_the_table() -> None:
    named = {
        name
        for folder in ("advisor", "enforcers", "ingest")
        for path in (ROOT / folder).rglob("*.py")
        for name in re.findall(r"invariant ([a-z]+(?:-[a-z]+)+)", path.read_text())
    }

    assert named <= {row[0] for row in ROWS}
    assert len(named) > 1
