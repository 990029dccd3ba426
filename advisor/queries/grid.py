"""Rates over intervals of any length, laid on one common grid of times."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import median_low
from typing import Protocol

from ingest.readings import STEPS_S

LEAST_COVER = 0.5
"""A cell that intervals cover by less than this part has no value: a gap is a gap."""


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
    wanted = max(wanted, usual * 0.95)
    return next((step for step in STEPS_S if step >= wanted), STEPS_S[-1])


def mean_on(
    grid: Grid, intervals: Sequence[Interval], values: Sequence[float | None]
) -> list[float | None]:
    """The mean of the values in each cell, weighted by time; None where too little is known."""
    sums = [0.0] * len(grid.ends_s)
    cover = [0.0] * len(grid.ends_s)
    for interval, value in zip(intervals, values, strict=True):
        if value is not None:
            for index, seconds in grid.cover(interval):
                sums[index] += value * seconds
                cover[index] += seconds
    least = LEAST_COVER * grid.step_s
    return [
        total / seconds if seconds >= least else None
        for total, seconds in zip(sums, cover, strict=True)
    ]


def total_of(rows: Sequence[Sequence[float | None]]) -> list[float | None]:
    """The sum of several rows, cell by cell; None where no row has a value."""
    totals: list[float | None] = []
    for cells in zip(*rows, strict=True):
        known = [value for value in cells if value is not None]
        totals.append(sum(known) if known else None)
    return totals


def moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
