"""The charts of a resource: what its devices and workloads did, on one grid of times."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import zip_longest

from django.db.models import Q

from advisor.core.latency import normalized_latency
from advisor.core.observation import HostLatency
from advisor.models import Attachment, Resource, Unit
from advisor.queries.claim_rates import WorkloadTrack, workload_tracks
from advisor.queries.grid import Grid, fitting_step_s, make_grid, mean_on, total_of
from advisor.queries.resources import resource_line
from ingest import queries
from ingest.core.rates import DiskRates, NetRates

OTHERS = "everything else"


class ChartKind(StrEnum):
    LINE = "line"
    STACK = "stack"


@dataclass(frozen=True, slots=True, kw_only=True)
class Track:
    """One line of a chart; `colour` numbers the workload, 0 is what belongs to none."""

    label: str
    colour: int
    values: tuple[float | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A labelled level across a chart; `colour` that of the workload it belongs to, or None."""

    label: str
    value: float
    colour: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """One chart; `unit` is ms, ratio, iops, bytes_per_s or bits_per_s; `gap` why it is empty."""

    key: str
    title: str
    unit: str
    kind: ChartKind
    tracks: tuple[Track, ...]
    marks: tuple[Mark, ...]
    gap: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartSet:
    """All charts of a resource over one range; `episodes` are (start, end), end None while open."""

    step_s: int
    ends_s: tuple[int, ...]
    charts: tuple[Chart, ...]
    episodes: tuple[tuple[datetime, datetime | None], ...]


def chart_set(
    resource: Resource,
    *,
    since: datetime,
    until: datetime,
    points: int,
    step_s: int | None = None,
    now: datetime,
) -> ChartSet:
    """The charts over (since, until] with at most `points` cells.

    A given `step_s` continues an earlier set, so that its cells fit.
    """
    read = _Read(resource=resource, since=since, until=until, points=points)
    attachments = list(resource.attachments.select_related("host"))
    if resource.is_uplink:
        grid, charts = _uplink_charts(read, attachments, step_s, now)
    else:
        grid, charts = _datastore_charts(read, attachments, step_s, now)
    return ChartSet(
        step_s=grid.step_s,
        ends_s=grid.ends_s,
        charts=charts,
        episodes=_episodes(resource, since, until),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    resource: Resource
    since: datetime
    until: datetime
    points: int

    def grid(self, rates: list[DiskRates] | list[NetRates], step_s: int | None) -> Grid:
        step = step_s or fitting_step_s(
            rates, since=self.since, until=self.until, points=self.points
        )
        return make_grid(self.since, self.until, step)

    @property
    def reach(self) -> datetime:
        """A little later than the range, so that the interval across its end is read too."""
        return self.until + timedelta(seconds=60)


def _episodes(
    resource: Resource, since: datetime, until: datetime
) -> tuple[tuple[datetime, datetime | None], ...]:
    touching = resource.episodes.filter(started_at__lte=until)
    open_or_later = Q(ended_at=None) | Q(ended_at__gte=since)
    rows = touching.filter(open_or_later).order_by("started_at")
    return tuple(rows.values_list("started_at", "ended_at"))


# --- Uplinks


def _uplink_charts(
    read: _Read, attachments: list[Attachment], step_s: int | None, now: datetime
) -> tuple[Grid, tuple[Chart, ...]]:
    rates = [
        item
        for attachment in attachments
        for item in queries.net_rates(
            host=attachment.host,
            interface=attachment.device,
            since=read.since,
            until=read.reach,
            max_points=read.points,
        )
    ]
    grid = read.grid(rates, step_s)
    sent = mean_on(grid, rates, [item.sent_bits_per_s for item in rates])
    received = mean_on(grid, rates, [item.received_bits_per_s for item in rates])
    tracks = workload_tracks(read.resource, grid, since=read.since, until=read.reach)
    charts = (
        _utilisation_chart(read.resource, sent, now),
        _workload_chart(read.resource, tracks, sent),
        Chart(
            key="rate",
            title="Sent and received",
            unit=Unit.BITS_PER_S,
            kind=ChartKind.LINE,
            tracks=(
                Track(label="sent", colour=1, values=tuple(sent)),
                Track(label="received", colour=2, values=tuple(received)),
            ),
            marks=_capacity_marks(read.resource),
            gap=_sample_gap(sent, attachments),
        ),
    )
    return grid, charts


def _utilisation_chart(resource: Resource, sent: list[float | None], now: datetime) -> Chart:
    capacity = resource.capacity
    values = (
        tuple(None if value is None else value / capacity for value in sent) if capacity else ()
    )
    gap = (
        _sample_gap(sent, [])
        if capacity
        else (
            f"The capacity of {resource.name} is not stated, so its load is no part of anything. "
            "State it with: sluice resource"
        )
    )
    return Chart(
        key="level",
        title="Part of the capacity in use",
        unit="ratio",
        kind=ChartKind.LINE,
        tracks=(Track(label="in use", colour=1, values=values),),
        marks=_threshold_marks(resource, now),
        gap=gap,
    )


# --- Datastores


def _datastore_charts(
    read: _Read, attachments: list[Attachment], step_s: int | None, now: datetime
) -> tuple[Grid, tuple[Chart, ...]]:
    rates = {
        attachment: queries.disk_rates(
            host=attachment.host,
            device=attachment.device,
            since=read.since,
            until=read.reach,
            max_points=read.points,
        )
        for attachment in attachments
    }
    grid = read.grid([item for found in rates.values() for item in found], step_s)
    iops = [
        mean_on(grid, found, [item.read_iops + item.write_iops for item in found])
        for found in rates.values()
    ]
    tracks = workload_tracks(read.resource, grid, since=read.since, until=read.reach)
    in_unit = _sum_over_hosts(grid, rates, _both(read.resource.unit))
    charts = (
        _latency_chart(read.resource, grid, rates, now),
        _workload_chart(read.resource, tracks, in_unit),
        _two_way_chart(grid, rates, Unit.IOPS, _sample_gap(total_of(iops or [[]]), attachments)),
        _two_way_chart(
            grid, rates, Unit.BYTES_PER_S, _sample_gap(total_of(iops or [[]]), attachments)
        ),
    )
    return grid, charts


DiskRatesByAttachment = dict[Attachment, list[DiskRates]]
_READS = {Unit.IOPS: "read_iops", Unit.BYTES_PER_S: "read_bytes_per_s"}
_WRITES = {Unit.IOPS: "write_iops", Unit.BYTES_PER_S: "write_bytes_per_s"}
_TITLES = {Unit.IOPS: "I/O rate", Unit.BYTES_PER_S: "Throughput"}


def _both(unit: str) -> tuple[str, ...]:
    return (_READS[Unit(unit)], _WRITES[Unit(unit)])


def _sum_over_hosts(
    grid: Grid, rates: DiskRatesByAttachment, names: tuple[str, ...]
) -> list[float | None]:
    rows = [
        mean_on(grid, found, [sum(getattr(item, name) for name in names) for item in found])
        for found in rates.values()
    ]
    return total_of(rows) if rows else [None] * len(grid.ends_s)


def _two_way_chart(grid: Grid, rates: DiskRatesByAttachment, unit: Unit, gap: str | None) -> Chart:
    read = _sum_over_hosts(grid, rates, (_READS[unit],))
    written = _sum_over_hosts(grid, rates, (_WRITES[unit],))
    return Chart(
        key="iops" if unit == Unit.IOPS else "throughput",
        title=_TITLES[unit],
        unit=unit,
        kind=ChartKind.LINE,
        tracks=(
            Track(label="read", colour=1, values=tuple(read)),
            Track(label="written", colour=2, values=tuple(written)),
        ),
        marks=(),
        gap=gap,
    )


def _latency_chart(
    resource: Resource, grid: Grid, rates: DiskRatesByAttachment, now: datetime
) -> Chart:
    """The latency that is compared with the threshold: size-normalised, over all hosts."""
    hosts = [_host_cells(grid, key.host.name, found) for key, found in rates.items()]
    values = [
        normalized_latency([host for host in cell if host is not None]).latency_ms
        for cell in zip_longest(*hosts)
    ]
    return Chart(
        key="level",
        title="Normalised latency",
        unit="ms",
        kind=ChartKind.LINE,
        tracks=(Track(label="latency", colour=1, values=tuple(values)),),
        marks=_threshold_marks(resource, now),
        gap=None if any(value is not None for value in values) else _NO_IO,
    )


_NO_IO = "No I/O was measured in this range, so there is no latency."


def _host_cells(grid: Grid, host: str, rates: list[DiskRates]) -> list[HostLatency | None]:
    count = [0.0] * len(grid.ends_s)
    waited = [0.0] * len(grid.ends_s)
    moved = [0.0] * len(grid.ends_s)
    for item in rates:
        iops = item.read_iops + item.write_iops
        for index, seconds in grid.cover(item):
            count[index] += iops * seconds
            waited[index] += iops * seconds * (item.latency_ms or 0.0)
            moved[index] += iops * seconds * (item.mean_io_bytes or 0.0)
    return [
        HostLatency(host=host, latency_ms=wait / ios, io_count=ios, mean_io_bytes=size / ios)
        if ios > 0
        else None
        for ios, wait, size in zip(count, waited, moved, strict=True)
    ]


# --- Both


def _workload_chart(
    resource: Resource, tracks: list[WorkloadTrack], total: list[float | None]
) -> Chart:
    """What each workload got, stacked; what no claim explains comes last."""
    stacked = [
        Track(label=track.workload, colour=position, values=track.values)
        for position, track in enumerate(tracks, start=1)
    ]
    if tracks:
        claimed = total_of([track.values for track in tracks])
        rest = tuple(
            None if whole is None else max(0.0, whole - (part or 0.0))
            for whole, part in zip(total, claimed, strict=True)
        )
        stacked.append(Track(label=OTHERS, colour=0, values=rest))
    gap = None
    if not tracks:
        gap = f"No workload has a claim on {resource.name}. State one with: sluice claim set"
    elif all(value is None for track in tracks for value in track.values):
        gap = "No samples of these workloads' adapters arrived in this range."
    return Chart(
        key="workloads",
        title="Rate per workload",
        unit=resource.unit,
        kind=ChartKind.STACK,
        tracks=tuple(stacked),
        marks=_promise_marks(tracks) + _capacity_marks(resource),
        gap=gap,
    )


def _promise_marks(tracks: list[WorkloadTrack]) -> tuple[Mark, ...]:
    return tuple(
        Mark(label=f"reserved for {track.workload}", value=track.reservation, colour=position)
        for position, track in enumerate(tracks, start=1)
        if track.reservation > 0
    )


def _capacity_marks(resource: Resource) -> tuple[Mark, ...]:
    return (Mark(label="capacity", value=resource.capacity),) if resource.capacity else ()


def _threshold_marks(resource: Resource, now: datetime) -> tuple[Mark, ...]:
    threshold = resource_line(resource, now=now).threshold
    return () if threshold is None else (Mark(label="threshold", value=threshold),)


def _sample_gap(values: list[float | None], attachments: list[Attachment]) -> str | None:
    if any(value is not None for value in values):
        return None
    devices = ", ".join(str(attachment) for attachment in attachments)
    where = f" of {devices}" if devices else ""
    return f"No samples{where} arrived in this range."
