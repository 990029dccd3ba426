"""Turn the figures of a resource's devices into the detector's readings, all windows at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar

import numpy as np

from advisor.core.detection.reading import Reading
from advisor.core.iosize import SIZE_TERM_BYTES
from advisor.core.resource import Unit
from ingest.core.figures import DiskFigures, FigureKind, InterfaceFigures, TcpFigures
from ingest.core.grid import Flags, Floats

FiguresT = TypeVar("FiguresT", DiskFigures, InterfaceFigures)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReadResource:
    """The settings of the resource that is read; `capacity` None is unknown.

    `size_term_bytes` is that of all windows, or of each (windows), where size tells the cost.
    """

    window_s: float
    capacity: float | None
    unit: Unit
    size_term_bytes: Floats | float = SIZE_TERM_BYTES


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Devices(Generic[FiguresT]):
    """The figures of a resource's devices, columns (windows, devices), with the host of each.

    `tcp` is of the whole host of each device; None if it was not read.
    """

    hosts: tuple[str, ...]
    names: tuple[str, ...]
    figures: FiguresT
    tcp: TcpFigures | None = None

    @property
    def measured(self) -> Flags:
        """(windows, devices)."""
        found: Flags = self.figures.seconds > 0
        return found


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SeenAllocations:
    """What allocations did, each column (windows, allocations); NaN is unknown.

    `rate` and `reservation`, which is (allocations), are in the resource's unit. `backlogged` is 1
    where an allocation wanted more and 0 where it did not; `queued` is where a queue of its own
    showed that. `throttled` is where a limit in force held it back. On an uplink with an agent
    `backlog_bytes` waited in the allocation's queue and `drops` packets were dropped from it.
    """

    hosts: tuple[str, ...]
    workloads: tuple[str, ...]
    reservation: Floats
    rate: Floats
    backlogged: Floats
    queued: Flags
    mean_io_bytes: Floats
    throttled: Flags
    backlog_bytes: Floats
    drops: Floats

    @property
    def measured(self) -> Flags:
        """(windows, allocations)."""
        return ~np.isnan(self.rate)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader(Generic[FiguresT]):
    """The figures to read of each device, and how to combine them.

    `readings` has one for each of the windows that end at the given times. `delivered` is what
    all devices carried in each window, in the unit of the allocations; `carried` is what each
    did, (windows, devices), in the unit of the kind's load.
    """

    figures: FigureKind[FiguresT]
    carried: Callable[[FiguresT], Floats]
    delivered: Callable[[ReadResource, Devices[FiguresT]], Floats]
    readings: Callable[
        [ReadResource, Sequence[datetime], Devices[FiguresT], SeenAllocations], list[Reading]
    ]
    with_tcp: bool = False

    @property
    def measurement(self) -> Any:
        """Where its samples are stored."""
        return self.figures.measurement
