"""What the datastores and virtual disks of an organisation carry: read once per round of advice.

Sizes, rules and where everything lies are stated and change at once, so they are not in here.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
from django.core.cache import cache

from advisor.advice.placement.decide.device_line import SeenModel
from advisor.core.device.device_fit import DeviceFit, FitRefused, fit_device
from advisor.core.device.device_model import DeviceModel, MixPoint, fit_device_model
from advisor.core.iosize import size_cost, size_costs
from advisor.history.history import History
from advisor.history.inventory import inventory_of
from advisor.history.load_points import DeviceWindow, device_windows, disturbed_times_of, load_grid
from advisor.history.reader import read_histories
from advisor.models import Allocation, Resource
from ingest.core.grid import Floats

LOAD_SPAN = timedelta(days=1)
LOAD_PERCENTILE = 90
"""Storage DRS compares the 90th percentile over a day (algorithms reference, section 7)."""

ROUND_S = 300
"""Each datastore is advised on once in a round, and all of them by the same loads."""

DEFAULT_IO_BYTES = 8000.0
DEFAULT_READ_RATIO = 0.5
"""Count for a virtual disk that did no I/O."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreLoad:
    """A datastore's lines, and what its device carries; None for what no window tells.

    `size_cost` says by how much longer I/Os take at their own size than at that of the stated
    threshold. `windows` is the number of windows behind all of it.
    """

    line: DeviceFit | None
    line_gap: str
    seen_model: SeenModel | None
    model_gap: str
    outstanding_io: float | None
    iops: float | None
    size_cost: float
    windows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class VdiskLoad:
    """A virtual disk's load: 90th percentiles over a day, and its usual mix."""

    iops: float
    outstanding_io: float
    mean_io_bytes: float
    read_ratio: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetLoads:
    """Loads by the keys of datastores and of allocations.

    An allocation is left out if its virtual disk sent no samples in the last day.
    """

    stores: Mapping[int, StoreLoad]
    vdisks: Mapping[int, VdiskLoad]


def loads_of_round(
    stores: Sequence[Resource], allocations: Sequence[Allocation], *, now: datetime
) -> FleetLoads:
    """The loads of these datastores and allocations as of the first look of the round."""
    key = _key(stores, allocations, now)
    found: FleetLoads | None = cache.get(key)
    if found is None:
        found = fleet_loads(stores, allocations, now=now)
        cache.set(key, found, ROUND_S)
    return found


def _key(stores: Sequence[Resource], allocations: Sequence[Allocation], now: datetime) -> str:
    """What was stated since the first look makes a new key: it is told at once."""
    asked = repr(
        (
            int(now.timestamp() // ROUND_S),
            [(store.pk, store.unit, store.window_s) for store in stores],
            [(one.pk, one.resource_id, one.host_id, one.adapter) for one in allocations],
        )
    )
    return f"placement-loads-1:{hashlib.sha256(asked.encode()).hexdigest()}"


def fleet_loads(
    stores: Sequence[Resource], allocations: Sequence[Allocation], *, now: datetime
) -> FleetLoads:
    """The loads, read in as many statements for one datastore as for many.

    Datastores with windows of another length take statements of their own.
    """
    lengths: dict[float, list[Resource]] = defaultdict(list)
    for store in stores:
        lengths[store.window_s].append(store)
    loads: dict[int, StoreLoad] = {}
    vdisks: dict[int, VdiskLoad] = {}
    for alike in lengths.values():
        keys = {store.pk for store in alike}
        own = [one for one in allocations if one.resource_id in keys]
        grid = load_grid(alike[0], until=now)
        disturbed = disturbed_times_of(alike, since=grid.since, until=now)
        inventory = inventory_of(alike, own)
        for pk, history in read_histories(alike, grid, inventory=inventory).items():
            size_term = history.size_terms.at_us(history.grid.until_us)
            loads[pk] = _store(device_windows(history, disturbed[pk]), size_term)
            vdisks |= _vdisks(history)
    return FleetLoads(stores=loads, vdisks=vdisks)


def _store(windows: Sequence[DeviceWindow], size_term: float) -> StoreLoad:
    fit = fit_device([window.load_point for window in windows])
    mixes = [point for window in windows if (point := window.mix_point) is not None]
    model = fit_device_model(mixes)
    ios = sum(window.iops for window in windows)
    moved = sum(window.bytes_per_s for window in windows)
    return StoreLoad(
        line=fit if isinstance(fit, DeviceFit) else None,
        line_gap=fit.reason if isinstance(fit, FitRefused) else "",
        seen_model=_seen(model, mixes) if isinstance(model, DeviceModel) else None,
        model_gap=model.reason if isinstance(model, FitRefused) else "",
        outstanding_io=_high([window.outstanding_io for window in windows]),
        iops=_high([window.iops for window in windows]),
        size_cost=size_cost(moved / ios, size_term_bytes=size_term) if ios > 0 else 1.0,
        windows=len(windows),
    )


def _high(values: Sequence[float]) -> float | None:
    return float(np.percentile(values, LOAD_PERCENTILE)) if values else None


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


def _vdisks(history: History) -> dict[int, VdiskLoad]:
    """By allocation, without those that sent no samples."""
    own = history.allocations
    found = {}
    for place, allocation in enumerate(own.rows):
        rate = own.rate[:, place]
        known = rate[~np.isnan(rate)]
        if len(known):
            found[allocation.pk] = VdiskLoad(
                iops=float(np.percentile(known, LOAD_PERCENTILE)),
                outstanding_io=_outstanding_io(history, place),
                mean_io_bytes=_median(own.mean_io_bytes[:, place], DEFAULT_IO_BYTES),
                read_ratio=_median(own.read_ratio[:, place], DEFAULT_READ_RATIO),
            )
    return found


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
    cost = size_costs(size, history.size_terms.of_windows(levels.at_us))
    waiting = own.rate[windows, place] * cost * levels.value / 1000
    known = waiting[(windows >= 0) & ~np.isnan(waiting)]
    return float(np.percentile(known, LOAD_PERCENTILE)) if len(known) else 0.0
