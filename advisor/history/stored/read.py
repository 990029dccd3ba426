"""Reads growth back from chunks, in the shape in which samples are read.

`ingest.grid_reader.read_growth` reads the hours that are open, this the sealed ones. A subject
costs no statement of its own: there are two, whatever is asked.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import numpy as np

from advisor.core.chunk import UNKNOWN, unpack
from advisor.core.stored_hour import WINDOW_S, Integers
from advisor.history.stored.chunk_rows import read_chunks
from advisor.models import Member
from ingest.core.canonical_figures import FIGURES
from ingest.core.figures import FigureKind
from ingest.core.grid import LEAST_COVER, Grid, GridGrowth
from ingest.core.microseconds import microseconds
from ingest.grid_reader import Subject
from ingest.open_hours import HOUR

_WINDOW_US = WINDOW_S * 1_000_000
_FOREVER = datetime.max.replace(tzinfo=UTC)


class WindowError(ValueError):
    """Windows that do not consist of whole stored ones."""


def read_sealed(
    organisation: int, kind: FigureKind[Any], subjects: Sequence[Subject], grid: Grid
) -> GridGrowth:
    """The growth of each subject in each window of sealed hours; a column per subject.

    Windows are a multiple of 10 s long; raises `WindowError` for others. What is not sealed is
    not known.
    """
    if grid.window_us % _WINDOW_US or grid.since_us % _WINDOW_US:
        raise WindowError(f"windows of {grid.window_s:g} s are not made of {WINDOW_S} s each")
    spans = _spans(organisation, kind, subjects)
    rows = {figure.number: row for row, figure in enumerate(FIGURES[kind.name])}
    # One window more at the begin: its end is the first edge, at which gauges are asked for.
    first_us = grid.since_us - _WINDOW_US
    steps = (grid.until_us - first_us) // _WINDOW_US
    values = np.full((len(rows), len(subjects), steps), UNKNOWN, dtype=np.int64)
    chunks = read_chunks(
        organisation,
        shards=spans,
        figures=rows,
        since=grid.since - timedelta(seconds=WINDOW_S) - HOUR,
        until=grid.until,
    )
    for (shard, figure, at), data in chunks:
        here = [span for span in spans[shard] if span.since <= at < span.until]
        if here:
            begin = (microseconds(at) - first_us) // _WINDOW_US
            _put(values[rows[figure]], unpack(data), here, begin)
    return _grown(values, grid, counters=len(kind.counters))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Span:
    """The hours in which a subject, the column `own` of the answer, is in a column of a shard."""

    own: int
    stored: int
    since: datetime
    until: datetime


def _spans(
    organisation: int, kind: FigureKind[Any], subjects: Sequence[Subject]
) -> Mapping[int, list[_Span]]:
    """By shard where the subjects are in it, in one statement."""
    own = {subject: place for place, subject in enumerate(subjects)}
    members = Member.objects.filter(
        track__organisation=organisation,
        track__kind=kind.name,
        track__host__in={subject.host for subject in subjects},
        track__subject__in={subject.name for subject in subjects},
    ).order_by("track", "since")
    places: dict[int, list[tuple[datetime, int, int]]] = defaultdict(list)
    for host, name, device, since, shard, column in members.values_list(
        "track__host", "track__subject", "track__device", "since", "shard_id", "column"
    ):
        place = own.get(Subject(host=host, name=name, device=device))
        if place is not None:
            places[place].append((since, shard, column))
    spans: dict[int, list[_Span]] = defaultdict(list)
    for place, rows in places.items():
        for (since, shard, column), (until, _, _) in pairwise([*rows, (_FOREVER, 0, 0)]):
            spans[shard].append(_Span(own=place, stored=column, since=since, until=until))
    return spans


def _put(target: Integers, chunk: Integers, spans: Sequence[_Span], begin: int) -> None:
    """Copy columns of a chunk into lines of the target, (subjects, windows), from `begin` on.

    Both are contiguous in time, so a line is copied at once.
    """
    low, high = max(begin, 0), min(begin + len(chunk), target.shape[1])
    lines = chunk.T[:, low - begin : high - begin]
    for span in spans:
        # A chunk may be of before the shard had the column.
        if span.stored < len(lines):
            target[span.own, low:high] = lines[span.stored]


def _grown(values: Integers, grid: Grid, *, counters: int) -> GridGrowth:
    """Windows of the grid from stored ones, of which `values` has one before the grid."""
    per_window = grid.window_us // _WINDOW_US
    gauges = values[counters:-1, :, ::per_window].swapaxes(1, 2)
    growth, covered_us = (
        _summed(part[..., 1:], per_window) for part in (values[:counters], values[-1:])
    )
    seconds = covered_us[0].T / 1e6
    unknown = seconds < LEAST_COVER * grid.window_s
    if unknown.any():
        seconds[unknown] = 0.0
        growth[:, unknown.T] = 0
    return GridGrowth(grid=grid, growth=growth.swapaxes(1, 2), seconds=seconds, gauges=gauges)


def _summed(values: Integers, per_window: int) -> Integers:
    """(figures, subjects, windows): so many stored windows together, the unknown ones as 0."""
    known = np.maximum(values, 0, out=values)
    if per_window == 1:
        return known
    figures, subjects, steps = known.shape
    shape = (figures, subjects, steps // per_window, per_window)
    summed: Integers = known.reshape(shape).sum(axis=3)
    return summed
