"""The table of results: what was run is read again, and what is left is run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bench.chaos.results import Result, append, left_to_run, read
from bench.chaos.summary import rows
from bench.chaos.verdict import ROWS, Losses

NONE = Losses(acknowledged=100, lost=0, changed=0, doubled=0, halves=0)
ONE = Result(commit="abc", seed=1, faults="kill at 0.0 s web", back_s=12.3, waits_for="detection",
             losses=NONE)  # fmt: skip


def test_lines_are_read_as_they_were_written(tmp_path: Path) -> None:
    table = tmp_path / "new" / "results.tsv"
    lines = [ONE, replace(ONE, seed=2, back_s=None), replace(ONE, losses=replace(NONE, lost=3))]

    for line in lines:
        append(table, line)

    assert read(table) == lines


def test_line_that_was_cut_off_is_left_out(tmp_path: Path) -> None:
    table = tmp_path / "results.tsv"
    append(table, ONE)
    append(table, replace(ONE, seed=2))

    table.write_text(table.read_text()[:-30])

    assert read(table) == [ONE]


def test_seeds_of_this_commit_are_not_run_again() -> None:
    done = [ONE, replace(ONE, seed=2, commit="older")]

    assert left_to_run(range(1, 4), done, "abc") == [2, 3]


@pytest.mark.parametrize(
    ("changes", "holds"),
    [
        ({}, True),
        ({"back_s": 30.1}, False),
        ({"back_s": None}, False),
        ({"losses": replace(NONE, lost=1)}, False),
        ({"losses": replace(NONE, halves=1)}, False),
    ],
    ids=["well", "late", "never", "lost", "half"],
)
def test_scenario_holds_if_nothing_is_lost_and_all_is_back_in_time(changes, holds) -> None:
    assert replace(ONE, **changes).holds is holds


def test_second_turn_of_a_seed_tells_its_return_and_losses_count_in_both() -> None:
    late = replace(ONE, back_s=45.0, losses=replace(NONE, lost=2))

    found = {row.what: row for row in rows([late, ONE])}

    assert found["acknowledged points lost in 1 scenarios"].measured == 2 * ROWS
    assert found["scenarios that are not back within 30 s"].measured == 0
    assert found["back after: kill, longest"].measured == 12.3
