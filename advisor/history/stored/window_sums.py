"""Adds pieces of stored hours up into the windows of a grid."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

import numpy as np

from advisor.core.stored_hour import Flags, Integers
from ingest.core.grid import LEAST_COVER, NOT_SENT, Grid, GridGrowth

_HOUR_US = 3_600_000_000


class WindowSums:
    """What counters of subjects grew by in windows of a grid, from pieces in any order.

    A piece is lines, (..., subjects, steps), of steps that follow one another; `own` are the
    places of its subjects. A step in which an edge of the grid lies is divided evenly.
    """

    def __init__(self, grid: Grid, *, counters: int, gauges: int, subjects: int) -> None:
        self._grid = grid
        # Lines of subjects and not of windows, because a piece is contiguous in time.
        self._sums = np.zeros((counters + 1, subjects, grid.count), dtype=np.int64)
        self._gauges = np.full((gauges, subjects, grid.count + 1), NOT_SENT, dtype=np.int64)

    @property
    def step_us(self) -> int:
        """The longest step, of which hours are whole numbers, with an end at each edge."""
        return gcd(self._grid.window_us, self._grid.since_us, _HOUR_US)

    def add_all(self, values: Integers, own: Integers, *, begin_us: int, step_us: int) -> None:
        """Add sums: counters, gauges and the time covered, (figures, subjects, steps)."""
        counters, gauges = len(self._sums) - 1, len(self._gauges)
        for gauge, lines in enumerate(values[counters : counters + gauges]):
            self.note_gauge(gauge, lines, own, begin_us=begin_us, step_us=step_us)
        grown = np.delete(values, slice(counters, -1), axis=0) if gauges else values
        self.add(0, grown, own, begin_us=begin_us, step_us=step_us)

    def is_gauge(self, row: int) -> bool:
        """Whether a figure of the kind is one: counters come first, the time covered last."""
        counters = len(self._sums) - 1
        return counters <= row < counters + len(self._gauges)

    def add_row(
        self, row: int, lines: Integers, own: Integers, *, begin_us: int, step_us: int
    ) -> None:
        """Add steps of a figure, by its place in the kind."""
        counters = len(self._sums) - 1
        if self.is_gauge(row):
            self.note_gauge(row - counters, lines, own, begin_us=begin_us, step_us=step_us)
        else:
            self.add(min(row, counters), lines[None], own, begin_us=begin_us, step_us=step_us)

    def add(
        self, counter: int, lines: Integers, own: Integers, *, begin_us: int, step_us: int
    ) -> None:
        """Add what counters grew by in each step, (counters, subjects, steps).

        They are those from the place `counter` on; the last of all is the time covered.
        """
        grid, count = self._grid, lines.shape[2]
        low = max((begin_us - grid.since_us) // grid.window_us, 0)
        high = min(-((grid.since_us - begin_us - count * step_us) // grid.window_us), grid.count)
        if low >= high:
            return
        target = self._sums[counter : counter + len(lines)]
        # Mostly all is known, and to look is cheaper than to copy a day.
        known = np.maximum(lines, 0) if lines.min(initial=0) < 0 else lines
        rows = _consecutive(own)
        ahead, rest_us = divmod(begin_us - grid.since_us, step_us)
        if rest_us or grid.window_us % step_us:
            target[:, rows, low:high] += self._divided(known, low, high, begin_us, step_us)
            return
        per_window = grid.window_us // step_us
        first, end = max(low * per_window - ahead, 0), min(high * per_window - ahead, count)
        whole = known[:, :, first:end]
        if per_window > 1:
            begins = np.maximum(per_window * np.arange(low, high) - ahead - first, 0)
            whole = np.add.reduceat(whole, begins, axis=2)
        target[:, rows, low:high] += whole

    def _divided(
        self, known: Integers, low: int, high: int, begin_us: int, step_us: int
    ) -> Integers:
        """The windows from place `low` to before `high`, with their parts of steps."""
        grid, count = self._grid, known.shape[2]
        edges_us = grid.since_us + grid.window_us * np.arange(low, high + 1, dtype=np.int64)
        inside_us = np.clip(edges_us - begin_us, 0, count * step_us)
        steps, rest_us = np.divmod(inside_us, step_us)
        total = np.zeros((*known.shape[:2], count + 1), dtype=np.int64)
        np.cumsum(known, axis=2, out=total[:, :, 1:])
        at_edges = total[:, :, steps]
        if rest_us.any():
            inside = np.minimum(steps, count - 1)
            at_edges += np.rint(rest_us / step_us * known[:, :, inside]).astype(np.int64)
        return np.diff(at_edges, axis=2)

    def note_gauge(
        self, gauge: int, lines: Integers, own: Integers, *, begin_us: int, step_us: int
    ) -> None:
        """Note what a gauge showed at the end of each step; what is known already stays."""
        grid, end_us = self._grid, begin_us + (lines.shape[1] + 1) * step_us
        # The edges at or after the end of the first step, and before that of a step to come.
        low = max(-((grid.since_us - begin_us - step_us) // grid.window_us), 0)
        high = min(-((grid.since_us - end_us) // grid.window_us), grid.count + 1)
        if low >= high:
            return
        edges_us = grid.since_us + grid.window_us * np.arange(low, high, dtype=np.int64)
        shown = lines[:, (edges_us - begin_us) // step_us - 1]
        here = self._gauges[gauge, :, low:high]
        rows = _consecutive(own)
        before = here[rows]
        here[rows] = np.where(before == NOT_SENT, shown, before)

    def add_growth(
        self, found: GridGrowth, own: Sequence[int], *, without: Flags | None = None
    ) -> None:
        """Add windows that were read from samples, but those `without`, (subjects, windows)."""
        places = np.array(own, dtype=np.int64)
        begin_us, step_us = found.grid.since_us, found.grid.window_us
        covered_us = np.rint(found.seconds * 1e6).astype(np.int64)
        for counter, grown in enumerate([*found.growth, covered_us]):
            lines = grown.T if without is None else np.where(without, 0, grown.T)
            self.add(counter, lines[None], places, begin_us=begin_us, step_us=step_us)
        for gauge, values in enumerate(found.gauges):
            # It has one at the begin of the first window too.
            self.note_gauge(gauge, values.T, places, begin_us=begin_us - step_us, step_us=step_us)

    def growth(self) -> GridGrowth:
        """The windows; one that is covered too little is not known."""
        seconds = self._sums[-1].T / 1e6
        growth = self._sums[:-1]
        unknown = seconds < LEAST_COVER * self._grid.window_s
        if unknown.any():
            seconds[unknown] = 0.0
            growth[:, unknown.T] = 0
        return GridGrowth(
            grid=self._grid,
            growth=growth.swapaxes(1, 2),
            seconds=seconds,
            gauges=self._gauges.swapaxes(1, 2),
        )


def _consecutive(places: Integers) -> Integers | slice:
    """The places as a slice where they follow one another: such lines are added much faster."""
    first, count = int(places[0]) if len(places) else 0, len(places)
    is_slice = np.array_equal(places, np.arange(first, first + count))
    return slice(first, first + count) if is_slice else places
