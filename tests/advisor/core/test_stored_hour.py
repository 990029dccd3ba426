"""An hour as it is stored: what is known, what is kept of it, and its quarters."""

from __future__ import annotations

import numpy as np
import pytest

from advisor.core.chunk import UNKNOWN
from advisor.core.stored_hour import (
    QUARTERS,
    STEPS_OF_SUMS,
    WINDOW_S,
    WINDOWS,
    quarter_values,
    step_sums,
    stored_values,
    united,
)
from ingest.core.canonical_figures import FIGURES
from ingest.core.grid import NOT_SENT

NAN = float("nan")


def figure(*windows: int) -> list[list[int]]:
    """One number per window of the only column."""
    return [[value] for value in windows]


def test_no_figure_has_the_number_of_sums() -> None:
    numbers = {figure.number for figures in FIGURES.values() for figure in figures}

    assert not numbers & STEPS_OF_SUMS.keys()


def test_hour_has_four_quarters_of_ninety_windows() -> None:
    assert (WINDOW_S, WINDOWS, QUARTERS) == (10, 360, 4)


def test_growth_and_covered_time_are_known_in_the_same_windows() -> None:
    found = stored_values(
        growth=np.array([figure(5, 7, 9)]),
        gauges=np.array([figure(1, 2, 3)]),
        seconds=np.array([[10.0], [0.0], [0.5]]),
    )

    assert found[:, :, 0].tolist() == [
        [5, UNKNOWN, 9],
        # A gauge is a reading of its own.
        [1, 2, 3],
        [10_000_000, UNKNOWN, 500_000],
    ]


def test_gauge_that_was_not_sent_is_stored_as_unknown() -> None:
    # Gauges are stored as the grid gives them.
    assert NOT_SENT == UNKNOWN == -1


@pytest.mark.parametrize(
    ("rows_are_whole", "column"),
    [
        # All readings there ever were: what was found counts, known or not.
        (True, [50, UNKNOWN, 60]),
        # Rows may be gone: what is stored stays, and what was not known is added.
        (False, [2, 4, 60]),
    ],
)
def test_what_is_stored_stays_unless_all_was_read_anew(
    rows_are_whole: bool, column: list[int]
) -> None:
    stored = np.array([[1, 2], [3, 4], [5, UNKNOWN]])
    again = np.array([[50], [UNKNOWN], [60]])

    found = united(stored, again, np.array([1]), 3, rows_are_whole=rows_are_whole)

    # Of the third column nothing is stored.
    assert found[:, 0].tolist() == [1, 3, 5]
    assert found[:, 1].tolist() == column
    assert found[:, 2].tolist() == [UNKNOWN] * 3


@pytest.mark.parametrize("rows_are_whole", [True, False])
def test_without_stored_values_only_what_was_found_is_known(rows_are_whole: bool) -> None:
    again = np.array([[50, 60]])

    found = united(None, again, np.array([2, 0]), 3, rows_are_whole=rows_are_whole)

    assert found.tolist() == [[60, UNKNOWN, 50]]


# Two windows of 10 s a quarter: 100 and 300, then one unknown and one of which 5 s are covered,
# then nothing, then both.
GROWTH = (100, 300, UNKNOWN, 40, UNKNOWN, UNKNOWN, 0, 10)
GAUGES = (4, 8, 3, 6, UNKNOWN, 5, 0, UNKNOWN)
COVERED_US = (10**7, 10**7, UNKNOWN, 5 * 10**6, UNKNOWN, UNKNOWN, 10**7, 10**7)


def test_quarter_has_the_mean_and_the_largest_of_its_known_windows() -> None:
    hour = np.array([figure(*GROWTH), figure(*GAUGES), figure(*COVERED_US)])

    found = quarter_values(hour, counters=1)

    # 400 in 20 s, 40 in 5 s, nothing, 10 in 20 s; gauges are as they were read.
    assert np.array_equal(
        found.mean[:, :, 0], [[20.0, 8.0, NAN, 0.5], [6.0, 4.5, 5.0, 0.0]], equal_nan=True
    )
    assert np.array_equal(
        found.maximum[:, :, 0], [[30.0, 8.0, NAN, 1.0], [8.0, 6.0, 5.0, 0.0]], equal_nan=True
    )
    assert found.known[:, 0].tolist() == [True] * 4


def test_quarter_is_known_if_any_figure_is() -> None:
    unknown = figure(*[UNKNOWN] * 4)
    hour = np.array([unknown, figure(UNKNOWN, 3, UNKNOWN, UNKNOWN), unknown])

    assert quarter_values(hour, counters=1).known[:, 0].tolist() == [False, True, False, False]


def test_sums_of_a_quarter_are_of_its_known_windows_and_gauges_of_its_end() -> None:
    hour = np.array([figure(*GROWTH), figure(*GAUGES), figure(*COVERED_US)])

    found = step_sums(hour, counters=1, steps=4)

    assert found[:, 0].tolist() == [
        *(400, 40, UNKNOWN, 10),
        *(8, 6, 5, UNKNOWN),
        *(20_000_000, 5_000_000, UNKNOWN, 20_000_000),
    ]


def test_sum_of_windows_in_which_nothing_was_done_is_known() -> None:
    hour = np.array([figure(0, 0, 0, UNKNOWN, UNKNOWN, 0, UNKNOWN, UNKNOWN)] * 2)

    # What is last is no gauge, but the covered time.
    assert step_sums(hour, counters=1, steps=4)[:, 0].tolist() == [0, 0, 0, UNKNOWN] * 2


def test_gauge_of_a_quarter_is_that_of_its_last_window() -> None:
    hour = np.array([figure(*range(12))] * 3)

    # Three windows a quarter; growths are added up, and so is the covered time.
    assert step_sums(hour, counters=1, steps=4)[:, 0].tolist() == [
        *(3, 12, 21, 30),
        *(2, 5, 8, 11),
        *(3, 12, 21, 30),
    ]
