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
             losses=NONE, struck=1, meant=1)  # fmt: skip


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


def test_table_of_other_columns_goes_on_under_another_name(tmp_path: Path) -> None:
    table = tmp_path / "results.tsv"
    table.write_text("commit\tseed\nabc\t1\n")

    append(table, ONE)

    assert read(table) == [ONE]
    assert (tmp_path / "results.old.tsv").read_text() == "commit\tseed\nabc\t1\n"


def test_scenario_that_is_late_stays_late_whatever_its_second_turn_says() -> None:
    late = replace(ONE, back_s=45.0, losses=replace(NONE, lost=2))

    found = {row.what: row for row in rows([late, ONE])}

    assert found["acknowledged points lost in 1 scenarios"].measured == 2 * ROWS
    not_back = found["scenarios that are not back within 30 s"]
    assert (not_back.measured, not_back.holds) == (1, False)
    assert not_back.note == "1 of them were, after a rest"
    assert found["back after: kill, longest"].measured == 45.0


def test_faults_that_strike_nobody_are_counted() -> None:
    lines = [replace(ONE, seed=seed, meant=2, struck=2) for seed in range(1, 11)]

    found = {row.what: row for row in rows([replace(lines[0], struck=0), *lines[1:]])}

    missed = found["faults that found nothing to strike"]
    assert missed.measured == pytest.approx(0.1)
    assert not missed.holds
