"""Latency and throughput of a datastore against outstanding I/O."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
from django.db.models import Q

from advisor.core.detection.external_workload import ExternalState
from advisor.core.device.device_fit import LoadPoint
from advisor.core.device.device_model import MixPoint
from advisor.core.iosize import size_cost
from advisor.history.history import History
from advisor.history.reader import read_history
from advisor.models import Incident, Resource
from ingest.core.figures import DiskFigures
from ingest.core.grid import Flags, Grid, grid_of, microseconds

SPAN = timedelta(days=1)
"""A day covers most of a datastore's depths."""

SHORTEST_WINDOW_S = 10.0

Stretch = tuple[datetime, datetime]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceWindow:
    """A window of a device with I/O: means over time, sums over hosts."""

    outstanding_io: float
    iops: float
    bytes_per_s: float
    reads_per_s: float

    @property
    def latency_ms(self) -> float:
        """Latency by Little's law over the whole window."""
        return 1000 * self.outstanding_io / self.iops

    @property
    def load_point(self) -> LoadPoint:
        """The window without its mix."""
        return LoadPoint(
            outstanding_io=self.outstanding_io, latency_ms=self.latency_ms, iops=self.iops
        )

    def normalized_point(self, size_term_bytes: float) -> LoadPoint:
        """The window converted to I/Os of the reference size; N = X·R still holds."""
        cost = size_cost(self.bytes_per_s / self.iops, size_term_bytes=size_term_bytes)
        return LoadPoint(
            outstanding_io=self.outstanding_io,
            latency_ms=self.latency_ms / cost,
            iops=self.iops * cost,
        )

    @property
    def mix_point(self) -> MixPoint | None:
        """The window with its mix; None if no bytes were counted."""
        if self.bytes_per_s <= 0:
            return None
        return MixPoint(
            outstanding_io=self.outstanding_io,
            latency_ms=self.latency_ms,
            mean_io_bytes=self.bytes_per_s / self.iops,
            read_ratio=min(self.reads_per_s / self.iops, 1.0),
        )


def load_grid(resource: Resource, *, until: datetime) -> Grid:
    """The windows of the last day, at least ten seconds each."""
    return grid_of(until - SPAN, until, max(resource.window_s, SHORTEST_WINDOW_S))


def device_day(resource: Resource, *, until: datetime) -> list[DeviceWindow]:
    """The windows of the last day in which some host did I/O."""
    history = read_history(resource, load_grid(resource, until=until), allocations=[])
    disturbed = disturbed_times(resource, since=history.grid.since, until=until)
    return device_windows(history, disturbed)


def device_windows(history: History, disturbed: Sequence[Stretch]) -> list[DeviceWindow]:
    """The windows in which some host did I/O, the sum of all hosts.

    Windows in the `disturbed` times of external load are left out, and those with a gap in the
    samples of a host, because their latency does not belong to the measured depth.
    """
    found: DiskFigures = history.devices.figures
    measured = history.devices.measured
    busy = measured & (found.iops > 0) & (found.outstanding_io > 0)
    wanted = busy.any(axis=1) & ~_holes(measured) & ~_inside(history.grid, disturbed)
    columns = [
        np.where(busy, column, 0.0).sum(axis=1)[wanted].tolist()
        for column in (found.outstanding_io, found.iops, found.bytes_per_s, found.read_iops)
    ]
    return [
        DeviceWindow(outstanding_io=waiting, iops=iops, bytes_per_s=moved, reads_per_s=reads)
        for waiting, iops, moved, reads in zip(*columns, strict=True)
    ]


def _holes(measured: Flags) -> Flags:
    """The windows between the first and last sample of a device in which it was not measured.

    During a gap or after a reset its load is unknown, but it affects the latency of all hosts.
    Before its first sample and after its last a host counts as away. (windows)
    """
    begun = np.logical_or.accumulate(measured, axis=0)
    goes_on = np.logical_or.accumulate(measured[::-1], axis=0)[::-1]
    result: Flags = np.logical_or.reduce(begun & goes_on & ~measured, axis=1)
    return result


def _inside(grid: Grid, stretches: Sequence[Stretch]) -> Flags:
    """The windows that end in one of the times. (windows)"""
    ends_us = grid.ends_us
    found = np.zeros(grid.count, dtype=np.bool_)
    for began_at, ended_at in stretches:
        found |= (microseconds(began_at) < ends_us) & (ends_us <= microseconds(ended_at))
    return found


def disturbed_times(
    resource: Resource, *, since: datetime, until: datetime
) -> list[tuple[datetime, datetime]]:
    """The times of external load, in which windows do not characterise the device."""
    return disturbed_times_of([resource], since=since, until=until)[resource.pk]


def disturbed_times_of(
    resources: Collection[Resource], *, since: datetime, until: datetime
) -> dict[int, list[tuple[datetime, datetime]]]:
    """The same of many resources in one statement, by their keys."""
    rows = Incident.objects.filter(
        Q(ended_at=None) | Q(ended_at__gt=since),
        resource__in=resources,
        started_at__lt=until,
        external__state=ExternalState.EXTERNAL.value,
    ).order_by("started_at")
    times: dict[int, list[tuple[datetime, datetime]]] = {one.pk: [] for one in resources}
    for pk, started_at, ended_at in rows.values_list("resource", "started_at", "ended_at"):
        times[pk].append((started_at, ended_at or until))
    return times
