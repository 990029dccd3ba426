"""The charts of a datastore: latency and threshold, I/O per workload, and throughput."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import zip_longest

from advisor.core.detection.reading import normalized_latency
from advisor.core.observation import HostLatency
from advisor.models import Attachment, Resource, Unit
from advisor.queries.allocation_rates import workload_tracks
from advisor.queries.charts import (
    PLAIN,
    PLAIN_TOO,
    Chart,
    ChartKind,
    ChartRange,
    Mark,
    Track,
    sample_gap,
    threshold_marks,
    workload_chart,
)
from advisor.queries.grid import Grid, mean_on, total_of
from ingest import queries
from ingest.core.rates import DiskRates


def datastore_charts(
    read: ChartRange, attachments: list[Attachment], step_s: int | None, now: datetime
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
        workload_chart(read.resource, tracks, in_unit),
        outstanding_chart(read.resource, grid, rates),
        _two_way_chart(grid, rates, Unit.IOPS, sample_gap(total_of(iops or [[]]), attachments)),
        _two_way_chart(
            grid, rates, Unit.BYTES_PER_S, sample_gap(total_of(iops or [[]]), attachments)
        ),
    )
    return grid, charts


MOST_HOSTS = 7
"""Hosts with a colour of their own; the others are summed."""
OTHER_HOSTS = "other hosts"
FAR = 3.0
"""Levels above this multiple of the measured maximum are left out."""


def outstanding_chart(resource: Resource, grid: Grid, rates: DiskRatesByAttachment) -> Chart:
    """Outstanding I/O per host, measured, stacked; a host's queue depth bounds its part."""
    rows = {
        attachment.host.name: mean_on(grid, found, [one.outstanding_io for one in found])
        for attachment, found in rates.items()
    }
    busiest = sorted(rows, key=lambda name: (-_mean(rows[name]), name))
    tracks = [
        Track(label=name, colour=place, values=tuple(rows[name]))
        for place, name in enumerate(sorted(busiest[:MOST_HOSTS]), start=1)
    ]
    rest = [rows[name] for name in busiest[MOST_HOSTS:]]
    if rest:
        tracks.append(Track(label=OTHER_HOSTS, colour=0, values=tuple(total_of(rest))))
    total = total_of(list(rows.values()) or [[]])
    highest = max((value for value in total if value is not None), default=0.0)
    depth = resource.lun_queue_depth
    marks = (
        (Mark(label="queue of the LUN", value=float(depth)),)
        if depth is not None and depth <= FAR * highest
        else ()
    )
    return Chart(
        key="outstanding",
        title="Outstanding I/O per host",
        unit="commands",
        kind=ChartKind.STACK,
        tracks=tuple(tracks),
        marks=marks,
        gap=sample_gap(total, list(rates)),
    )


def _mean(values: Sequence[float | None]) -> float:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else 0.0


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
            Track(label="read", colour=PLAIN, values=tuple(read)),
            Track(label="written", colour=PLAIN_TOO, values=tuple(written)),
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
        tracks=(Track(label="latency", colour=PLAIN, values=tuple(values)),),
        marks=threshold_marks(resource, now),
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
