"""How counters grow between readings: wraps, resets, gaps, counters that were not sent.

Readings are columns, of one series or of very many: a chart of a hundred workloads is made of
tens of thousands of intervals, and one object each would cost more than all else that it takes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from ingest.core.grid import (
    GAP_FACTOR,
    LONGEST_INTERVAL_S,
    Flags,
    Floats,
    Integers,
    growth_between,
)


class NoRateReason(StrEnum):
    """Why the time between two readings has no rate."""

    GAP = "gap"
    RESET = "reset"
    INCOMPLETE = "incomplete"


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

    def beside(self, more: Integers) -> GrowthColumns:
        """The same intervals, each with these columns after its own."""
        return GrowthColumns(
            at_us=self.at_us,
            interval_us=self.interval_us,
            growth=np.concatenate([self.growth, more], axis=1),
        )


def growth_columns(
    at_us: Integers, counters: Integers, *, longest_s: float, wide: int | None = None
) -> GrowthColumns:
    """The intervals of one series that have a growth, from its readings in order of time.

    `counters` has a row for each reading; its first `wide` columns, or all, are 64-bit counters.
    An interval longer than `longest_s` is a gap.
    """
    every, reasons = _intervals(at_us, counters, longest_s=longest_s, wide=wide)
    return every.chosen(~np.logical_or.reduce(list(reasons.values())))


def no_rate_reasons(
    at_us: Integers, counters: Integers, *, longest_s: float, wide: int | None = None
) -> list[NoRateReason | None]:
    """Why each interval has no growth, None where it has one; the arguments as above."""
    _, reasons = _intervals(at_us, counters, longest_s=longest_s, wide=wide)
    return [
        next((reason for reason, holds in zip(reasons, row, strict=True) if holds), None)
        for row in np.column_stack(list(reasons.values())).tolist()
    ]


def _intervals(
    at_us: Integers, counters: Integers, *, longest_s: float, wide: int | None
) -> tuple[GrowthColumns, dict[NoRateReason, Flags]]:
    """Every interval between neighbours, and where each reason against a growth of it holds."""
    interval_us = np.diff(at_us)
    growth, is_reset, is_incomplete = growth_between(counters[:-1], counters[1:], wide=wide)
    reasons = {
        NoRateReason.GAP: interval_us / 1e6 > longest_s,
        NoRateReason.INCOMPLETE: is_incomplete,
        NoRateReason.RESET: is_reset,
    }
    return GrowthColumns(at_us=at_us[1:], interval_us=interval_us, growth=growth), reasons


def longest_interval_of(at_us: Integers, *, step_s: float = 0.0) -> float:
    """The longest time between readings that is not a gap: three times the typical one.

    The readings are in order. `step_s` is the distance at which they were asked for; a coarse
    step widens the bound that holds however rare the readings are.
    """
    bound = max(LONGEST_INTERVAL_S, GAP_FACTOR * step_s)
    if len(at_us) < 2:
        return bound
    return min(GAP_FACTOR * float(np.median(np.diff(at_us) / 1e6)), bound)


def merged_columns(
    parts: Iterable[GrowthColumns], *, since_us: int, until_us: int, width: int
) -> GrowthColumns:
    """The intervals with `since < at <= until` of several series about one subject.

    Every series counts for itself, because the counters of two need not be the same; where two
    overlap, the one given first is believed. `width` is the number of columns of growth, of
    which there may be no series at all.
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
