"""How counters grow, in columns: what `steps` tells of a few readings, told of very many.

A chart of a hundred workloads is made of tens of thousands of intervals; as one object each they
would cost more than everything else that it takes to draw it. All counters are 64-bit here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ingest.core.counters import GAP_FACTOR, LONGEST_INTERVAL_S, WRAP_32

NOT_SENT = -1
"""No counter is negative, so this stands for one that was not sent."""

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GrowthColumns:
    """Intervals in order of time: their end and length in microseconds, and a row of growths."""

    at_us: Integers
    interval_us: Integers
    growth: Integers

    @property
    def ends_s(self) -> Floats:
        """The ends in seconds since 1970."""
        return self.at_us / 1e6

    @property
    def seconds(self) -> Floats:
        return self.interval_us / 1e6

    def per_s(self, counter: int) -> Floats:
        """The rate of the counter in this place."""
        return self.growth[:, counter] / self.seconds

    def chosen(self, rows: Flags) -> GrowthColumns:
        return GrowthColumns(
            at_us=self.at_us[rows], interval_us=self.interval_us[rows], growth=self.growth[rows]
        )


def growth_columns(at_us: Integers, counters: Integers, *, longest_s: float) -> GrowthColumns:
    """The intervals of one series that have a growth, from its readings in order of time.

    An interval longer than `longest_s` is a gap.
    """
    interval_us = np.diff(at_us)
    before, after = counters[:-1], counters[1:]
    went_down = after < before
    growth = after - before + np.where(went_down, WRAP_32, 0)
    is_reset = (went_down & ((before >= WRAP_32) | (growth >= WRAP_32 // 2))).any(axis=1)
    # A counter that starts again from zero takes its whole subject with it; a wrap does not.
    counted = before > 0
    is_reset |= counted.any(axis=1) & (went_down | ~counted).all(axis=1)
    is_complete = ((before != NOT_SENT) & (after != NOT_SENT)).all(axis=1)
    is_gap = interval_us / 1e6 > longest_s
    every = GrowthColumns(at_us=at_us[1:], interval_us=interval_us, growth=growth)
    return every.chosen(is_complete & ~is_reset & ~is_gap)


def longest_interval_of(at_us: Integers, *, step_s: float) -> float:
    """`longest_interval_s` of times in order, in microseconds."""
    bound = max(LONGEST_INTERVAL_S, GAP_FACTOR * step_s)
    if len(at_us) < 2:
        return bound
    ordered = np.sort(np.diff(at_us)) / 1e6
    middle = len(ordered) // 2
    odd = len(ordered) % 2 == 1
    median = ordered[middle] if odd else (ordered[middle - 1] + ordered[middle]) / 2
    return min(GAP_FACTOR * float(median), bound)


def merged_columns(
    parts: Iterable[GrowthColumns], *, since_us: int, until_us: int, width: int
) -> GrowthColumns:
    """The intervals with `since < at <= until` of all series, each moment told once, as `merged`.

    `width` is the number of counters, of which there may be no series at all.
    """
    nothing = np.empty(0, dtype=np.int64)
    found = GrowthColumns(
        at_us=nothing, interval_us=nothing, growth=np.empty((0, width), dtype=np.int64)
    )
    for part in parts:
        inside = (since_us < part.at_us) & (part.at_us <= until_us)
        fresh = part.chosen(inside & ~_overlap(part, found))
        found = _in_order(found, fresh) if len(found.at_us) else fresh
    return found


def _overlap(part: GrowthColumns, taken: GrowthColumns) -> Flags:
    """Which intervals share time with one of `taken`."""
    following = np.searchsorted(taken.at_us, part.at_us - part.interval_us, side="right")
    # An interval with none behind it meets one that begins after all.
    starts = np.append(taken.at_us - taken.interval_us, np.iinfo(np.int64).max)
    return starts[following] < part.at_us


def _in_order(one: GrowthColumns, other: GrowthColumns) -> GrowthColumns:
    at_us = np.concatenate([one.at_us, other.at_us])
    order = np.argsort(at_us, kind="stable")
    return GrowthColumns(
        at_us=at_us[order],
        interval_us=np.concatenate([one.interval_us, other.interval_us])[order],
        growth=np.concatenate([one.growth, other.growth])[order],
    )
