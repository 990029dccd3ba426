"""Hosts on a datastore as a fluid: no I/O is simulated, only how many there are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from enforcers.exchange import PERIOD_S, DatastoreLoad, HostPart, pooled
from enforcers.window import Demand, WindowLaw, WindowState
from enforcers.window_loop import LoopState, Period, after_period, part_of

LAW = WindowLaw(threshold_ms=20)
BACKLOG = 512.0
"""What a workload keeps outstanding that takes all it can get."""

Ask = Callable[[Sequence[tuple[str, HostPart]]], list[DatastoreLoad | None]]
"""What each host tells, and what each is answered."""


@dataclass
class FluidHost:
    """A host, its workloads as (shares, outstanding I/O), and its part of the loop."""

    workloads: list[tuple[float, float]]
    window: float = 256.0
    name: str = "h"
    state: LoopState = field(init=False)

    def __post_init__(self) -> None:
        self.state = LoopState(window=WindowState(window=self.window))

    @property
    def slots(self) -> float:
        return self.state.window.window

    @property
    def outstanding_io(self) -> float:
        """At the datastore; the rest waits in the host."""
        return min(self.slots, sum(asked for _, asked in self.workloads))

    @property
    def demands(self) -> tuple[Demand, ...]:
        return tuple(
            Demand(shares=shares, outstanding_io=asked) for shares, asked in self.workloads
        )


@dataclass
class FluidDatastore:
    """It answers in `unloaded_ms` until it serves `capacity_iops`, and queues what is beyond."""

    hosts: list[FluidHost]
    capacity_iops: float = 2000.0
    unloaded_ms: float = 1.0
    law: WindowLaw = LAW
    split_window: float = 10.0

    @property
    def latency_ms(self) -> float:
        waiting = sum(host.outstanding_io for host in self.hosts)
        return max(self.unloaded_ms, 1000 * waiting / self.capacity_iops)

    @property
    def pressure(self) -> float:
        return self.latency_ms / self.law.threshold_ms

    def period(self, ask: Ask | None = None) -> None:
        """One period: all tell, all are answered, all set their windows."""
        counted = [self._counted(host) for host in self.hosts]
        told = [
            (host.name, part_of(host.state, period, law=self.law))
            for host, period in zip(self.hosts, counted, strict=True)
        ]
        answers = (ask or everybody)(told)
        for host, period, answer in zip(self.hosts, counted, answers, strict=True):
            host.state = after_period(
                host.state, period, answer, law=self.law, split_window=self.split_window
            )

    def run(self, periods: int, ask: Ask | None = None) -> list[float]:
        """The pressure after each of these periods."""
        seen = []
        for _ in range(periods):
            self.period(ask)
            seen.append(self.pressure)
        return seen

    def _counted(self, host: FluidHost) -> Period:
        iops = 1000 * host.outstanding_io / self.latency_ms
        ios = round(iops * PERIOD_S)
        return Period(
            ios=ios,
            mean_device_latency_ms=self.latency_ms if ios else None,
            outstanding_io=host.outstanding_io,
            demands=host.demands,
        )


def everybody(told: Sequence[tuple[str, HostPart]]) -> list[DatastoreLoad | None]:
    """All hear of all at once."""
    load = pooled(part for _, part in told)
    return [load for _ in told]


def nobody(told: Sequence[tuple[str, HostPart]]) -> list[DatastoreLoad | None]:
    """The service is away."""
    return [None for _ in told]
