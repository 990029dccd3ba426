"""Rows of real kernels that are published: all of them, and what does not hold says so."""

from __future__ import annotations

import json
from pathlib import Path

from bench.evaluation.on_kernels import CALL, CASEBOOK, DISK_CALLS, kept_rows
from bench.lab.promises import broken

PAGE = Path(__file__).parents[2] / "docs" / "evaluation.md"


def test_page_has_all_rows_of_the_casebook_and_of_the_last_call() -> None:
    page = PAGE.read_text()

    assert kept_rows(CASEBOOK) in page
    assert kept_rows(CALL) in page
    assert kept_rows(DISK_CALLS) in page


def test_row_that_does_not_hold_is_published_as_such(tmp_path: Path) -> None:
    row = {"what": "a", "note": "of 3", "asked": "<= 1", "measured": 2.0, "holds": False}
    file = tmp_path / "rows.json"
    file.write_text(json.dumps([row, {**row, "what": "b", "measured": None}]))

    lines = kept_rows(file).splitlines()

    assert lines[2:] == ["| a | of 3 | <= 1 | 2 | no |", "| b | of 3 | <= 1 | not measured | no |"]


def test_promises_were_kept_when_the_rows_were_written() -> None:
    assert broken(json.loads(CASEBOOK.read_text())) == []
