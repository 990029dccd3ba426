"""The history of a resource: its devices, allocations and levels, as columns over windows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import numpy as np

from advisor.core.allocation import ReservationMode
from advisor.core.detection.reading import Reading
from advisor.core.detection.threshold import Threshold
from advisor.core.resource import Unit
from advisor.core.size_terms import CONSTANT, SizeTerms, always
from advisor.core.standing import AllocationTable
from advisor.history.levels import Levels
from advisor.models import Allocation, Resource
from advisor.resource_kinds.reader import Devices, ReadResource, SeenAllocations
from ingest.core.grid import Flags, Floats, Grid, Integers


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
class AllocationColumns(SeenAllocations):
    """What allocations got, with the row, key, limit (infinite is none) and shares of each.

    `keys` and `limit` are (allocations).
    """

    rows: tuple[Allocation, ...]
    keys: Integers
    limit: Floats
    shares: tuple[int, ...]
    read_ratio: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Workloads:
    """What allocations got over the windows of one grid, and how the resource was judged.

    The columns are those of `AllocationColumns`. `levels` may be of a longer time.
    """

    resource: Resource
    grid: Grid
    rows: tuple[Allocation, ...]
    rate: Floats
    backlogged: Floats
    levels: Levels


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SizedWorkloads(Workloads):
    """The same, and the mean size of their I/Os."""

    mean_io_bytes: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class History:
    """A resource over the windows of one grid, with the threshold and the size term as of each."""

    resource: Resource
    grid: Grid
    devices: Devices[Any]
    allocations: AllocationColumns
    levels: Levels
    threshold: Threshold
    size_terms: SizeTerms = CONSTANT

    @property
    def size_term_bytes(self) -> Floats:
        """The size term of each window, (windows)."""
        return self.size_terms.of_windows(self.grid.ends_us)

    def in_size_term(self, size_term_bytes: float) -> History:
        """The same with one size term for all windows, so that they can be compared."""
        return replace(self, size_terms=always(size_term_bytes))

    @property
    def read_resource(self) -> ReadResource:
        """The settings by which its kind reads windows."""
        row = self.resource
        return ReadResource(
            window_s=row.window_s,
            capacity=row.capacity,
            unit=Unit(row.unit),
            size_term_bytes=self.size_term_bytes,
        )

    @property
    def cost_unit(self) -> Unit | None:
        """The unit in which I/Os are weighed by their size; None where all cost the same."""
        return Unit(self.resource.unit) if self.resource.traits.costs_by_size else None

    def table(self, places: Sequence[int], usual_rate: Floats | None = None) -> AllocationTable:
        """The allocations in these windows, with the usual rate of each, if these are known."""
        own = self.allocations
        if usual_rate is None:
            usual_rate = np.full(len(own.workloads), np.nan)
        delivered = self.resource.traits.reader.delivered(self.read_resource, self.devices)
        return AllocationTable(
            mode=ReservationMode(self.resource.mode),
            unit=self.cost_unit,
            workloads=own.workloads,
            rate=own.rate[places],
            mean_io_bytes=own.mean_io_bytes[places],
            backlogged=own.backlogged[places],
            queued=own.queued[places],
            throttled=own.throttled[places],
            delivered=delivered[places],
            size_term_bytes=self.size_term_bytes[places],
            reservation=own.reservation,
            limit=own.limit,
            shares=np.array(own.shares, dtype=np.float64),
            usual_rate=usual_rate,
        )

    @property
    def measured(self) -> Flags:
        """Where some device was measured, (windows)."""
        found: Flags = np.logical_or.reduce(self.devices.measured, axis=1)
        return found

    def readings(self) -> list[Reading]:
        """One per window in which some device was measured, in order of time."""
        measured = self.measured.tolist()
        if not any(measured):
            return []
        read = self.resource.traits.reader.readings
        found = read(self.read_resource, self.grid.ends, self.devices, self.allocations)
        return [one for one, is_measured in zip(found, measured, strict=True) if is_measured]

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
