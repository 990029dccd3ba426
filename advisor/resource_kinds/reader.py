"""How samples of a resource's devices become what the detector judges, one window at a time."""

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
    """What is stated about the resource that is read; `capacity` None is not stated."""

    window_s: float
    capacity: float | None
    unit: Unit


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceSamples(Generic[RatesT]):
    """What one device measured in a window; `tcp` is of its whole host, empty if not read."""

    host: str
    rates: Sequence[RatesT]
    tcp: Sequence[TcpRates] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenAllocation:
    """An allocation in one window as the core sees it, its host, and its queue there.

    `backlog_bytes` and `drops` are None where no queue is seen.
    """

    host: str
    observation: AllocationObservation
    backlog_bytes: float | None
    drops: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader(Generic[RatesT]):
    """Which samples are read of each device, and how those of one window are put together.

    The devices of a window are those that were measured in it, at least one.
    """

    measurement: Measurement
    window: Callable[
        [ReadResource, datetime, Sequence[DeviceSamples[RatesT]], Sequence[SeenAllocation]],
        Observation,
    ]
    with_tcp: bool = False
