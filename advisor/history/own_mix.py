"""The composition of our own load on a datastore, window by window."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from datetime import datetime, timedelta

from django.core.cache import cache

from advisor.core.detection.own_mix import OwnMix
from advisor.core.iosize import size_cost
from advisor.core.resource import Unit
from advisor.core.standing import UNALLOCATED, unit_cost
from advisor.history.device_rates import device_rates
from advisor.history.observe import windows_of
from advisor.history.windows import Span, last_window_end, window_end
from advisor.models import Resource
from ingest.core.rates import DiskRates
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
    first = last_window_end(since, step_s)
    span = Span(since=first, until=window_end(until, step_s), window_s=step_s)
    loads = _loads_by_workload(resource, span)
    coarse = {
        at: _mix(rates, loads.get(at, {}), step_s)
        for at, rates in _disk_rates(resource, span).items()
    }
    half = timedelta(seconds=resource.window_s / 2)
    found: Mixes = {}
    at = window_end(since, resource.window_s)
    while at <= until:
        mix = coarse.get(window_end(at - half, step_s))
        if mix is not None:
            found[at] = mix
        at += 2 * half
    return found


def _disk_rates(resource: Resource, span: Span) -> dict[datetime, list[DiskRates]]:
    """The rates of all hosts."""
    found: dict[datetime, list[DiskRates]] = defaultdict(list)
    attachments = resource.attachments.select_related("host")
    for _, windows in device_rates(attachments, span, max_points=MOST_WINDOWS):
        for at, some in windows.items():
            found[at] += some
    return found


def _loads_by_workload(resource: Resource, span: Span) -> dict[datetime, dict[str, float]]:
    """Device time per second of each workload that has an allocation."""
    found: dict[datetime, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    allocations = list(resource.allocations.select_related("workload", "host", "resource"))
    windows = windows_of(allocations, span=span, max_points=MOST_WINDOWS)
    for allocation in allocations:
        for window in windows[allocation.pk]:
            cost = unit_cost(Unit(resource.unit), window.mean_io_bytes)
            found[window.at][allocation.workload.name] += window.rate * cost
    return found


def _mix(rates: list[DiskRates], loads: dict[str, float], window_s: float) -> OwnMix:
    """Of one window, all hosts together."""
    reads = sum(one.read_iops * one.seconds for one in rates)
    ios = reads + sum(one.write_iops * one.seconds for one in rates)
    moved = sum((one.read_bytes_per_s + one.write_bytes_per_s) * one.seconds for one in rates)
    size = moved / ios if ios > 0 else None
    rest = ios / window_s * size_cost(size) - sum(loads.values())
    return OwnMix(
        iops=ios / window_s,
        read_ratio=min(reads / ios, 1.0) if ios > 0 else None,
        mean_io_bytes=size,
        by_workload=(*sorted(loads.items()), (UNALLOCATED, max(rest, 0.0))),
    )
