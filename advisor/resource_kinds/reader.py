"""Turn samples of a resource's devices into the detector's observations, window by window."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

from advisor.core.interval_mean import Rates
from advisor.core.observation import AllocationObservation, Observation
from advisor.core.resource import Unit
from ingest.core.catalogue import Measurement
from ingest.core.rates import TcpRates

RatesT = TypeVar("RatesT", bound=Rates)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadResource:
    """The settings of the resource that is read; `capacity` None is unknown."""

    window_s: float
    capacity: float | None
    unit: Unit


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceSamples(Generic[RatesT]):
    """The samples of one device in a window; `tcp` is of its whole host, empty if not read."""

    host: str
    rates: Sequence[RatesT]
    tcp: Sequence[TcpRates] = ()


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
class Reader(Generic[RatesT]):
    """The samples to read of each device, and how to combine those of one window.

    The devices of a window are those that were measured in it, at least one.
    """

    measurement: Measurement
    window: Callable[
        [ReadResource, datetime, Sequence[DeviceSamples[RatesT]], Sequence[SeenAllocation]],
        Observation,
    ]
    with_tcp: bool = False
