"""Workloads that hit their own limits in bursts which averages hide."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from advisor.core.detection.micro_burst import MicroBurst, find_micro_burst
from advisor.history.limit_looks import read_limit_looks
from advisor.models import Allocation, Resource

LOOKED_BACK = timedelta(days=1)
"""A look each half minute, or three of a disk: in a shorter time few of them meet a burst."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnBurst:
    """One allocation whose limit is hit in bursts."""

    allocation: Allocation
    burst: MicroBurst


def own_bursts(
    resource: Resource, workloads: Collection[str], *, until: datetime
) -> list[OwnBurst]:
    """Those of these workloads on the resource, in the day before."""
    rows = list(
        resource.allocations.filter(workload__name__in=list(workloads))
        .select_related("workload", "host", "resource")
        .order_by("workload__name", "pk")
    )
    looks = read_limit_looks(rows, since=until - LOOKED_BACK, until=until)
    return [
        OwnBurst(allocation=row, burst=found)
        for row in rows
        if row.pk in looks and isinstance(found := find_micro_burst(looks[row.pk]), MicroBurst)
    ]
