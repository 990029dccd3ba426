"""A kind that the product does not have: the export of a file server, judged by its latency."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

import numpy as np

from advisor.core.allocation import ReservationMode
from advisor.core.attribution.measure import Measure
from advisor.core.detection.threshold import ThresholdMode
from advisor.core.observation import DatastoreObservation, HostLatency, Observation
from advisor.core.resource import Unit
from advisor.resource_kinds.reader import Devices, Reader, ReadResource, SeenAllocation
from advisor.resource_kinds.traits import ChartPlan, Level, ResourceTraits, Words
from ingest.core.figures import DISK, DiskFigures
from ingest.core.grid import Floats


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
            HostLatency(
                host=devices.hosts[device],
                latency_ms=float(devices.figures.latency_ms[place, device]),
                io_count=float(devices.figures.read_iops[place, device]) * resource.window_s,
                mean_io_bytes=None,
            )
            for device in devices.places(place)
        ),
        allocations=tuple(one.observation for one in allocations),
        unit=resource.unit,
    )


def _delivered(_resource: ReadResource, devices: Devices[DiskFigures]) -> Floats:
    return np.nansum(devices.figures.iops, axis=1)


def _activity_floor(_capacity: float | None) -> float:
    return 1.0


EXPORT = ResourceTraits(
    name="export",
    words=Words(area="Storage", noun="export", plural="exports", alone="mount"),
    level=Level(noun="latency", unit="s", per_unit=0.001),
    measure=Measure(
        load="server time", harm="latency", unit="ms", per_unit=1.0, shift="{:+.1f} ms for others"
    ),
    units=(Unit.BYTES_PER_S,),
    modes=(ReservationMode.ADDITIVE,),
    threshold=50.0,
    threshold_modes=(ThresholdMode.FIXED,),
    activity_floor=_activity_floor,
    reader=Reader(figures=DISK, delivered=_delivered, window=_window),
    charts=(ChartPlan(key="level", title="Latency of the export", form="line"),),
    adapter="cgroup",
    adapter_option="--cgroup PATH",
    load_unit=Unit.IOPS,
    device_pattern=re.compile(r"nfs\d+"),
    reservable_ratio=0.5,
)
