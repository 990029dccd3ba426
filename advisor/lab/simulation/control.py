"""The window loop on simulated hosts: the product's law on what they counted."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from advisor.core.detection.observed import readings_of
from advisor.core.number_checks import check_positive
from advisor.core.observation import DatastoreObservation, HostLatency
from advisor.core.window import (
    PERIOD_S,
    RESERVE,
    WindowLaw,
    active_shares,
    adaptive_betas,
    next_window,
)
from advisor.lab.simulation.host import HostQueue
from advisor.lab.simulation.totals import Totals

CAPACITY_KEEP = 0.5
"""How much of the estimated throughput stays when a congested period gives a new one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowControl:
    """Run the law every `period_s`; `size_normalized` compares latencies at one I/O size."""

    law: WindowLaw
    period_s: float = PERIOD_S
    reserve: float = RESERVE
    size_normalized: bool = True

    def __post_init__(self) -> None:
        check_positive("period_s", self.period_s)
        check_positive("reserve", self.reserve)


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
    """Remembers the throughput of congested periods, and sets the windows of all hosts."""

    def __init__(self, control: WindowControl, hosts: Sequence[HostQueue]) -> None:
        self._control = control
        self._hosts = hosts
        self._capacity_iops: float | None = None

    def step(self, observation: DatastoreObservation, counted: Sequence[Sequence[Totals]]) -> None:
        """One period: `counted` holds what each host counted per workload in it."""
        (reading,) = readings_of([observation])
        capacity_iops = self._estimate(reading.value, reading.load or 0.0)
        shares = [
            sum(
                active_shares(
                    [each.allocation.shares for each in host.workloads],
                    [each.outstanding_io for each in totals],
                    window=host.window,
                )
            )
            for host, totals in zip(self._hosts, counted, strict=True)
        ]
        betas = adaptive_betas(
            shares,
            law=self._control.law,
            capacity_iops=capacity_iops,
            reserve=self._control.reserve,
        )
        for host, beta in zip(self._hosts, betas, strict=True):
            host.resize(
                next_window(
                    host.window, latency_ms=reading.value, beta=beta, law=self._control.law
                )
            )

    def _estimate(self, latency_ms: float | None, iops: float) -> float:
        """Throughput when congested; as long as it never was, the throughput there is."""
        congested = latency_ms is not None and latency_ms >= self._control.law.threshold_ms
        if self._capacity_iops is None:
            self._capacity_iops = iops if congested else None
        elif congested:
            self._capacity_iops = CAPACITY_KEEP * self._capacity_iops + (1 - CAPACITY_KEEP) * iops
        return iops if self._capacity_iops is None else self._capacity_iops
