"""The exact history as tables of other programs: a row per subject and window."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from accounts.models import Organisation
from advisor.core.stored_hour import WINDOW_S, Integers
from advisor.history.stored.read import read_sealed
from advisor.models import Allocation, Resource, Track, Workload
from ingest.core.canonical_figures import FIGURES
from ingest.core.figures import FIGURE_KINDS, FigureKind
from ingest.core.grid import NOT_SENT, GridGrowth, grid_of
from ingest.grid_reader import Subject
from ingest.open_hours import HOUR

SUBJECT_COLUMNS = ("at", "host", "subject", "device", "seconds")
"""The end of the window, whose it is, and how much of the window readings cover."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedTrack:
    """A track with the name of its host."""

    kind: str
    host: str
    subject: Subject


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedRows:
    """Rows of one kind: `columns` names their values; counters are growths in the window."""

    kind: str
    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]


def tracks_of_resource(resource: Resource) -> list[ExportedTrack]:
    """What was ever stored with the resource: its devices and the adapters of its workloads."""
    return _exported(
        Track.objects.filter(members__shard__resource=resource).distinct().order_by("pk")
    )


def tracks_of_workload(workload: Workload) -> list[ExportedTrack]:
    """What was measured at the workload's adapters."""
    adapters = Allocation.objects.filter(workload=workload).values_list("host", "adapter")
    return [
        one
        for host, adapter in adapters.distinct().order_by("host", "adapter")
        for one in _exported(Track.objects.filter(host=host, subject=adapter).order_by("pk"))
    ]


def exported_rows(
    organisation: Organisation,
    tracks: Sequence[ExportedTrack],
    *,
    since: datetime,
    until: datetime,
) -> Iterator[ExportedRows]:
    """Windows that end in (since, until] and are known, an hour of a kind at a time."""
    for kind in FIGURE_KINDS:
        own = [one for one in tracks if one.kind == kind.name]
        begin = since
        while own and begin < until:
            end = min(begin + HOUR, until)
            grid = grid_of(begin, end, WINDOW_S)
            found = read_sealed(organisation.pk, kind, [one.subject for one in own], grid)
            rows = _rows(kind, own, found)
            if rows:
                names = [figure.name for figure in FIGURES[kind.name][:-1]]
                yield ExportedRows(kind=kind.name, columns=(*SUBJECT_COLUMNS, *names), rows=rows)
            begin = end


def _exported(tracks: Any) -> list[ExportedTrack]:
    return [
        ExportedTrack(
            kind=kind, host=name, subject=Subject(host=host, name=subject, device=device)
        )
        for kind, host, name, subject, device in tracks.values_list(
            "kind", "host", "host__name", "subject", "device"
        )
    ]


def _rows(
    kind: FigureKind[Any], tracks: Sequence[ExportedTrack], found: GridGrowth
) -> list[tuple[Any, ...]]:
    windows, columns = np.nonzero(found.seconds > 0)
    ends = found.grid.ends
    values = _values(kind, found)[:, windows, columns].T.tolist()
    return [
        (
            ends[window],
            tracks[column].host,
            tracks[column].subject.name,
            tracks[column].subject.device,
            float(found.seconds[window, column]),
            *(None if value == NOT_SENT else value for value in row),
        )
        for window, column, row in zip(windows.tolist(), columns.tolist(), values, strict=True)
    ]


def _values(kind: FigureKind[Any], found: GridGrowth) -> Integers:
    """(figures, windows, columns)."""
    if not kind.gauges:
        return found.growth
    return np.concatenate([found.growth, found.gauges[:, 1:]])
