"""The rates of workloads on a resource, on a grid of times."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from advisor.history.history import numbers
from advisor.models import Allocation, Resource
from advisor.models.workload import WORKLOAD_DETAILS
from advisor.queries.totals import total
from ingest.core.grid import Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadTrack:
    """One workload's allocations on one resource: its rates, and the sum of its reservations.

    `limit` is None when one of its allocations has none.
    """

    workload: str
    reservation: float
    limit: float | None
    values: tuple[float | None, ...]


def allocations_in_order(resource: Resource) -> list[Allocation]:
    """The allocations in the order of pages: the largest reservation first."""
    rows = resource.allocations.select_related("workload").defer(*WORKLOAD_DETAILS)
    rows = rows.prefetch_related("host")
    return list(rows.order_by("-reservation", "workload__name", "host__name"))


def workload_tracks(allocations: Sequence[Allocation], rate: Floats) -> list[WorkloadTrack]:
    """One track per workload, in the order of its first allocation.

    `rate` is (windows, allocations).
    """
    places: dict[str, list[int]] = defaultdict(list)
    for place, allocation in enumerate(allocations):
        places[allocation.workload.name].append(place)
    lines = rate.T
    return [
        WorkloadTrack(
            workload=name,
            reservation=sum(allocations[place].reservation for place in own),
            limit=_common_limit([allocations[place] for place in own]),
            values=tuple(numbers(lines[own[0]] if len(own) == 1 else total(rate[:, own]))),
        )
        for name, own in places.items()
    ]


def _common_limit(allocations: Sequence[Allocation]) -> float | None:
    limits = [allocation.limit for allocation in allocations]
    known = [limit for limit in limits if limit is not None]
    return sum(known) if len(known) == len(limits) else None
