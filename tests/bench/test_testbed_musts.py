"""A run fails where a row that must hold does not, and for no other row."""

from __future__ import annotations

import sys

import pytest

from bench.fleet.rows import Row, not_measured
from bench.testbed import __main__ as testbed
from bench.testbed.musts import misses
from bench.testbed.rungs import Rung, on_rung

GROUPS = {"storage": ("limit", "shares"), "network": ("study",)}


def row(part: str, *, holds: bool) -> Row:
    return Row(
        what=f"a {part}", unit="IOPS", asked="500 +-1 %", measured=480.0, holds=holds, part=part
    )


def test_row_that_must_hold_and_does_not_is_named_with_both_numbers() -> None:
    rows = [row("limit", holds=False), row("shares", holds=True), row("study", holds=False)]

    assert misses(rows, ["limit", "shares"], GROUPS) == [
        "limit: a limit: 480 IOPS, asked 500 +-1 %"
    ]


def test_part_that_must_hold_and_has_no_row_is_named() -> None:
    assert misses([row("shares", holds=True)], ["limit", "shares"], GROUPS) == ["limit: no row"]


def test_storage_that_could_not_be_measured_misses_for_each_of_its_parts() -> None:
    why = on_rung(Rung.STORAGE, "storage", [not_measured("all rows", "rows", "all", "not root")])
    rows = [row("limit", holds=True), *why]

    assert misses(rows, ["limit"], GROUPS) == ["storage: all rows: not measured, asked all"]
    assert misses([*rows, row("study", holds=True)], ["study"], GROUPS) == []


@pytest.mark.parametrize(
    ("options", "status"), [(("--must", "limit"), 1), (("--must", "study"), 0), ((), 0)]
)
def test_status_is_that_of_the_rows_that_must_hold(
    monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], status: int
) -> None:
    found = [row("limit", holds=False), row("study", holds=True)]
    monkeypatch.setattr(testbed, "clean_up_when_told_to_end", lambda: None)
    monkeypatch.setattr(testbed, "_storage", lambda options, parts: found)
    monkeypatch.setattr(sys, "argv", ["testbed", "--parts", "limit", *options])

    ended = 0
    try:
        testbed.main()
    except SystemExit as end:
        ended = 1 if end.code else 0

    assert ended == status
