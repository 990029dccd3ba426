"""Units of virtual disks and datastores as columns, to weigh many moves at once.

Rows and columns are in the order of names, as everything that is searched.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from advisor.advice.placement.decide.disk_answer import Objection
from advisor.advice.placement.decide.disk_inputs import PlacementInputs, VdiskState
from advisor.advice.placement.decide.disk_layout import Layout
from advisor.advice.placement.decide.disk_objections import may_move, may_trade
from advisor.advice.placement.decide.line_columns import (
    DeviceColumns,
    TrafficColumns,
    device_columns,
)
from advisor.core.dependence import Floats

Codes = npt.NDArray[np.int8]
Places = npt.NDArray[np.int64]

KINDS = tuple(Objection)
"""A code is the place of an objection in here."""
ALLOWED = len(KINDS)
"""The code where nothing speaks against it."""

CELLS = 1 << 16
"""Cells that are computed at a time, so that arrays stay small."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreColumns:
    """The datastores of a layout with their load; `free_bytes` may be filled yet.

    `trade` has the code of what speaks against any move from a row's datastore to a column's.
    """

    names: tuple[str, ...]
    devices: DeviceColumns
    traffic: TrafficColumns
    outstanding_io: Floats
    iops: Floats
    free_bytes: Floats
    copy_bytes_per_s: Floats
    trade: Codes


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitColumns:
    """Units that move at once, each on one datastore, `sources`.

    `arriving_io` has a column per datastore: what a unit would keep outstanding there. `kept` has
    the code of what keeps a unit where it is.
    """

    names: tuple[tuple[str, ...], ...]
    vdisks: tuple[tuple[VdiskState, ...], ...]
    sources: Places
    traffic: TrafficColumns
    outstanding_io: Floats
    size_bytes: Floats
    kept: Codes
    arriving_io: Floats

    def on(self, layout: Layout, datastores: Sequence[str]) -> "UnitColumns":
        """Those that lie on one of these datastores."""
        places = [place for place, name in enumerate(layout.datastores) if name in datastores]
        return self.at(np.flatnonzero(np.isin(self.sources, places)))

    def without(self, moved: frozenset[str]) -> "UnitColumns":
        """Those with none of these virtual disks in them."""
        if not moved:
            return self
        free = [row for row, names in enumerate(self.names) if moved.isdisjoint(names)]
        return self.at(np.array(free, dtype=np.int64))

    def at(self, rows: Places) -> "UnitColumns":
        """These units only."""
        return UnitColumns(
            names=tuple(self.names[row] for row in rows),
            vdisks=tuple(self.vdisks[row] for row in rows),
            sources=self.sources[rows],
            traffic=self.traffic.at(rows),
            outstanding_io=self.outstanding_io[rows],
            size_bytes=self.size_bytes[rows],
            kept=self.kept[rows],
            arriving_io=self.arriving_io[rows],
        )


def store_columns(inputs: PlacementInputs, layout: Layout) -> StoreColumns:
    """The datastores as they are in this layout."""
    stores, loads = list(layout.datastores.values()), list(layout.loads.values())
    return StoreColumns(
        names=tuple(layout.datastores),
        devices=device_columns(stores),
        traffic=TrafficColumns(
            iops=np.array([load.traffic.iops for load in loads]),
            bytes_per_s=np.array([load.traffic.bytes_per_s for load in loads]),
            reads_per_s=np.array([load.traffic.reads_per_s for load in loads]),
        ),
        outstanding_io=np.array([load.outstanding_io for load in loads]),
        iops=np.array([load.iops for load in loads]),
        free_bytes=np.array(
            [inputs.space_ratio * one.capacity_bytes - one.used_bytes for one in stores]
        ),
        copy_bytes_per_s=np.array([one.copy_bytes_per_s for one in stores]),
        trade=np.array(
            [[_code(may_trade(one, other)) for other in stores] for one in stores], dtype=np.int8
        ),
    )


def _code(against: tuple[Objection, str] | None) -> int:
    return ALLOWED if against is None else KINDS.index(against[0])


def unit_columns(
    inputs: PlacementInputs, layout: Layout, units: Sequence[tuple[str, ...]]
) -> UnitColumns:
    """The columns of these units."""
    places = {name: place for place, name in enumerate(layout.datastores)}
    vdisks = tuple(tuple(layout.vdisks[one] for one in unit) for unit in units)
    flat = [one for unit in vdisks for one in unit]
    begins = np.cumsum([0, *(len(unit) for unit in vdisks)])[:-1]
    disks = TrafficColumns(
        iops=np.array([one.iops for one in flat]),
        bytes_per_s=np.array([one.iops * one.mean_io_bytes for one in flat]),
        reads_per_s=np.array([one.iops * one.read_ratio for one in flat]),
    )
    outstanding_io = np.array([one.outstanding_io for one in flat])
    sources = np.array([places[one.datastore] for one in flat], dtype=np.int64)
    devices = device_columns(list(layout.datastores.values()))
    with np.errstate(all="ignore"):
        return UnitColumns(
            names=tuple(units),
            vdisks=vdisks,
            sources=sources[begins],
            traffic=TrafficColumns(
                iops=_sums(disks.iops, begins),
                bytes_per_s=_sums(disks.bytes_per_s, begins),
                reads_per_s=_sums(disks.reads_per_s, begins),
            ),
            outstanding_io=_sums(outstanding_io, begins),
            size_bytes=_sums(np.array([one.size_bytes for one in flat]), begins),
            kept=np.array([_code(may_move(inputs, unit)) for unit in vdisks], dtype=np.int8),
            arriving_io=_sums(_arriving(devices, disks, outstanding_io, sources), begins),
        )


def batches(rows: int, columns: int) -> Iterator[slice]:
    """All rows, so many at a time that they have `CELLS` cells at most, and at least one."""
    step = max(CELLS // max(columns, 1), 1)
    return (slice(begin, min(begin + step, rows)) for begin in range(0, rows, step))


def _sums(values: Floats, begins: Places) -> Floats:
    return np.add.reduceat(values, begins, axis=0) if len(begins) else values


def _arriving(
    devices: DeviceColumns, disks: TrafficColumns, outstanding_io: Floats, sources: Places
) -> Floats:
    """What each virtual disk would keep outstanding on each datastore: `moved_outstanding`."""
    count = devices.fitted.slope_ms.size
    found = np.empty((sources.size, count))
    for rows in batches(sources.size, count):
        own = disks.at(rows)
        here = devices.at(sources[rows]).lines_of(own).slope_ms
        there = devices.lines_of(own.column()).slope_ms
        stays = outstanding_io[rows, None]
        scaled = stays * (there / here[:, None])
        found[rows] = np.where(np.isfinite(scaled), scaled, stays)
    return found
