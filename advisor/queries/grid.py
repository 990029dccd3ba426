"""Rates over intervals of any length, laid on one common grid of times."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import median_low
from typing import Protocol

import numpy as np
import numpy.typing as npt

from ingest.core.steps import step_of

Floats = npt.NDArray[np.float64]

LEAST_COVER = 0.5
"""A cell has a value only if intervals cover at least this fraction of it."""


class Interval(Protocol):
    """A mean over the `seconds` that end at `at`."""

    @property
    def at(self) -> datetime: ...
    @property
    def seconds(self) -> float: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """Cells of `step_s` seconds; cell i ends at `ends_s[i]`, in seconds since 1970."""

    step_s: int
    ends_s: tuple[int, ...]

    def cover(self, interval: Interval) -> Iterable[tuple[int, float]]:
        """The cells that an interval touches, each with the seconds it covers of it."""
        end = interval.at.timestamp()
        start = end - interval.seconds
        if not self.ends_s:
            return
        origin = self.ends_s[0] - self.step_s
        first = max(0, math.floor((start - origin) / self.step_s))
        last = min(len(self.ends_s) - 1, math.ceil((end - origin) / self.step_s) - 1)
        for index in range(first, last + 1):
            cell_end = self.ends_s[index]
            covered = min(end, cell_end) - max(start, cell_end - self.step_s)
            if covered > 0:
                yield index, covered


def make_grid(since: datetime, until: datetime, step_s: int) -> Grid:
    """All cells that end in (since, until], on whole multiples of the step."""
    first = math.floor(since.timestamp() / step_s) + 1
    last = math.floor(until.timestamp() / step_s)
    return Grid(step_s=step_s, ends_s=tuple(index * step_s for index in range(first, last + 1)))


def fitting_step_s(
    intervals: Sequence[Interval], *, since: datetime, until: datetime, points: int
) -> int:
    """The smallest step that needs at most `points` cells and is no finer than the samples are."""
    wanted = (until - since).total_seconds() / points
    usual = median_low([interval.seconds for interval in intervals]) if intervals else 1.0
    # A collector's 10 s are 9.99 s or 10.01 s on the clock.
    return step_of(max(wanted, usual * 0.95))


def mean_on(
    grid: Grid, intervals: Sequence[Interval], values: Sequence[float | None]
) -> list[float | None]:
    """The mean of the values in each cell, weighted by time; None where too little is known."""
    known = [
        (interval.at.timestamp(), interval.seconds, value)
        for interval, value in zip(intervals, values, strict=True)
        if value is not None
    ]
    ends_s, seconds, numbers = np.array(known, dtype=np.float64).reshape(-1, 3).T
    return mean_of_columns(grid, ends_s=ends_s, seconds=seconds, values=numbers)


def mean_of_columns(
    grid: Grid, *, ends_s: Floats, seconds: Floats, values: Floats
) -> list[float | None]:
    """`mean_on` for arrays of ends (seconds since 1970), lengths and values; each (intervals)."""
    cells = len(grid.ends_s)
    if not cells:
        return []
    origin, step_s = grid.ends_s[0] - grid.step_s, grid.step_s
    starts_s = ends_s - seconds
    first = np.maximum(0, np.floor((starts_s - origin) / step_s)).astype(np.int64)
    last = np.minimum(cells - 1, np.ceil((ends_s - origin) / step_s) - 1).astype(np.int64)
    touched = np.maximum(0, last - first + 1)
    # One row per interval and cell that it touches, in order of the intervals.
    row = np.repeat(np.arange(len(ends_s)), touched)
    cell = np.arange(len(row)) - np.repeat(np.cumsum(touched) - touched, touched) + first[row]
    cell_ends_s = np.array(grid.ends_s, dtype=np.float64)[cell]
    covered = np.minimum(ends_s[row], cell_ends_s) - np.maximum(
        starts_s[row], cell_ends_s - step_s
    )
    row, cell, covered = row[covered > 0], cell[covered > 0], covered[covered > 0]
    sums = np.bincount(cell, weights=values[row] * covered, minlength=cells)
    cover = np.bincount(cell, weights=covered, minlength=cells)
    means = sums / np.where(cover > 0, cover, 1.0)
    is_known = cover >= LEAST_COVER * step_s
    return [
        mean if known else None
        for mean, known in zip(means.tolist(), is_known.tolist(), strict=True)
    ]


def total_of(rows: Sequence[Sequence[float | None]]) -> list[float | None]:
    """The sum of several rows, cell by cell; None where no row has a value."""
    if len(rows) == 1:
        return list(rows[0])
    totals: list[float | None] = []
    for cells in zip(*rows, strict=True):
        known = [value for value in cells if value is not None]
        totals.append(sum(known) if known else None)
    return totals


def moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
