"""A datastore: storage that hosts share; congestion is measured by its latency."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

import numpy as np

from advisor.core.allocation import ReservationMode
from advisor.core.attribution.measure import DEVICE_TIME
from advisor.core.detection.reading import normalized_latency
from advisor.core.detection.threshold import ThresholdMode
from advisor.core.observation import DatastoreObservation, HostLatency, Observation
from advisor.core.own_limit import HostShare, latency_is_of_limits
from advisor.core.resource import Unit
from advisor.resource_kinds.reader import Devices, Reader, ReadResource, SeenAllocation
from advisor.resource_kinds.traits import ChartPlan, Level, ResourceTraits, Words
from ingest.core.figures import DISK, DiskFigures
from ingest.core.grid import Floats

THRESHOLD_MS = 30.0
"""The default congestion threshold of SIOC."""

ACTIVITY_FLOOR_IOPS = 10.0


def _window(
    resource: ReadResource,
    at: datetime,
    place: int,
    devices: Devices[DiskFigures],
    allocations: Sequence[SeenAllocation],
) -> Observation:
    return DatastoreObservation(
        at=at,
        window_s=resource.window_s,
        hosts=tuple(
            _host_latency(resource, devices, (place, device), allocations)
            for device in devices.places(place)
        ),
        allocations=tuple(one.observation for one in allocations),
        unit=resource.unit,
    )


def _host_latency(
    resource: ReadResource,
    devices: Devices[DiskFigures],
    cell: tuple[int, int],
    allocations: Sequence[SeenAllocation],
) -> HostLatency:
    """The device in the window of this cell (window, device)."""
    found, host = devices.figures, devices.hosts[cell[1]]
    total = float(found.read_iops[cell] + found.write_iops[cell]) * resource.window_s
    shares = [_host_share(resource, one) for one in allocations if one.host == host]
    return HostLatency(
        host=host,
        latency_ms=float(found.latency_ms[cell]) if total else None,
        io_count=total,
        mean_io_bytes=float(found.mean_io_bytes[cell]) if total else None,
        throttled=latency_is_of_limits(total, shares),
        outstanding_io=float(found.outstanding_io[cell]),
        busy_ratio=float(found.utilisation_ratio[cell]),
    )


def _host_share(resource: ReadResource, seen: SeenAllocation) -> HostShare:
    window = seen.observation
    size = window.mean_io_bytes
    iops = window.rate if resource.unit is Unit.IOPS else window.rate / size if size else 0.0
    return HostShare(
        io_count=iops * resource.window_s, held_back=window.throttled, waits=window.backlogged
    )


def _delivered(resource: ReadResource, devices: Devices[DiskFigures]) -> Floats:
    found = devices.figures
    rate = found.bytes_per_s if resource.unit is Unit.BYTES_PER_S else found.iops
    total: Floats = np.nansum(rate, axis=1)
    return total


def _latency_ms(observation: Observation) -> float | None:
    assert isinstance(observation, DatastoreObservation)
    return normalized_latency(observation.hosts).latency_ms


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
    reader=Reader(figures=DISK, delivered=_delivered, window=_window),
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
    costs_by_size=True,
    hides_load=True,
    shared_harm=_latency_ms,
)
