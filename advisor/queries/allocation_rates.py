"""The rates of workloads on a resource, on a grid of times or at present."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

from advisor.history.history import numbers
from advisor.history.inventory import cgroup_device_numbers
from advisor.history.measured import read_fine_rates
from advisor.history.subjects import rate_subjects
from advisor.models import Allocation, Resource
from advisor.models.workload import WORKLOAD_DETAILS
from advisor.queries.totals import total
from ingest.core.grid import Floats, Grid, grid_of

RECENT = timedelta(seconds=60)
"""The mean over this time is shown as what a workload gets."""
RECENT_STEP_S = 10.0

REACH = timedelta(seconds=120)
"""Samples may come half a minute late."""


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


def current_rates(allocations: Sequence[Allocation], *, now: datetime) -> dict[int, float | None]:
    """By allocation, its mean rate over the newest measured minute, in its resource's unit."""
    (rates,) = rates_at(allocations, [now])
    return rates


def rates_at(
    allocations: Sequence[Allocation], moments: Sequence[datetime]
) -> list[dict[int, float | None]]:
    """The same as of each of these moments."""
    subjects = rate_subjects(allocations, cgroup_device_numbers(allocations))
    found = []
    for moment in moments:
        rate, seconds = read_fine_rates(subjects, recent_grid(moment))
        means = numbers(recent_means(rate, seconds))
        found.append({row.pk: mean for row, mean in zip(allocations, means, strict=True)})
    return found


def recent_grid(now: datetime) -> Grid:
    """The windows that the newest measured minute is taken from."""
    return grid_of(now - REACH, now, RECENT_STEP_S)


def recent_means(rate: Floats, seconds: Floats) -> Floats:
    """The mean of each column over its newest measured minute; NaN where nothing is known.

    `rate` and the `seconds` that it is known for are (windows, columns) on `recent_grid`.
    """
    place = np.arange(len(rate))[:, None]
    known = seconds > 0
    newest = np.where(known, place, -1).max(axis=0, initial=-1)
    recent = known & (place > newest - RECENT.total_seconds() / RECENT_STEP_S)
    covered = np.where(recent, seconds, 0.0).sum(axis=0)
    grown = np.where(recent, rate * seconds, 0.0).sum(axis=0)
    means: Floats = grown / np.where(covered > 0, covered, np.nan)
    return means
