"""Charts, and the parts that those of datastores and uplinks share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from advisor.core.enumeration import listed
from advisor.models import Attachment, Resource
from advisor.queries.allocation_rates import WorkloadTrack
from advisor.queries.resources import resource_line
from advisor.queries.totals import total_of
from advisor.resource_kinds.reader import Devices
from ingest.core.grid import Grid, grid_of
from ingest.core.steps import step_of

OTHERS = "everything else"

PLAIN, PLAIN_TOO = -1, -2
"""Colours of lines without a workload; colours of workloads start at 1."""


Incidents = tuple[tuple[datetime, datetime | None], ...]
"""Begin and end of each, in order; one that is open ends in None."""


class ChartKind(StrEnum):
    LINE = "line"
    STACK = "stack"


@dataclass(frozen=True, slots=True, kw_only=True)
class Track:
    """One line of a chart; `is_earlier` if it shows the same time of an earlier day."""

    label: str
    colour: int
    values: tuple[float | None, ...]
    is_earlier: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A labelled level across a chart; `colour` that of the workload it belongs to, or None."""

    label: str
    value: float
    colour: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """One chart; `unit` is ms, ratio, packets_per_s or a resource unit; `gap` why it is empty.

    `incidents` are its own, None if it shows those of its set.
    """

    key: str
    title: str
    unit: str
    kind: ChartKind
    tracks: tuple[Track, ...]
    marks: tuple[Mark, ...]
    gap: str | None
    incidents: Incidents | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartSet:
    """All charts of a page over one range; of `incidents` an open one ends in None."""

    step_s: int
    ends_s: tuple[int, ...]
    charts: tuple[Chart, ...]
    incidents: Incidents = ()


def charts_on(grid: Grid, charts: Iterable[Chart], incidents: Incidents = ()) -> ChartSet:
    """The charts, whose values are those of the windows of the grid."""
    return ChartSet(
        step_s=round(grid.window_s),
        ends_s=tuple((grid.ends_us // 1_000_000).tolist()),
        charts=tuple(charts),
        incidents=incidents,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartSpan:
    """Which stretch of time, and how many cells at most."""

    since: datetime
    until: datetime
    points: int

    def grid(self, step_s: int | None, *, finest_s: float) -> Grid:
        """Cells of a given step, or of the smallest that fits and is no finer than `finest_s`."""
        wanted_s = (self.until - self.since).total_seconds() / self.points
        return grid_of(self.since, self.until, step_s or step_of(max(wanted_s, finest_s)))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ResourceFigures:
    """What the devices of a resource, in the order of `attachments`, and its workloads did."""

    resource: Resource
    grid: Grid
    attachments: Sequence[Attachment]
    devices: Devices[Any]
    tracks: list[WorkloadTrack]


def workload_chart(
    resource: Resource, tracks: list[WorkloadTrack], total: list[float | None]
) -> Chart:
    """The rate of each workload, stacked; load without an allocation comes last."""
    stacked = [
        Track(label=track.workload, colour=position, values=track.values)
        for position, track in enumerate(tracks, start=1)
    ]
    if tracks:
        allocated = total_of([track.values for track in tracks])
        rest = tuple(
            None if whole is None else max(0.0, whole - (part or 0.0))
            for whole, part in zip(total, allocated, strict=True)
        )
        stacked.append(Track(label=OTHERS, colour=0, values=rest))
    gap = None
    if not tracks:
        gap = f"No workload has an allocation on {resource.name}: sluice allocation set"
    elif all(value is None for track in tracks for value in track.values):
        gap = "No samples of these workloads' adapters arrived in this range."
    return Chart(
        key="workloads",
        title="Rate per workload",
        unit=resource.unit,
        kind=ChartKind.STACK,
        tracks=tuple(stacked),
        marks=promise_marks(tracks) + capacity_marks(resource),
        gap=gap,
    )


def promise_marks(tracks: list[WorkloadTrack]) -> tuple[Mark, ...]:
    return tuple(
        Mark(label=f"reserved for {track.workload}", value=track.reservation, colour=position)
        for position, track in enumerate(tracks, start=1)
        if track.reservation > 0
    )


def capacity_marks(resource: Resource) -> tuple[Mark, ...]:
    return (Mark(label="capacity", value=resource.capacity),) if resource.capacity else ()


def threshold_marks(resource: Resource, now: datetime) -> tuple[Mark, ...]:
    threshold = resource_line(resource, now=now).threshold
    return () if threshold is None else (Mark(label="threshold", value=threshold),)


def sample_gap(values: Sequence[float | None], attachments: Sequence[Attachment]) -> str | None:
    if any(value is not None for value in values):
        return None
    devices = listed(str(attachment) for attachment in attachments)
    where = f" of {devices}" if devices else ""
    return f"No samples{where} arrived in this range."
