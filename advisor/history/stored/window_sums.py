"""Adds stored windows up into the windows of a grid."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from advisor.core.stored_hour import Flags, Integers
from ingest.core.grid import LEAST_COVER, NOT_SENT, Grid, GridGrowth


class WindowSums:
    """What counters of subjects grew by in windows of a grid, from pieces in any order.

    A piece is lines, (subjects, steps), of steps that follow one another; `own` are the places of
    its subjects. Where an edge of the grid lies within a step, the step is divided evenly.
    """

    def __init__(self, grid: Grid, *, counters: int, gauges: int, subjects: int) -> None:
        self._grid = grid
        # Lines of subjects and not of windows, because a piece is contiguous in time.
        self._sums = np.zeros((counters + 1, subjects, grid.count), dtype=np.int64)
        self._gauges = np.full((gauges, subjects, grid.count + 1), NOT_SENT, dtype=np.int64)

    def add(
        self, counter: int, lines: Integers, own: Integers, *, begin_us: int, step_us: int
    ) -> None:
        """Add what one counter grew by in each step; the last counter is the time covered."""
        grid, end_us = self._grid, begin_us + lines.shape[1] * step_us
        low = max((begin_us - grid.since_us) // grid.window_us, 0)
        high = min(-((grid.since_us - end_us) // grid.window_us), grid.count)
        if low >= high:
            return
        target, known = self._sums[counter], np.maximum(lines, 0)
        edges_us = grid.since_us + grid.window_us * np.arange(low, high + 1, dtype=np.int64)
        if grid.window_us == step_us and not (grid.since_us - begin_us) % step_us:
            first = (int(edges_us[0]) - begin_us) // step_us
            target[own, low:high] += known[:, first : first + high - low]
            return
        total = np.zeros((len(lines), lines.shape[1] + 1), dtype=np.int64)
        np.cumsum(known, axis=1, out=total[:, 1:])
        steps, rest_us = np.divmod(np.clip(edges_us, begin_us, end_us) - begin_us, step_us)
        at_edges = total[:, steps]
        if rest_us.any():
            inside = np.minimum(steps, lines.shape[1] - 1)
            at_edges += np.rint(rest_us / step_us * known[:, inside]).astype(np.int64)
        target[own, low:high] += np.diff(at_edges, axis=1)

    def note_gauge(
        self, gauge: int, lines: Integers, own: Integers, *, begin_us: int, step_us: int
    ) -> None:
        """Note what a gauge showed at the end of each step; what is known already stays."""
        grid = self._grid
        edges_us = grid.since_us + grid.window_us * np.arange(grid.count + 1, dtype=np.int64)
        steps = (edges_us - begin_us) // step_us - 1
        places = np.flatnonzero((steps >= 0) & (steps < lines.shape[1]))
        if not len(places):
            return
        here = np.ix_(own, places)
        before = self._gauges[gauge][here]
        self._gauges[gauge][here] = np.where(before == NOT_SENT, lines[:, steps[places]], before)

    def add_growth(
        self, found: GridGrowth, own: Sequence[int], *, without: Flags | None = None
    ) -> None:
        """Add windows that were read from samples, but those `without`, (subjects, windows)."""
        places = np.array(own, dtype=np.int64)
        begin_us, step_us = found.grid.since_us, found.grid.window_us
        covered_us = np.rint(found.seconds * 1e6).astype(np.int64)
        for counter, grown in enumerate([*found.growth, covered_us]):
            lines = grown.T if without is None else np.where(without, 0, grown.T)
            self.add(counter, lines, places, begin_us=begin_us, step_us=step_us)
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
