"""Counters of many series on one grid of windows: what each grew by in each window.

Readings may come at any time. A counter is interpolated at the edges of the windows, once and to
whole numbers, so the growths of any windows add up to that of the time they cover.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from math import ceil, floor
from typing import TypeVar

import numpy as np
import numpy.typing as npt

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)

Number = TypeVar("Number", np.int64, np.float64)

GAP_FACTOR = 3
"""An interval longer than this many times the one before it is a gap, unless it is short."""
LONGEST_INTERVAL_S = 900.0
"""Readings further apart never make a rate, unless a coarser step was asked for."""

WRAP_32 = 2**32
_LARGEST_TOTAL = 2.0**62
NOT_SENT = -1
"""No counter is negative, so this stands for one that was not sent."""

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

SURE_INTERVAL_S = 60.0
"""Hosts send at least once a minute, so readings this close always make a rate."""
SNAP_RATIO = 0.005
"""A reading this close to an edge, as a fraction of the window, counts as taken at the edge."""
LEAST_COVER = 0.5
"""A window is known if readings cover at least this fraction of it."""


def moment(at_us: int) -> datetime:
    """The time this many microseconds after 1970, which is how the database keeps times."""
    return EPOCH + timedelta(microseconds=at_us)


def microseconds(at: datetime) -> int:
    """The microseconds from 1970 to a time."""
    return (at - EPOCH) // MICROSECOND


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """`count` windows of one length from `since_us` (microseconds since 1970) on.

    Windows of the product begin at whole multiples of their length since 1970.
    """

    since_us: int
    window_us: int
    count: int

    @property
    def window_s(self) -> float:
        return self.window_us / 1e6

    @property
    def until_us(self) -> int:
        return self.since_us + self.count * self.window_us

    @property
    def since(self) -> datetime:
        return moment(self.since_us)

    @property
    def until(self) -> datetime:
        return moment(self.until_us)

    @property
    def edges_us(self) -> Integers:
        """(windows + 1)."""
        return self.since_us + self.window_us * np.arange(self.count + 1, dtype=np.int64)

    @property
    def ends_us(self) -> Integers:
        """(windows)."""
        return self.edges_us[1:]

    @property
    def ends(self) -> list[datetime]:
        """The ends of the windows, in order."""
        length = timedelta(microseconds=self.window_us)
        return [self.since + length * place for place in range(1, self.count + 1)]

    def part(self, begin: int, end: int) -> Grid:
        """The windows from place `begin` to before place `end`."""
        begin_us = self.since_us + begin * self.window_us
        return Grid(since_us=begin_us, window_us=self.window_us, count=max(end - begin, 0))


def grid_of(since: datetime, until: datetime, window_s: float) -> Grid:
    """The windows of this length that end in (since, until]."""
    window_us = round(window_s * 1e6)
    first = floor(microseconds(since) / window_us)
    count = max(floor(microseconds(until) / window_us) - first, 0)
    return Grid(since_us=first * window_us, window_us=window_us, count=count)


def grid_around(since: datetime, until: datetime, window_s: float) -> Grid:
    """The fewest windows of this length that cover all of the time."""
    window_us = round(window_s * 1e6)
    first = floor(microseconds(since) / window_us)
    count = max(ceil(microseconds(until) / window_us) - first, 0)
    return Grid(since_us=first * window_us, window_us=window_us, count=count)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Readings:
    """Readings of many series, those of one after the other, each series in order of time.

    `series` (readings) is the place of the series, `at_us` its time, `values` (readings, columns)
    the counters and after them the gauges; `NOT_SENT` is one that was not sent.
    """

    series: Integers
    at_us: Integers
    values: Integers


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GridGrowth:
    """Growth on a grid, for `series` columns.

    `growth` (counters, windows, series) is what each counter grew by in the part of the window
    that readings cover; `seconds` (windows, series) is that part, 0 where nothing is known.
    `gauges` (gauges, windows + 1, series) are the newest values at the edges, or `NOT_SENT`.
    """

    grid: Grid
    growth: Integers
    seconds: Floats
    gauges: Integers

    def chosen(self, columns: Integers) -> GridGrowth:
        """These columns, in this order."""
        if np.array_equal(columns, np.arange(self.seconds.shape[1])):
            return self
        return GridGrowth(
            grid=self.grid,
            growth=self.growth[:, :, columns],
            seconds=self.seconds[:, columns],
            gauges=self.gauges[:, :, columns],
        )

    def part(self, begin: int, end: int) -> GridGrowth:
        """The windows from place `begin` to before place `end`."""
        return GridGrowth(
            grid=self.grid.part(begin, end),
            growth=self.growth[:, begin:end],
            seconds=self.seconds[begin:end],
            gauges=self.gauges[:, begin : end + 1],
        )

    def merged(self, subjects: Merging) -> GridGrowth:
        """One column for each subject: in each window the first of its series that is known."""
        growth = _columns(self.growth, subjects.firsts, empty=0)
        seconds = _columns(self.seconds, subjects.firsts, empty=0.0)
        gauges = _columns(self.gauges, subjects.firsts, empty=NOT_SENT)
        for column, place in subjects.others:
            lacks = seconds[:, column] == 0
            growth[:, lacks, column] = self.growth[:, lacks, place]
            seconds[lacks, column] = self.seconds[lacks, place]
            absent = gauges[:, :, column] == NOT_SENT
            gauges[:, :, column][absent] = self.gauges[:, :, place][absent]
        return GridGrowth(grid=self.grid, growth=growth, seconds=seconds, gauges=gauges)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Merging:
    """Which series each subject has, by their places.

    `firsts` (subjects) is the first of each, -1 if it has none. `others` are pairs of a subject
    and a further series of it, in order: a subject has several when its tags changed or two
    collectors send about it.
    """

    firsts: Integers
    others: tuple[tuple[int, int], ...]


def merging(columns: Sequence[Sequence[int]]) -> Merging:
    """That of subjects whose series have these places."""
    firsts = [places[0] if places else -1 for places in columns]
    return Merging(
        firsts=np.array(firsts, dtype=np.int64),
        others=tuple(
            (column, place) for column, places in enumerate(columns) for place in places[1:]
        ),
    )


def _columns(
    values: npt.NDArray[Number], places: Integers, *, empty: float
) -> npt.NDArray[Number]:
    """The given columns of the last axis, copied; `empty` where a place is negative."""
    if not values.shape[-1]:
        return np.full((*values.shape[:-1], len(places)), empty, dtype=values.dtype)
    found = values[..., np.maximum(places, 0)]
    found[..., places < 0] = empty
    return found


def on_grid(
    readings: Readings,
    grid: Grid,
    *,
    series_count: int,
    counters: int,
    wide: int | None = None,
    needed: int | None = None,
    step_s: float | Floats = 0.0,
    least_cover: float = LEAST_COVER,
) -> GridGrowth:
    """The growth of the first `counters` columns in each window of the grid; the rest are gauges.

    The first `wide` counters, or all, have 64 bits; the first `needed`, or all, must be sent.
    `step_s` is the distance at which readings were asked for, of all or of each (series), 0 for
    all readings. An interval is a gap if it is longer than a minute and than three times the one
    before it: a collector that sends rarely does so regularly. Windows that are covered less than
    `least_cover` are unknown.
    """
    windows, edges_us = grid.count, grid.edges_us
    at_us = _snapped(readings.at_us, grid)
    valid, growth, interval_us = _intervals(
        readings, at_us, counters=counters, wide=wide, needed=needed, step_s=step_s
    )
    place, fraction = _places(
        readings.series, at_us, np.where(valid, interval_us, 0), edges_us, series_count
    )
    seconds = np.zeros((windows, series_count))
    result = np.zeros((counters, windows, series_count), dtype=np.int64)
    gauges = np.full(
        (readings.values.shape[1] - counters, windows + 1, series_count), NOT_SENT, dtype=np.int64
    )
    if not len(at_us) or not windows:
        return GridGrowth(grid=grid, growth=result, seconds=seconds, gauges=gauges)
    first = np.searchsorted(readings.series, np.arange(series_count))
    # A series' first reading has no growth of its own.
    begun = np.where(place >= 0, place, np.minimum(first, len(at_us) - 1))
    seconds = _between_edges(interval_us, begun, place, fraction) / 1e6
    known = seconds >= least_cover * grid.window_s
    seconds[~known] = 0.0
    for counter in range(counters):
        grown = _between_edges(growth[:, counter], begun, place, fraction)
        result[counter] = np.where(known, grown, 0)
    for gauge in range(gauges.shape[0]):
        age_us = edges_us[:, None] - at_us[np.maximum(place, 0)]
        is_fresh = (place >= 0) & (age_us <= SURE_INTERVAL_S * 1e6)
        values = readings.values[:, counters + gauge]
        gauges[gauge] = np.where(is_fresh, values[np.maximum(place, 0)], NOT_SENT)
    return GridGrowth(grid=grid, growth=result, seconds=seconds, gauges=gauges)


def totals_of_rates(readings: Readings, rates: Flags, *, counters: int) -> Readings:
    """The same readings with totals in place of rates, for the series (series) that are `rates`.

    A rate is a mean since the reading before, in thousandths a second. Only differences of the
    totals mean anything.
    """
    own = rates[readings.series] if len(readings.series) else np.zeros(0, dtype=np.bool_)
    if not own.any():
        return readings
    series, at_us = readings.series[own], readings.at_us[own]
    values = readings.values[own]
    follows = np.concatenate([[False], series[1:] == series[:-1]])
    length_us = np.where(follows, np.concatenate([[0], np.diff(at_us)]), 0)
    rate = values[:, :counters]
    grown = np.where(rate == NOT_SENT, 0.0, rate * (length_us[:, None] / 1e9))
    # Each series for itself: what one adds up to takes digits from those behind it.
    edges = [*np.flatnonzero(~follows).tolist(), len(series)]
    sums = np.concatenate([np.cumsum(grown[begin:end], axis=0) for begin, end in pairwise(edges)])
    totals = np.rint(np.minimum(sums, _LARGEST_TOTAL)).astype(np.int64)
    values = values.copy()
    values[:, :counters] = np.where(rate == NOT_SENT, NOT_SENT, totals + 1)
    every = readings.values.copy()
    every[own] = values
    return Readings(series=readings.series, at_us=readings.at_us, values=every)


def _snapped(at_us: Integers, grid: Grid) -> Integers:
    nearest = grid.since_us + np.rint((at_us - grid.since_us) / grid.window_us).astype(
        np.int64
    ) * np.int64(grid.window_us)
    close = np.abs(at_us - nearest) <= SNAP_RATIO * grid.window_us
    return np.where(close, nearest, at_us)


def _intervals(
    readings: Readings,
    at_us: Integers,
    *,
    counters: int,
    wide: int | None,
    needed: int | None,
    step_s: float | Floats,
) -> tuple[Flags, Integers, Integers]:
    """Of the interval that ends with each reading: whether it counts, its growth, its length.

    All three have a row per reading; growth and length are 0 where the interval does not count.
    """
    count = len(at_us)
    values = readings.values[:, :counters]
    valid = np.zeros(count, dtype=np.bool_)
    growth = np.zeros((count, counters), dtype=np.int64)
    interval_us = np.zeros(count, dtype=np.int64)
    if count < 2:
        return valid, growth, interval_us
    follows = readings.series[1:] == readings.series[:-1]
    # By the times as sent: snapping must not turn a gap into an interval.
    length_us = np.where(follows, np.diff(readings.at_us), 0)
    grown, is_reset, is_incomplete = growth_between(
        values[:-1], values[1:], wide=wide, needed=needed
    )
    before_us = np.concatenate([[0], length_us[:-1]])
    steps_s = step_s[readings.series[1:]] if isinstance(step_s, np.ndarray) else step_s
    is_gap = gaps(length_us, before_us, step_s=steps_s)
    valid[1:] = follows & ~is_reset & ~is_incomplete & ~is_gap
    growth[1:], interval_us[1:] = grown, np.diff(at_us)
    growth[~valid] = 0
    interval_us[~valid] = 0
    return valid, growth, interval_us


def gaps(length_us: Integers, before_us: Integers, *, step_s: float | Floats = 0.0) -> Flags:
    """Which intervals are too long, by their length and that of the one before each.

    One before that is too long itself is no measure: whoever looks at a few windows only does not
    see where it began.
    """
    sure_us = 1e6 * np.maximum(SURE_INTERVAL_S, GAP_FACTOR * step_s)
    longest_us = 1e6 * np.maximum(LONGEST_INTERVAL_S, GAP_FACTOR * step_s)
    usual_us = np.where(before_us <= longest_us, before_us, 0)
    found: Flags = (length_us > longest_us) | (
        (length_us > sure_us) & (length_us > GAP_FACTOR * usual_us)
    )
    return found


def growth_between(
    before: Integers, after: Integers, *, wide: int | None = None, needed: int | None = None
) -> tuple[Integers, Flags, Flags]:
    """The growth (intervals, counters), and which intervals have a reset or lack a counter.

    Of the counters after the first `needed` one that is sent at neither end grew by nothing.

    A counter that starts again from zero takes its whole subject with it, and a wrap does not:
    so it is a reset when every 64-bit counter that had counted anything went down, or when one
    went down so little, or from so low, that a wrap cannot explain it.
    """
    growth = after - before
    is_reset, is_incomplete = (np.zeros(len(growth), dtype=np.bool_) for _ in range(2))
    # All others went up, or stood still, in every counter.
    odd = np.flatnonzero(np.logical_or.reduce((after < before) | (before < 0), axis=1))
    growth[odd], is_reset[odd], is_incomplete[odd] = _odd_growth(
        before[odd], after[odd], wide=wide, needed=needed
    )
    return growth, is_reset, is_incomplete


def _odd_growth(
    before: Integers, after: Integers, *, wide: int | None, needed: int | None
) -> tuple[Integers, Flags, Flags]:
    went_down = after < before
    growth = after - before + np.where(went_down, WRAP_32, 0)
    # Stored counters end at 2^63, so none of them passes 2^64.
    no_wrap: Flags = went_down & ((before >= WRAP_32) | (growth >= WRAP_32 // 2))
    is_reset: Flags = np.logical_or.reduce(no_wrap, axis=1)
    counted = before[:, :wide] > 0
    is_reset |= counted.any(axis=1) & (went_down[:, :wide] | ~counted).all(axis=1)
    lacks: Flags = (before == NOT_SENT) | (after == NOT_SENT)
    if needed is not None:
        lacks[:, needed:] &= before[:, needed:] != after[:, needed:]
    is_incomplete: Flags = np.logical_or.reduce(lacks, axis=1)
    return growth, is_reset, is_incomplete


def _places(
    series: Integers, at_us: Integers, interval_us: Integers, edges_us: Integers, series_count: int
) -> tuple[Integers, Floats]:
    """For each edge and series: the last reading at or before it, and how far into the interval
    after that reading the edge lies (0 to 1); both (edges, series). -1 is before the first.
    """
    if not len(at_us):
        nothing = np.full((len(edges_us), series_count), -1, dtype=np.int64)
        return nothing, np.zeros(nothing.shape)
    origin = min(int(at_us.min()), int(edges_us[0]))
    stride = max(int(at_us.max()), int(edges_us[-1])) - origin + 1
    keys = series * stride + (at_us - origin)
    own = np.arange(series_count, dtype=np.int64)
    # In order: that is found several times as fast.
    wanted = (own * stride)[:, None] + (edges_us - origin)
    place = np.searchsorted(keys, wanted.ravel(), side="right").reshape(wanted.shape).T - 1
    place[(place >= 0) & (series[np.maximum(place, 0)] != own)] = -1
    after = np.minimum(place + 1, len(at_us) - 1)
    inside = (place >= 0) & (after > place) & (series[after] == own) & (interval_us[after] > 0)
    passed_us = edges_us[:, None] - at_us[np.maximum(place, 0)]
    fraction = np.where(inside, passed_us / np.maximum(interval_us[after], 1), 0.0)
    return place, fraction


def _between_edges(
    grown: Integers, begun: Integers, place: Integers, fraction: Floats
) -> Integers:
    """The sum of `grown` (readings) between two edges, per series; (windows, series).

    `begun` is the last reading up to an edge, or the first of the series before which there is
    none. The sum runs over all series one after the other, so only differences within a series
    mean anything.
    """
    total = np.cumsum(grown)
    at_edges = total[begun]
    if fraction.any():
        after = np.minimum(place + 1, len(grown) - 1)
        at_edges += np.rint(fraction * grown[after]).astype(np.int64)
    result: Integers = np.diff(at_edges, axis=0)
    return result
