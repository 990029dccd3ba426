"""The limits of each workload on a datastore, with what passed in the last hour."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from django.db.models import Exists, OuterRef, Q

from advisor.advice.limit_check.decide.limit_inputs import LimitInputs, LimitWindow, VdiskLimit
from advisor.advice.shared.vdisk_names import vdisk_names
from advisor.core.resource import IoCount, LimitScope
from advisor.history.history import AllocationWindow, numbers
from advisor.history.reader import read_history
from advisor.history.size_terms import in_size_term
from advisor.models import Allocation, Resource, Unit
from ingest.core.grid import grid_of, moment

CHECK_SPAN = timedelta(hours=1)
"""A limit is judged by its last hour."""


def has_limits(_now: datetime) -> Q:
    """Resources counted in I/Os with a limit on some allocation."""
    limited = Allocation.objects.filter(resource=OuterRef("pk"), limit__isnull=False)
    return Q(Exists(limited), unit=Unit.IOPS)


def limit_inputs(resource: Resource, now: datetime) -> list[LimitInputs]:
    """One per workload that has a limit on this datastore, with all its virtual disks."""
    if resource.unit != Unit.IOPS:
        return []
    allocations: dict[str, list[Allocation]] = defaultdict(list)
    for allocation in resource.allocations.select_related("workload", "host", "resource"):
        allocations[allocation.workload.name].append(allocation)
    limited = {
        name: own
        for name, own in sorted(allocations.items())
        if any(allocation.limit is not None for allocation in own)
    }
    if not limited:
        return []
    history = read_history(
        resource,
        grid_of(now - CHECK_SPAN, now, resource.window_s),
        allocations=[allocation for own in limited.values() for allocation in own],
        are_limited=True,
    )
    rates = {
        key: {found.at: found for found in windows}
        for key, windows in history.windows_by_allocation().items()
    }
    # A window's latency is stored in the size term of its time; I/Os are weighed by the newest.
    size_term = history.size_terms.at_us(history.grid.until_us)
    levels = in_size_term(history.levels, history.size_terms, size_term_bytes=size_term)
    latency = {
        moment(at_us): value
        for at_us, value in zip(levels.at_us.tolist(), numbers(levels.value), strict=True)
    }
    return [
        replace(
            _limit_inputs(resource, own, [rates[allocation.pk] for allocation in own], latency),
            size_term_bytes=size_term,
        )
        for own in limited.values()
    ]


def _limit_inputs(
    resource: Resource,
    allocations: Sequence[Allocation],
    rates: Sequence[Mapping[datetime, AllocationWindow]],
    latency: Mapping[datetime, float | None],
) -> LimitInputs:
    """Of one workload; `rates` are the windows of each of its allocations, by their end."""
    # Windows in which every virtual disk was measured, so that a pool can be added up.
    common = sorted(set.intersection(*(set(found) for found in rates)))
    return LimitInputs(
        workload=allocations[0].workload.name,
        datastore=resource.name,
        scope=LimitScope(allocations[0].limit_scope),
        count=IoCount(allocations[0].io_count),
        vdisks=tuple(
            VdiskLimit(
                vdisk=name,
                limit_iops=allocation.limit,
                windows=tuple(
                    LimitWindow(
                        iops=found[at].rate,
                        mean_io_bytes=found[at].mean_io_bytes,
                        backlogged=found[at].backlogged,
                        device_latency_ms=latency.get(at),
                    )
                    for at in common
                ),
            )
            for allocation, name, found in zip(
                allocations, vdisk_names(allocations), rates, strict=True
            )
        ),
        congestion_threshold_ms=resource.threshold,
    )
