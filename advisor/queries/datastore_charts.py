"""The charts of a datastore: latency and threshold, I/O per workload, and throughput."""

from __future__ import annotations

from datetime import datetime

import numpy as np

from advisor.core.detection.reading import normalized_latency_ms
from advisor.core.iosize import size_costs
from advisor.history.history import numbers
from advisor.history.size_terms import size_terms_of
from advisor.models import Unit
from advisor.queries.charts import (
    PLAIN,
    PLAIN_TOO,
    Chart,
    ChartKind,
    Mark,
    ResourceFigures,
    Track,
    sample_gap,
    threshold_marks,
    workload_chart,
)
from advisor.queries.totals import total
from advisor.resource_kinds.reader import Devices
from ingest.core.figures import DiskFigures
from ingest.core.grid import Floats

MOST_HOSTS = 7
"""Hosts with a colour of their own; the others are summed."""
OTHER_HOSTS = "other hosts"
FAR = 3.0
"""Levels above this multiple of the measured maximum are left out."""


def datastore_charts(read: ResourceFigures, now: datetime) -> tuple[Chart, ...]:
    found: DiskFigures = read.devices.figures
    in_iops = read.resource.unit == Unit.IOPS
    load = numbers(total(found.iops if in_iops else found.bytes_per_s))
    gap = sample_gap(numbers(total(found.iops)), read.attachments)
    return (
        _latency_chart(read, now),
        workload_chart(read.resource, read.tracks, load),
        outstanding_chart(read),
        _two_way_chart(Unit.IOPS, found.read_iops, found.write_iops, gap),
        _two_way_chart(Unit.BYTES_PER_S, found.read_bytes_per_s, found.write_bytes_per_s, gap),
    )


def outstanding_chart(read: ResourceFigures) -> Chart:
    """Outstanding I/O per host, measured, stacked; a host's queue depth bounds its part."""
    rows = _by_host(read.devices)
    busiest = sorted(rows, key=lambda name: (-_mean(rows[name]), name))
    tracks = [
        Track(label=name, colour=place, values=tuple(numbers(rows[name])))
        for place, name in enumerate(sorted(busiest[:MOST_HOSTS]), start=1)
    ]
    rest = [rows[name] for name in busiest[MOST_HOSTS:]]
    if rest:
        values = tuple(numbers(total(np.column_stack(rest))))
        tracks.append(Track(label=OTHER_HOSTS, colour=0, values=values))
    every = numbers(total(read.devices.figures.outstanding_io))
    highest = max((value for value in every if value is not None), default=0.0)
    depth = read.resource.lun_queue_depth
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
        gap=sample_gap(every, read.attachments),
    )


def _by_host(devices: Devices[DiskFigures]) -> dict[str, Floats]:
    return {
        name: total(devices.figures.outstanding_io[:, [one == name for one in devices.hosts]])
        for name in dict.fromkeys(devices.hosts)
    }


def _mean(values: Floats) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else 0.0


_TITLES = {Unit.IOPS: "I/O rate", Unit.BYTES_PER_S: "Throughput"}


def _two_way_chart(unit: Unit, read: Floats, written: Floats, gap: str | None) -> Chart:
    """The sums over all devices."""
    return Chart(
        key="iops" if unit == Unit.IOPS else "throughput",
        title=_TITLES[unit],
        unit=unit,
        kind=ChartKind.LINE,
        tracks=(
            Track(label="read", colour=PLAIN, values=tuple(numbers(total(read)))),
            Track(label="written", colour=PLAIN_TOO, values=tuple(numbers(total(written)))),
        ),
        marks=(),
        gap=gap,
    )


_NO_IO = "No I/O was measured in this range, so there is no latency."


def _latency_chart(read: ResourceFigures, now: datetime) -> Chart:
    """The latency that is compared with the threshold: size-normalised, over all hosts."""
    found = read.devices.figures
    terms = size_terms_of([read.resource], until=read.grid.until)[read.resource.pk]
    costs = size_costs(found.mean_io_bytes, terms.of_windows(read.grid.ends_us)[:, np.newaxis])
    values = numbers(normalized_latency_ms(found.latency_ms, found.iops * found.seconds, costs))
    return Chart(
        key="level",
        title="Normalised latency",
        unit="ms",
        kind=ChartKind.LINE,
        tracks=(Track(label="latency", colour=PLAIN, values=tuple(values)),),
        marks=threshold_marks(read.resource, now),
        gap=None if any(value is not None for value in values) else _NO_IO,
    )
