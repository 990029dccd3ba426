"""What a few allocations got and where they waited, without anything else of their resources."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from advisor.history.agents import queue_columns, queued
from advisor.history.inventory import cgroup_device_numbers
from advisor.history.measured import Measured, rate_kinds, read_spans
from advisor.history.reader import waits
from advisor.history.stored.read import Span
from advisor.history.subjects import RateSubjects, Wanted, over_all_devices, rate_subjects
from advisor.models import Allocation, Unit
from ingest.core.figures import CGROUP_IO, INTERFACE, PRESSURE, WAITING, FigureKind, RateFigures
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
    wanted: Wanted = {INTERFACE: [], CGROUP_IO: [], PRESSURE: []}
    for key, own in subjects.items():
        wanted[INTERFACE] += own.vnics
        wanted[CGROUP_IO] += own.cgroups
        wanted[PRESSURE] += map(over_all_devices, own.cgroups if key in waiting else ())
    kinds = {one.pk: _kind(one, subjects[one.pk]) for one in allocations}
    read = [*kinds.values(), WAITING if wanted[PRESSURE] else None]
    span = Span(grid=grid, kinds=tuple(dict.fromkeys(kind for kind in read if kind)))
    (found,) = read_spans(wanted, [span])
    asked = [one for one in allocations if one.pk in waiting]
    queues = {key: one.backlogged for key, one in queue_columns(queued(asked), grid).items()}
    unknown = np.full(grid.count, np.nan)
    return {
        key: OwnWindows(
            rate=unknown if (kind := kinds[key]) is None else _rate(found, kind, own),
            waited=_pressed(found, own)
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


def _pressed(found: Measured, subjects: RateSubjects) -> Floats:
    return waits(found, [over_all_devices(one) for one in subjects.cgroups])[:, 0]
