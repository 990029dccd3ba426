"""The composition of our own load on a datastore, window by window."""

from __future__ import annotations

import hashlib
from datetime import datetime

import numpy as np
from django.core.cache import cache

from advisor.core.detection.own_mix import OwnMix
from advisor.core.iosize import size_cost
from advisor.core.resource import Unit
from advisor.core.standing import UNALLOCATED, unit_cost
from advisor.history.history import History
from advisor.history.reader import read_history
from advisor.models import Resource
from ingest.core.figures import DiskFigures
from ingest.core.grid import grid_around, grid_of
from ingest.readings import coarse_step_s

MOST_WINDOWS = 720
"""A day in windows of two minutes, which is fine enough for the shares of workloads."""
KEPT_S = 3600

Mixes = dict[datetime, OwnMix]


def kept_mixes(resource: Resource, *, since: datetime, until: datetime) -> Mixes:
    """`own_mixes` of a past period, kept in the cache for an hour."""
    allocations = resource.allocations.order_by("pk").values_list("pk", flat=True)
    # A digest, because a list of allocations is too long for a cache key.
    asked = repr((resource.pk, since.timestamp(), until.timestamp(), *allocations))
    key = f"own-mixes:{hashlib.sha256(asked.encode()).hexdigest()}"
    found: Mixes | None = cache.get(key)
    if found is None:
        found = own_mixes(resource, since=since, until=until)
        cache.set(key, found, KEPT_S)
    return found


def own_mixes(resource: Resource, *, since: datetime, until: datetime) -> Mixes:
    """Mixes by end of the resource's window; for a long time, means over several windows.

    Load without an allocation counts as a workload of its own.
    """
    step_s = max(float(coarse_step_s(until - since, MOST_WINDOWS)), resource.window_s)
    history = read_history(resource, grid_around(since, until, step_s))
    coarse = _mixes(history)
    half_us = round(resource.window_s * 500_000)
    found: Mixes = {}
    windows = grid_of(since, until, resource.window_s)
    for at, end_us in zip(windows.ends, windows.ends_us.tolist(), strict=True):
        place = (end_us - half_us - history.grid.since_us) // history.grid.window_us
        mix = coarse[place] if 0 <= place < len(coarse) else None
        if mix is not None:
            found[at] = mix
    return found


def _mixes(history: History) -> list[OwnMix | None]:
    """The mix of all hosts together in each window; None where no host was measured."""
    disks: DiskFigures = history.devices.figures
    measured = history.devices.measured
    iops, reads, moved = (
        np.where(measured, column, 0.0).sum(axis=1).tolist()
        for column in (disks.iops, disks.read_iops, disks.bytes_per_s)
    )
    loads = _loads(history)
    return [
        _mix(iops[place], reads[place], moved[place], loads[place]) if known else None
        for place, known in enumerate(np.logical_or.reduce(measured, axis=1).tolist())
    ]


def _loads(history: History) -> list[dict[str, float]]:
    """Device time per second of each workload that has an allocation, per window."""
    own, unit = history.allocations, Unit(history.resource.unit)
    cost = np.vectorize(lambda size: unit_cost(unit, None if np.isnan(size) else size), [float])
    spent = own.rate * cost(own.mean_io_bytes) if own.rate.size else own.rate
    found: list[dict[str, float]] = []
    for row in spent.tolist():
        loads: dict[str, float] = {}
        for allocation, load in zip(own.rows, row, strict=True):
            if load == load:
                name = allocation.workload.name
                loads[name] = loads.get(name, 0.0) + load
        found.append(loads)
    return found


def _mix(iops: float, reads: float, moved: float, loads: dict[str, float]) -> OwnMix:
    size = moved / iops if iops > 0 else None
    rest = iops * size_cost(size) - sum(loads.values())
    return OwnMix(
        iops=iops,
        read_ratio=min(reads / iops, 1.0) if iops > 0 else None,
        mean_io_bytes=size,
        by_workload=(*sorted(loads.items()), (UNALLOCATED, max(rest, 0.0))),
    )
