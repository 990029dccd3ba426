"""What a few allocations got and where they waited, without anything else of their resources."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from advisor.history.agents import queue_columns, queued
from advisor.history.inventory import cgroup_device_numbers
from advisor.history.layout import waiting_places
from advisor.history.measured import Measured, rate_kinds, read_spans
from advisor.history.stored.read import Span
from advisor.history.subjects import WAITING_KINDS, RateSubjects, Wanted, rate_subjects
from advisor.history.waiting import KINDS, wants_at
from advisor.models import Allocation, Unit
from ingest.core.figures import CGROUP_IO, INTERFACE, FigureKind, RateFigures
from ingest.core.grid import Floats, Grid


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OwnWindows:
    """The windows of one allocation, (windows) each: its rate in the unit of its resource.

    `waited` is 1 where it wanted more and 0 where not. NaN is not known, and not read of those
    that nobody asked for.
    """

    rate: Floats
    waited: Floats


def read_own_windows(
    allocations: Sequence[Allocation], grid: Grid, *, waiting: Collection[int]
) -> dict[int, OwnWindows]:
    """Those of each allocation by its key; where they waited is read of the keys in `waiting`."""
    numbers = cgroup_device_numbers(allocations)
    subjects = {one.pk: rate_subjects([one], numbers) for one in allocations}
    wanted: Wanted = {kind: [] for kind in (INTERFACE, CGROUP_IO, *WAITING_KINDS)}
    for key, own in subjects.items():
        wanted[INTERFACE] += own.vnics
        wanted[CGROUP_IO] += own.cgroups
        for witness in WAITING_KINDS if key in waiting else ():
            wanted[witness] += filter(None, own.waiting(witness))
    kinds = {one.pk: _kind(one, subjects[one.pk]) for one in allocations}
    read: list[FigureKind[Any] | None] = [*kinds.values()]
    read += [one for one in KINDS if wanted[one.whole]]
    span = Span(grid=grid, kinds=tuple(dict.fromkeys(filter(None, read))))
    (found,) = read_spans(wanted, [span])
    asked = [one for one in allocations if one.pk in waiting]
    queues = {key: one.backlogged for key, one in queue_columns(queued(asked), grid).items()}
    unknown = np.full(grid.count, np.nan)
    rates = {
        key: unknown if (kind := kinds[key]) is None else _rate(found, kind, own)
        for key, own in subjects.items()
    }
    return {
        key: OwnWindows(
            rate=rates[key],
            waited=_waited(found, own, rates[key])
            if key in waiting and own.cgroups
            else queues.get(key, unknown),
        )
        for key, own in subjects.items()
    }


def _kind(allocation: Allocation, subjects: RateSubjects) -> FigureKind[RateFigures] | None:
    """What its rate is made of; None if it is not measured."""
    on_vnics, on_cgroups = rate_kinds(Unit(allocation.resource.unit))
    if subjects.vnics:
        return on_vnics
    return on_cgroups if subjects.cgroups else None


def _rate(found: Measured, kind: FigureKind[RateFigures], subjects: RateSubjects) -> Floats:
    return found.figures(kind, [*subjects.vnics, *subjects.cgroups]).rate[:, 0]


def _waited(found: Measured, subjects: RateSubjects, rate: Floats) -> Floats:
    """By what is its own alone: devices are not read."""
    places = {kind.whole: own for kind, own in found.places.items()}
    iops = rate if subjects.in_iops[0] else np.full_like(rate, np.nan)
    told = waiting_places(subjects, places, [])
    device_ms = np.full((len(rate), 1), np.nan)
    return wants_at(told, found, iops=iops[:, np.newaxis], device_ms=device_ms).more[:, 0]
