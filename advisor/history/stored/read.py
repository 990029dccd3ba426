"""Reads growth back from chunks, added up into windows, in the shape in which samples are read.

A subject costs no statement of its own: there are two, or three, whatever is asked.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from advisor.core.chunk import UNKNOWN
from advisor.core.stored_hour import (
    FIVE_MINUTE_SUMS,
    QUARTER_S,
    QUARTER_SUMS,
    STEPS_OF_SUMS,
    WINDOW_S,
    Flags,
)
from advisor.history.stored.chunk_runs import Hours, Run, figure_numbers, read_runs
from advisor.history.stored.columns import Shard, Wanted, shards_of
from advisor.history.stored.window_sums import WindowSums
from ingest.core.figures import FigureKind
from ingest.core.grid import Grid, GridGrowth, microseconds, moment
from ingest.grid_reader import Subject
from ingest.open_hours import HOUR

_WINDOW_US = WINDOW_S * 1_000_000
_QUARTER_US = QUARTER_S * 1_000_000
_HOUR_US = 3_600_000_000


def read_sealed(
    organisation: int, kind: FigureKind[Any], subjects: Sequence[Subject], grid: Grid
) -> GridGrowth:
    """The growth of each subject in each window of sealed hours; a column per subject.

    What is not sealed is not known. A window that is no multiple of 10 s long takes its part of
    those that it lies in.
    """
    found = SealedHours(
        {kind: subjects}, grid, until=grid.until, organisations=frozenset({organisation})
    )
    return found.sums[kind].growth()


class SealedHours:
    """What is stored of subjects in the sealed hours of a grid that begin before `until`.

    `known` says of each kind which windows of 10 s of the grid `watched` are stored, (subjects,
    windows). `organisations` are those whose subjects are looked for, None for all.
    """

    def __init__(
        self,
        wanted: Wanted,
        grid: Grid,
        *,
        until: datetime,
        watched: Grid | None = None,
        organisations: Collection[int] | None = None,
    ) -> None:
        self._kinds = list(wanted)
        self._watched = watched
        self.sums = {
            kind: WindowSums(
                grid,
                counters=len(kind.counters),
                gauges=len(kind.gauges),
                subjects=len(subjects),
            )
            for kind, subjects in wanted.items()
        }
        self.known: dict[FigureKind[Any], Flags] = {
            kind: np.zeros((len(subjects), watched.count if watched else 0), dtype=np.bool_)
            for kind, subjects in wanted.items()
        }
        if grid.count and until > grid.since:
            shards, owners = shards_of(wanted, organisations)
            if shards:
                self._read(shards, owners, grid, until)

    def _read(
        self, shards: Mapping[int, Shard], owners: Collection[int], grid: Grid, until: datetime
    ) -> None:
        # Sums are fewer, and windows of whole steps are made of them exactly.
        number = _sums_for(grid) if self._watched is None else None
        exact = figure_numbers(self._kinds)
        # At the first edge gauges are asked for, which belong to the window before it.
        since = grid.since - timedelta(seconds=WINDOW_S)
        found: set[tuple[int, datetime]] = set()
        asked = Hours(exact if number is None else [number], since - HOUR, until)
        for run in read_runs(owners, shards=shards, asked=[asked]):
            self._add(run)
            found.update((run.number, at) for at in run.hours)
        hours = _hours(since, until) if number == FIVE_MINUTE_SUMS else []
        lacking = {(shard, at) for shard in shards for at in hours} - found
        if not lacking:
            return
        # Hours that were sealed before there were such sums have the windows alone.
        own, times = zip(*lacking, strict=True)
        asked = Hours(exact, min(times), max(times) + HOUR)
        wanted = {number: shards[number] for number in own}
        for run in read_runs(owners, shards=wanted, asked=[asked], among=lacking):
            self._add(run)

    def _add(self, run: Run) -> None:
        kind = run.shard.kind
        if run.figure == figure_numbers([kind])[-1] and self._watched is not None:
            self._note_known(kind, run)
        run.add_to(self.sums[kind], kind)

    def _note_known(self, kind: FigureKind[Any], run: Run) -> None:
        assert self._watched is not None
        lines = run.lines
        first = (run.begin_us - self._watched.since_us) // _WINDOW_US
        low, high = max(first, 0), min(first + lines.shape[1], self._watched.count)
        if low < high:
            known = lines[:, low - first : high - first] != UNKNOWN
            self.known[kind][run.own, low:high] = known


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Span:
    """Windows, and of which kinds something is read in them: whole ones, or parts of those."""

    grid: Grid
    kinds: tuple[FigureKind[Any], ...]

    def hours(self, until: datetime) -> Hours:
        """The chunks of hours that begin before `until`, which its windows are made of."""
        grid = self.grid
        # Sums are fewer, and windows of whole quarters are made of them exactly.
        is_of_quarters = not (grid.window_us % _QUARTER_US or grid.since_us % _QUARTER_US)
        figures = [QUARTER_SUMS] if is_of_quarters else figure_numbers(self.kinds)
        return Hours(figures, grid.since - HOUR, min(until, grid.until))

    def sums(self, wanted: Wanted) -> dict[FigureKind[Any], WindowSums]:
        """Of the subjects that are wanted of each whole kind."""
        return {
            kind: WindowSums(
                self.grid,
                counters=len(kind.counters),
                gauges=len(kind.gauges),
                subjects=len(wanted[kind.whole]),
            )
            for kind in self.kinds
        }


def read_sealed_spans(
    wanted: Wanted, spans: Sequence[Span], *, until: datetime
) -> list[dict[FigureKind[Any], WindowSums]]:
    """What is stored of subjects in several spans, in the hours that begin before `until`.

    `wanted` are the subjects by whole kind. A chunk is read once for all spans.
    """
    found = [span.sums(wanted) for span in spans]
    if all(span.grid.since >= until for span in spans):
        return found
    shards, owners = shards_of(wanted, None)
    asked = [span.hours(until) for span in spans]
    for run in read_runs(owners, shards=shards, asked=asked):
        for one, sums in zip(asked, found, strict=True):
            part = run.within(one.since, one.until) if run.figure in one.figures else None
            for kind, own in sums.items():
                if part is not None and kind.whole is run.shard.kind:
                    part.add_to(own, kind)
    return found


def _sums_for(grid: Grid) -> int | None:
    """The number of the coarsest sums that the windows are made of; None if they are finer."""
    for number, steps in sorted(STEPS_OF_SUMS.items(), key=lambda one: one[1]):
        step_us = _HOUR_US // steps
        if not (grid.window_us % step_us or grid.since_us % step_us):
            return number
    return None


def _hours(since: datetime, until: datetime) -> list[datetime]:
    """The begins of the hours that reach into [since, until)."""
    first = microseconds(since) // _HOUR_US * _HOUR_US
    return [moment(at_us) for at_us in range(first, microseconds(until), _HOUR_US)]
