"""All datastores of known size of a tenant, with their virtual disks and load."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

import numpy as np

from advisor.advice.placement.decide.device_line import SeenModel
from advisor.advice.placement.decide.disk_inputs import DatastoreState, PlacementInputs, VdiskState
from advisor.advice.shared.vdisk_names import vdisk_names
from advisor.core.device.device_fit import DeviceFit, FitRefused, fit_device
from advisor.core.device.device_model import DeviceModel, MixPoint, fit_device_model
from advisor.core.iosize import REFERENCE_BYTES, SIZE_TERM_BYTES, size_cost
from advisor.history.external_load import disturbed_times
from advisor.history.history import History
from advisor.history.load_points import DeviceWindow, device_windows, load_grid
from advisor.history.reader import read_histories
from advisor.models import Allocation, Incident, Resource, Unit
from ingest.core.growth_columns import Floats

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
    histories = _histories(stores, now)
    windows = {
        store.pk: device_windows(
            histories[store.pk],
            disturbed_times(store, since=histories[store.pk].grid.since, until=now),
        )
        for store in stores
    }
    allocations = [row for store in stores for row in histories[store.pk].allocations.rows]
    names = dict(zip((row.pk for row in allocations), vdisk_names(allocations), strict=True))
    vdisks = [
        vdisk
        for store in stores
        for place in range(len(histories[store.pk].allocations.rows))
        if (vdisk := _vdisk(histories[store.pk], place, names)) is not None
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


def _histories(stores: Sequence[Resource], now: datetime) -> dict[int, History]:
    """The last day of the datastores, and of their allocations of known size."""
    allocations = Allocation.objects.filter(resource__in=stores, size_bytes__isnull=False)
    rows = list(allocations.select_related("workload", "host", "resource").order_by("pk"))
    by_window: dict[float, list[Resource]] = defaultdict(list)
    for store in stores:
        by_window[store.window_s].append(store)
    found: dict[int, History] = {}
    for group in by_window.values():
        keys = {store.pk for store in group}
        own = [row for row in rows if row.resource_id in keys]
        found |= read_histories(group, load_grid(group[0], until=now), allocations=own)
    return found


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


def _vdisk(history: History, place: int, names: Mapping[int, str]) -> VdiskState | None:
    """None if the virtual disk sent no samples in the last day."""
    own = history.allocations
    allocation, rate = own.rows[place], own.rate[:, place]
    known = ~np.isnan(rate)
    if not known.any():
        return None
    return VdiskState(
        vdisk=names[allocation.pk],
        workload=allocation.workload.name,
        datastore=allocation.resource.name,
        size_bytes=allocation.size_bytes or 0.0,
        outstanding_io=_outstanding_io(history, place),
        iops=float(np.percentile(rate[known], LOAD_PERCENTILE)),
        mean_io_bytes=_median(own.mean_io_bytes[:, place], DEFAULT_IO_BYTES),
        read_ratio=_median(own.read_ratio[:, place], DEFAULT_READ_RATIO),
        moved_at=allocation.moved_at,
    )


def _median(column: Floats, otherwise: float) -> float:
    known = column[~np.isnan(column)]
    return float(np.median(known)) if len(known) else otherwise


def _outstanding_io(history: History, place: int) -> float:
    """By Little's law, window by window: nobody counts a cgroup's requests in flight.

    The latency that is stored is that of the reference size; larger I/Os took longer.
    """
    levels, own = history.levels, history.allocations
    windows = levels.places(history.grid)
    size = own.mean_io_bytes[windows, place]
    cost = (SIZE_TERM_BYTES + size) / (SIZE_TERM_BYTES + REFERENCE_BYTES)
    waiting = own.rate[windows, place] * np.where(np.isnan(size), 1.0, cost) * levels.value / 1000
    known = waiting[(windows >= 0) & ~np.isnan(waiting)]
    return float(np.percentile(known, LOAD_PERCENTILE)) if len(known) else 0.0
