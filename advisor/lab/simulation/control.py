"""The window loop on simulated hosts: the agent's own law on what they counted."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from advisor.core.iosize import size_normalized_ms
from advisor.core.number_checks import check_positive
from advisor.core.observation import DatastoreObservation, HostLatency
from advisor.lab.simulation.host import HostQueue
from advisor.lab.simulation.load import SimulatedWorkload
from advisor.lab.simulation.totals import Totals
from enforcers.exchange import PERIOD_S, pooled
from enforcers.window import Demand, WindowLaw, WindowState
from enforcers.window_loop import LoopState, Period, after_period, part_of


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowControl:
    """Run the law every `period_s`; `size_normalized` compares latencies at one I/O size."""

    law: WindowLaw
    period_s: float = PERIOD_S
    size_normalized: bool = True

    def __post_init__(self) -> None:
        check_positive("period_s", self.period_s)


def observe(
    hosts: Sequence[HostQueue],
    counted: Sequence[Sequence[Totals]],
    *,
    at_s: float,
    window_s: float,
    began_at: datetime,
    size_normalized: bool,
) -> DatastoreObservation:
    """What the hosts would report of one period, given what each counted per workload."""
    latencies = []
    for host, totals in zip(hosts, counted, strict=True):
        whole = sum(totals, Totals())
        latencies.append(
            HostLatency(
                host=host.name,
                latency_ms=whole.device_latency_ms,
                io_count=whole.ios,
                mean_io_bytes=whole.mean_io_bytes if size_normalized else None,
            )
        )
    return DatastoreObservation(
        at=began_at + timedelta(seconds=at_s), window_s=window_s, hosts=tuple(latencies)
    )


class WindowLoop:
    """The loop of every host; each hears of all others in the same period."""

    def __init__(self, control: WindowControl, hosts: Sequence[HostQueue]) -> None:
        self._control = control
        self._hosts = hosts
        self._states = [LoopState(window=WindowState(window=host.window)) for host in hosts]

    def step(self, counted: Sequence[Sequence[Totals]]) -> None:
        """One period: `counted` holds what each host counted per workload in it."""
        law = self._control.law
        periods = [
            self._period(host.workloads, totals)
            for host, totals in zip(self._hosts, counted, strict=True)
        ]
        load = pooled(
            part_of(state, period, law=law)
            for state, period in zip(self._states, periods, strict=True)
        )
        self._states = [
            after_period(state, period, load, law=law, split_window=state.window.window)
            for state, period in zip(self._states, periods, strict=True)
        ]
        for host, state in zip(self._hosts, self._states, strict=True):
            host.resize(state.window.window)

    def _period(self, workloads: Sequence[SimulatedWorkload], totals: Sequence[Totals]) -> Period:
        whole = sum(totals, Totals())
        latency_ms = whole.device_latency_ms
        if latency_ms is not None and self._control.size_normalized:
            latency_ms = size_normalized_ms(latency_ms, whole.mean_io_bytes)
        return Period(
            ios=round(whole.ios),
            mean_device_latency_ms=latency_ms,
            outstanding_io=whole.device_outstanding_io,
            demands=tuple(
                self._demand(each, total) for each, total in zip(workloads, totals, strict=True)
            ),
        )

    def _demand(self, workload: SimulatedWorkload, total: Totals) -> Demand:
        """What waits for the workload's own limit is no demand; by Little's law the rest is."""
        allocation = workload.allocation
        threshold_s = self._control.law.threshold_ms / 1000
        asked = total.outstanding_io
        if allocation.limit is not None:
            asked = min(asked, allocation.limit * threshold_s)
        return Demand(
            shares=allocation.shares,
            outstanding_io=asked,
            reserved_io=allocation.reservation * threshold_s,
        )
