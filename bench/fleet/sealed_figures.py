"""What sealed hours and days hold, computed from growth in steps of whole windows.

Growth is an array of (series, steps, columns): counters, then at most one gauge, whose value is
that at the end of the step. All series sent at the end of each step and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from advisor.core.chunk import UNKNOWN
from advisor.core.histogram import BUCKETS, buckets, encoded
from advisor.core.stored_hour import QUARTER_S, QUARTERS, STEPS_OF_SUMS, WINDOW_S, WINDOWS
from bench.fleet.copy_rows import Integers
from ingest.core.grid import SURE_INTERVAL_S

Floats = npt.NDArray[np.float64]

WINDOW_US = WINDOW_S * 1_000_000
FRESH = int(SURE_INTERVAL_S) // WINDOW_S
"""So many windows after a reading end with its gauge still known."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HourOfFigure:
    """One figure of an hour: windows (series, windows), the rest (series, quarters).

    `sums` are (series, steps) by the number that the product gives them.
    """

    windows: Integers
    sums: Mapping[int, Integers]
    means: Floats
    maxima: Floats


def hour_of_counter(growth: Integers, step_s: int) -> HourOfFigure:
    """From growth of (series, steps): what lies between two readings grew evenly."""
    windows = _windows(growth, step_s // WINDOW_S)
    quarters = windows.reshape(len(windows), QUARTERS, -1)
    means: Floats = quarters.sum(axis=2) / QUARTER_S
    maxima: Floats = quarters.max(axis=2) / WINDOW_S
    return HourOfFigure(windows=windows, sums=_sums(windows), means=means, maxima=maxima)


def hour_of_gauge(values: Integers, before: Integers, step_s: int) -> HourOfFigure:
    """From the value at the end of each step, (series, steps), and those `before`, (series)."""
    count = step_s // WINDOW_S
    windows = np.full((*values.shape, count), UNKNOWN, dtype=np.int64)
    windows[:, :, :FRESH] = np.column_stack([before, values])[:, :-1, None]
    windows[:, :, -1] = values
    quarters = windows.reshape(len(values), QUARTERS, -1)
    known = quarters != UNKNOWN
    windows = windows.reshape(len(values), -1)
    return HourOfFigure(
        windows=windows,
        sums={
            number: windows[:, WINDOWS // steps - 1 :: WINDOWS // steps]
            for number, steps in STEPS_OF_SUMS.items()
        },
        means=np.where(known, quarters, 0).sum(axis=2) / known.sum(axis=2),
        maxima=quarters.max(axis=2).astype(np.float64),
    )


def hour_of_cover(series: int) -> HourOfFigure:
    """Readings cover every window whole."""
    windows = np.full((series, WINDOWS), WINDOW_US, dtype=np.int64)
    # No row of a quarter has it.
    nothing = np.full((series, QUARTERS), np.nan)
    return HourOfFigure(windows=windows, sums=_sums(windows), means=nothing, maxima=nothing)


def _sums(windows: Integers) -> Mapping[int, Integers]:
    return {
        number: windows.reshape(len(windows), steps, -1).sum(axis=2)
        for number, steps in STEPS_OF_SUMS.items()
    }


def _windows(growth: Integers, count: int) -> Integers:
    """(series, windows): counters at the edges are whole numbers."""
    if count == 1:
        return growth
    fractions = np.arange(count + 1) / count
    edges = np.rint(growth[:, :, None] * fractions)
    return np.diff(edges, axis=2).astype(np.int64).reshape(len(growth), -1)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DayOfFigure:
    """Mean, largest value and histogram of a figure in a day, one of each per series."""

    means: Floats
    maxima: Floats
    histograms: list[bytes]


def day_of_counter(growth: Integers, step_s: int) -> DayOfFigure:
    """From growth of (series, steps): a step's windows have one of two neighbouring values."""
    count = step_s // WINDOW_S
    lower, higher_count = np.divmod(growth, count)
    values = np.concatenate([lower, lower + 1], axis=1) / float(WINDOW_S)
    times = np.concatenate([count - higher_count, higher_count], axis=1)
    return DayOfFigure(
        means=growth.sum(axis=1) / float(step_s * growth.shape[1]),
        maxima=np.where(times > 0, values, 0.0).max(axis=1),
        histograms=list(_histograms(values, times)),
    )


def day_of_gauge(values: Integers, before: Integers, step_s: int) -> DayOfFigure:
    """From the value at the end of each step, (series, steps), and those `before`, (series)."""
    fresh = min(FRESH, step_s // WINDOW_S - 1)
    both = np.concatenate([values, np.column_stack([before, values])[:, :-1]], axis=1)
    times = np.repeat([1, fresh], values.shape[1])[None, :].repeat(len(values), axis=0)
    return DayOfFigure(
        means=(both * times).sum(axis=1) / times.sum(axis=1),
        maxima=np.where(times > 0, both, 0).max(axis=1).astype(np.float64),
        histograms=list(_histograms(both.astype(np.float64), times)),
    )


def _histograms(values: Floats, times: Integers) -> Iterator[bytes]:
    """Of values that occur so many times; both (series, values)."""
    series = len(values)
    keys = buckets(values) + BUCKETS * np.arange(series)[:, None]
    counts = np.bincount(keys.ravel(), times.ravel(), minlength=BUCKETS * series)
    for own in counts.astype(np.int64).reshape(series, BUCKETS):
        yield encoded(own)
