"""A datastore: storage that hosts share; congestion is measured by its latency."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from operator import attrgetter

import numpy as np

from advisor.core.allocation import ReservationMode
from advisor.core.attribution.measure import DEVICE_TIME
from advisor.core.detection.reading import DatastoreColumns, Reading, datastore_readings
from advisor.core.detection.threshold import ThresholdMode
from advisor.core.own_limit import latency_is_of_limits
from advisor.core.resource import Unit
from advisor.resource_kinds.reader import Devices, Reader, ReadResource, SeenAllocations
from advisor.resource_kinds.traits import ChartPlan, Level, ResourceTraits, Words
from ingest.core.figures import DISK, DiskFigures
from ingest.core.grid import Flags, Floats

THRESHOLD_MS = 30.0
"""The default congestion threshold of SIOC."""

ACTIVITY_FLOOR_IOPS = 10.0


def _readings(
    resource: ReadResource,
    ends: Sequence[datetime],
    devices: Devices[DiskFigures],
    seen: SeenAllocations,
) -> list[Reading]:
    found = devices.figures
    io_count = np.where(devices.measured, found.iops * resource.window_s, np.nan)
    columns = DatastoreColumns(
        hosts=devices.hosts,
        io_count=io_count,
        latency_ms=found.latency_ms,
        mean_io_bytes=found.mean_io_bytes,
        throttled=_throttled(resource, devices.hosts, io_count, seen),
        outstanding_io=found.outstanding_io,
        busy_ratio=found.utilisation_ratio,
        size_term_bytes=np.reshape(resource.size_term_bytes, (-1, 1)),
    )
    return datastore_readings(ends, resource.window_s, columns)


def _throttled(
    resource: ReadResource, hosts: Sequence[str], io_count: Floats, seen: SeenAllocations
) -> Flags:
    """Where our own limits may have caused the latency of a device, (windows, devices)."""
    if not seen.throttled.any():
        return np.zeros(io_count.shape, dtype=np.bool_)
    others = seen.measured & ~seen.throttled
    own_io = _io_counts(resource, seen)
    return latency_is_of_limits(
        io_count,
        held=_by_host(np.where(seen.throttled, own_io, 0.0), seen.hosts, hosts),
        calm=_by_host(np.where(others & (seen.backlogged == 0), own_io, 0.0), seen.hosts, hosts),
        others_wait=_by_host(others & (seen.backlogged == 1), seen.hosts, hosts) > 0,
    )


def _io_counts(resource: ReadResource, seen: SeenAllocations) -> Floats:
    """The I/Os of each allocation, 0 where they are not known, (windows, allocations)."""
    iops = seen.rate
    if resource.unit is not Unit.IOPS:
        iops = seen.rate / np.where(seen.mean_io_bytes > 0, seen.mean_io_bytes, np.nan)
    return np.where(np.isnan(iops), 0.0, iops * resource.window_s)


def _by_host(values: Floats | Flags, owners: Sequence[str], hosts: Sequence[str]) -> Floats:
    """The sums over the allocations on the host of each device, in their order."""
    place = {name: at for at, name in enumerate(dict.fromkeys([*hosts, *owners]))}
    rows = len(place) * np.arange(len(values))[:, np.newaxis]
    cells = rows + np.array([place[name] for name in owners])
    sums = np.bincount(cells.ravel(), values.ravel(), minlength=len(values) * len(place))
    table = sums.reshape(len(values), len(place)).astype(np.float64)
    return table[:, [place[name] for name in hosts]]


def _delivered(resource: ReadResource, devices: Devices[DiskFigures]) -> Floats:
    found = devices.figures
    rate = found.bytes_per_s if resource.unit is Unit.BYTES_PER_S else found.iops
    total: Floats = np.nansum(rate, axis=1)
    return total


def _activity_floor(_capacity: float | None) -> float:
    return ACTIVITY_FLOOR_IOPS


DATASTORE = ResourceTraits(
    name="datastore",
    words=Words(area="Storage", noun="datastore", plural="datastores", alone="volume"),
    level=Level(noun="latency", unit="ms"),
    measure=DEVICE_TIME,
    units=(Unit.IOPS, Unit.BYTES_PER_S),
    modes=(ReservationMode.FLOOR, ReservationMode.ADDITIVE),
    threshold=THRESHOLD_MS,
    threshold_modes=tuple(ThresholdMode),
    activity_floor=_activity_floor,
    reader=Reader(
        figures=DISK, carried=attrgetter("iops"), delivered=_delivered, readings=_readings
    ),
    charts=(
        ChartPlan(key="level", title="Normalised latency", form="line"),
        ChartPlan(key="workloads", title="Rate per workload", form="stack"),
        ChartPlan(key="outstanding", title="Outstanding I/O per host", form="stack"),
        ChartPlan(key="iops", title="I/O rate", form="line"),
        ChartPlan(key="throughput", title="Throughput", form="line"),
    ),
    adapter="cgroup",
    adapter_option="--cgroup PATH",
    load_unit=Unit.IOPS,
    device_pattern=re.compile(r"(sd[a-z]+|vd[a-z]+|xvd[a-z]+|nvme\d+n\d+|mmcblk\d+|dm-\d+|md\d+)"),
    facts=frozenset(
        {
            "lun_queue_depth",
            "size_bytes",
            "used_bytes",
            "copy_bytes_per_s",
            "disks",
            "auto_tiered",
        }
    ),
    found_by_identity=True,
    has_windows=True,
    costs_by_size=True,
    hides_load=True,
    harms_all=True,
)
