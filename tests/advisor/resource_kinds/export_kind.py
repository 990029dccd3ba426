"""A kind that the product does not have: the export of a file server, judged by its latency."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from operator import attrgetter

import numpy as np

from advisor.core.allocation import ReservationMode
from advisor.core.attribution.measure import Measure
from advisor.core.detection.reading import DatastoreColumns, Reading, datastore_readings
from advisor.core.detection.threshold import ThresholdMode
from advisor.core.resource import Unit
from advisor.resource_kinds.reader import Devices, Reader, ReadResource, SeenAllocations
from advisor.resource_kinds.traits import ChartPlan, Level, ResourceTraits, Words
from ingest.core.figures import DISK, DiskFigures
from ingest.core.grid import Floats


def _readings(
    resource: ReadResource,
    ends: Sequence[datetime],
    devices: Devices[DiskFigures],
    _allocations: SeenAllocations,
) -> list[Reading]:
    figures = devices.figures
    unknown = np.full(figures.seconds.shape, np.nan)
    columns = DatastoreColumns(
        hosts=devices.hosts,
        io_count=np.where(devices.measured, figures.read_iops * resource.window_s, np.nan),
        latency_ms=figures.latency_ms,
        mean_io_bytes=unknown,
        throttled=np.zeros(unknown.shape, dtype=np.bool_),
        outstanding_io=unknown,
        busy_ratio=unknown,
    )
    return datastore_readings(ends, resource.window_s, columns)


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
    reader=Reader(
        figures=DISK, carried=attrgetter("iops"), delivered=_delivered, readings=_readings
    ),
    charts=(ChartPlan(key="level", title="Latency of the export", form="line"),),
    adapter="cgroup",
    adapter_option="--cgroup PATH",
    load_unit=Unit.IOPS,
    device_pattern=re.compile(r"nfs\d+"),
    reservable_ratio=0.5,
)
