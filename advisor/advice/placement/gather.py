"""All datastores of known size of a tenant, with their virtual disks and load."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import numpy as np

from advisor.advice.placement.decide.device_line import SeenModel
from advisor.advice.placement.decide.disk_inputs import DatastoreState, PlacementInputs, VdiskState
from advisor.advice.shared.vdisk_names import vdisk_names
from advisor.core.device.device_fit import DeviceFit, FitRefused, fit_device
from advisor.core.device.device_model import DeviceModel, MixPoint, fit_device_model
from advisor.core.iosize import size_cost
from advisor.history.load_points import DeviceWindow, device_windows
from advisor.history.observe import AllocationWindow, allocation_windows
from advisor.history.windows import Span
from advisor.models import (
    Allocation,
    Incident,
    Resource,
    StatePoint,
    Unit,
)

LOAD_SPAN = timedelta(days=1)
LOAD_PERCENTILE = 90
"""Storage DRS compares the 90th percentile over a day (algorithms reference, section 7)."""

DEFAULT_IO_BYTES = 8000.0
DEFAULT_READ_RATIO = 0.5
"""Count for a virtual disk that did no I/O."""

DEFAULT_COPY_BYTES_PER_S = 100e6
"""A conservative rate for copying a virtual disk; state the datastore's own where it is known."""


def placement_inputs(resource: Resource, now: datetime) -> list[PlacementInputs]:
    """For a datastore that was congested in the last day, beside all others of known size."""
    recent = Incident.objects.filter(resource=resource).exclude(ended_at__lt=now - LOAD_SPAN)
    if "size_bytes" not in resource.traits.facts or not recent.exists():
        return []
    stores = list(
        Resource.objects.filter(
            organisation=resource.organisation,
            kind=resource.kind,
            unit=Unit.IOPS,
            size_bytes__isnull=False,
        ).order_by("name")
    )
    if resource.pk not in {store.pk for store in stores} or len(stores) < 2:
        return []
    windows = {store.pk: device_windows(store, until=now) for store in stores}
    allocations = [allocation for store in stores for allocation in _allocations(store)]
    vdisks = [
        vdisk
        for allocation, name in zip(allocations, vdisk_names(allocations), strict=True)
        if (vdisk := _vdisk(allocation, name, now)) is not None
    ]
    return [
        PlacementInputs(
            datastores=tuple(_datastore(store, windows[store.pk], vdisks) for store in stores),
            vdisks=tuple(vdisks),
            now=now,
            threshold_ms=resource.threshold * _mean_cost(windows[resource.pk]),
            samples=sum(len(found) for found in windows.values()),
        )
    ]


def _mean_cost(windows: Sequence[DeviceWindow]) -> float:
    """By how much longer I/Os take at their own size than at that of the stated threshold."""
    ios = sum(window.iops for window in windows)
    return size_cost(sum(window.bytes_per_s for window in windows) / ios) if ios > 0 else 1.0


def _allocations(store: Resource) -> list[Allocation]:
    allocations = store.allocations.filter(size_bytes__isnull=False)
    return list(allocations.select_related("workload", "host", "resource").order_by("pk"))


def _datastore(
    store: Resource, windows: Sequence[DeviceWindow], vdisks: Sequence[VdiskState]
) -> DatastoreState:
    fit = fit_device([window.load_point for window in windows])
    line = fit if isinstance(fit, DeviceFit) else None
    mixes = [point for window in windows if (point := window.mix_point) is not None]
    model = fit_device_model(mixes)
    own = [one for one in vdisks if one.datastore == store.name]
    return DatastoreState(
        datastore=store.name,
        intercept_ms=line.intercept_ms if line else None,
        slope_ms=line.slope_ms if line else None,
        capacity_bytes=store.size_bytes or 0.0,
        used_bytes=store.used_bytes or 0.0,
        copy_bytes_per_s=store.copy_bytes_per_s or DEFAULT_COPY_BYTES_PER_S,
        other_outstanding_io=_rest(
            [window.outstanding_io for window in windows], [one.outstanding_io for one in own]
        ),
        other_iops=_rest([window.iops for window in windows], [one.iops for one in own]),
        disks=store.disks,
        auto_tiered=store.auto_tiered,
        seen_model=_seen(model, mixes) if isinstance(model, DeviceModel) else None,
        model_gap=model.reason if isinstance(model, FitRefused) else "",
        line_gap=fit.reason if isinstance(fit, FitRefused) else "",
    )


def _rest(whole: Sequence[float], own: Sequence[float]) -> float:
    """What the device carries beyond the virtual disks that are looked at."""
    if not whole:
        return 0.0
    return max(float(np.percentile(whole, LOAD_PERCENTILE)) - sum(own), 0.0)


def _seen(model: DeviceModel, mixes: Sequence[MixPoint]) -> SeenModel:
    """The model with the mixes that it was fitted on."""
    sizes = [point.mean_io_bytes for point in mixes]
    reads = [point.read_ratio for point in mixes]
    return SeenModel(
        model=model,
        least_io_bytes=min(sizes),
        most_io_bytes=max(sizes),
        least_read_ratio=min(reads),
        most_read_ratio=max(reads),
    )


def _vdisk(allocation: Allocation, name: str, now: datetime) -> VdiskState | None:
    """None if the virtual disk sent no samples in the last day."""
    span = Span(since=now - LOAD_SPAN, until=now, window_s=allocation.resource.window_s)
    rates = allocation_windows(allocation, span=span)
    if not rates:
        return None
    iops = float(np.percentile([found.rate for found in rates], LOAD_PERCENTILE))
    sizes = [found.mean_io_bytes for found in rates if found.mean_io_bytes is not None]
    reads = [found.read_ratio for found in rates if found.read_ratio is not None]
    return VdiskState(
        vdisk=name,
        workload=allocation.workload.name,
        datastore=allocation.resource.name,
        size_bytes=allocation.size_bytes or 0.0,
        outstanding_io=_outstanding_io(allocation, rates),
        iops=iops,
        mean_io_bytes=float(np.median(sizes)) if sizes else DEFAULT_IO_BYTES,
        read_ratio=float(np.median(reads)) if reads else DEFAULT_READ_RATIO,
        moved_at=allocation.moved_at,
    )


def _outstanding_io(allocation: Allocation, rates: Sequence[AllocationWindow]) -> float:
    """By Little's law, window by window: nobody counts a cgroup's requests in flight.

    The latency that is stored is that of the reference size; larger I/Os took longer.
    """
    points = StatePoint.objects.filter(
        resource=allocation.resource, at__in=[found.at for found in rates], value__isnull=False
    )
    stored = points.values_list("at", "value")
    latency_ms = {at: value for at, value in stored if value is not None}
    found = [
        one.rate * size_cost(one.mean_io_bytes) * latency_ms[one.at] / 1000
        for one in rates
        if one.at in latency_ms
    ]
    return float(np.percentile(found, LOAD_PERCENTILE)) if found else 0.0
