"""The history of a resource: its devices, allocations and levels, as columns over windows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from advisor.core.detection.threshold import Threshold
from advisor.core.observation import AllocationObservation, Observation
from advisor.core.resource import Unit
from advisor.core.standing import AllocationTable
from advisor.history.levels import Levels
from advisor.models import Allocation, Resource
from advisor.resource_kinds.reader import Devices, ReadResource, SeenAllocation
from ingest.core.grid import Flags, Floats, Grid


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocationWindow:
    """What one allocation got in the window ending at `at`, in the resource's unit.

    `backlogged` says whether it wanted more; None means unknown. `mean_io_bytes` is None on an
    uplink and without I/O.
    """

    at: datetime
    rate: float
    backlogged: bool | None = None
    mean_io_bytes: float | None = None
    read_ratio: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AllocationColumns:
    """What allocations got, each column (windows, allocations); NaN is unknown.

    `rate` is in the resource's unit. `backlogged` is 1 where it wanted more and 0 where it did
    not. `throttled` is where a limit in force held it back. On an uplink with an agent
    `backlog_bytes` waited in the allocation's queue and `drops` packets were dropped from it.
    """

    rows: tuple[Allocation, ...]
    shares: tuple[int, ...]
    rate: Floats
    backlogged: Floats
    mean_io_bytes: Floats
    read_ratio: Floats
    throttled: Flags
    backlog_bytes: Floats
    drops: Floats

    @property
    def measured(self) -> Flags:
        """(windows, allocations)."""
        return ~np.isnan(self.rate)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class History:
    """A resource over the windows of one grid, with the threshold as of each."""

    resource: Resource
    grid: Grid
    devices: Devices[Any]
    allocations: AllocationColumns
    levels: Levels
    threshold: Threshold

    @property
    def read_resource(self) -> ReadResource:
        """The settings by which its kind reads windows."""
        row = self.resource
        return ReadResource(window_s=row.window_s, capacity=row.capacity, unit=Unit(row.unit))

    @property
    def cost_unit(self) -> Unit | None:
        """The unit in which I/Os are weighed by their size; None where all cost the same."""
        return Unit(self.resource.unit) if self.resource.traits.costs_by_size else None

    def table(self, places: Sequence[int], usual: Mapping[str, float]) -> AllocationTable:
        """The allocations in these windows, with the usual rates of workloads."""
        own = self.allocations
        names = tuple(row.workload.name for row in own.rows)
        delivered = self.resource.traits.reader.delivered(self.read_resource, self.devices)
        return AllocationTable(
            workloads=names,
            rate=own.rate[places],
            mean_io_bytes=own.mean_io_bytes[places],
            backlogged=own.backlogged[places],
            throttled=own.throttled[places],
            delivered=delivered[places],
            reservation=np.array([row.reservation for row in own.rows], dtype=np.float64),
            limit=np.array(
                [np.inf if row.limit is None else row.limit for row in own.rows], dtype=np.float64
            ),
            shares=np.array(own.shares, dtype=np.float64),
            usual_rate=np.array([usual.get(name) for name in names], dtype=np.float64),
        )

    def observations(self) -> list[Observation]:
        """One per window in which some device was measured, in order of time."""
        return self._observations(self.allocations.measured)

    def deciding_observations(self) -> list[Observation]:
        """The same with those allocations alone that can decide a state.

        They are those with a known queue, and those at their own limit. Where queues are no
        signal, they only matter beside one that is at its limit.
        """
        own = self.allocations
        queues = (own.backlogged, own.backlog_bytes, own.drops)
        is_known = ~np.logical_and.reduce([np.isnan(one) for one in queues])
        deciding = own.measured & (own.throttled | is_known)
        if not self.resource.traits.shows_queues:
            deciding &= own.throttled.any(axis=1, keepdims=True)
        return self._observations(deciding)

    def _observations(self, chosen: Flags) -> list[Observation]:
        """With the allocations that are chosen in each window, (windows, allocations)."""
        ends, reader = self.grid.ends, self.resource.traits.reader
        return [
            reader.window(
                self.read_resource, ends[place], place, self.devices, self._seen(place, chosen)
            )
            for place in np.flatnonzero(self.devices.measured.any(axis=1)).tolist()
        ]

    def _seen(self, place: int, chosen: Flags) -> list[SeenAllocation]:
        own = self.allocations
        return [
            SeenAllocation(
                host=own.rows[index].host.name,
                observation=AllocationObservation(
                    workload=own.rows[index].workload.name,
                    rate=float(own.rate[place, index]),
                    reservation=own.rows[index].reservation,
                    limit=own.rows[index].limit,
                    shares=own.shares[index],
                    backlogged=_flag(own.backlogged[place, index]),
                    throttled=bool(own.throttled[place, index]),
                    mean_io_bytes=_number(own.mean_io_bytes[place, index]),
                ),
                backlog_bytes=_number(own.backlog_bytes[place, index]),
                drops=_number(own.drops[place, index]),
            )
            for index in np.flatnonzero(chosen[place]).tolist()
        ]

    def windows_by_allocation(self) -> dict[int, list[AllocationWindow]]:
        """By allocation the windows in which it was measured, in order of time."""
        return {
            row.pk: list(self._windows(index)) for index, row in enumerate(self.allocations.rows)
        }

    def _windows(self, index: int) -> Iterator[AllocationWindow]:
        own, ends = self.allocations, self.grid.ends
        for place in np.flatnonzero(own.measured[:, index]).tolist():
            yield AllocationWindow(
                at=ends[place],
                rate=float(own.rate[place, index]),
                backlogged=_flag(own.backlogged[place, index]),
                mean_io_bytes=_number(own.mean_io_bytes[place, index]),
                read_ratio=_number(own.read_ratio[place, index]),
            )


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _flag(value: float) -> bool | None:
    return None if np.isnan(value) else bool(value)


def numbers(column: Floats) -> list[float | None]:
    """A column as numbers, None where it is NaN."""
    return [None if value != value else value for value in column.tolist()]
