"""Turn the figures of a resource's devices into the detector's observations, window by window."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar

import numpy as np

from advisor.core.observation import AllocationObservation, Observation
from advisor.core.resource import Unit
from ingest.core.figures import DiskFigures, FigureKind, InterfaceFigures, TcpFigures
from ingest.core.grid import Flags, Floats

FiguresT = TypeVar("FiguresT", DiskFigures, InterfaceFigures)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadResource:
    """The settings of the resource that is read; `capacity` None is unknown."""

    window_s: float
    capacity: float | None
    unit: Unit


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

    def places(self, window: int) -> list[int]:
        """The devices that were measured in a window."""
        found: list[int] = np.flatnonzero(self.figures.seconds[window]).tolist()
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenAllocation:
    """An allocation in one window for the core, with its host and its queue there.

    `backlog_bytes` and `drops` are None without a measured queue.
    """

    host: str
    observation: AllocationObservation
    backlog_bytes: float | None
    drops: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader(Generic[FiguresT]):
    """The figures to read of each device, and how to combine those of one window.

    `window` gets the end and the place of a window in which at least one device was measured.
    `delivered` is what all devices carried in each window, in the unit of the allocations.
    """

    figures: FigureKind[FiguresT]
    delivered: Callable[[ReadResource, Devices[FiguresT]], Floats]
    window: Callable[
        [ReadResource, datetime, int, Devices[FiguresT], Sequence[SeenAllocation]], Observation
    ]
    with_tcp: bool = False

    @property
    def measurement(self) -> Any:
        """Where its samples are stored."""
        return self.figures.measurement
