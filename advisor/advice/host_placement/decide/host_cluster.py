"""Which workload is on which host, what room is left, and the rate of each workload."""

from collections.abc import Iterable
from dataclasses import replace

from advisor.advice.host_placement.decide.host_inputs import HostUplinks, NetworkWorkload
from advisor.core.admission import TOLERANCE, reservable_on_host
from advisor.core.allocation import Allocation, ReservationMode, entitlements

BUSY_RATIO = 0.8
"""A host whose uplink is used beyond this is chosen only if no other has room."""


class Cluster:
    """The places of workloads while moves are being chosen."""

    def __init__(
        self,
        hosts: Iterable[HostUplinks],
        workloads: Iterable[NetworkWorkload],
        *,
        reservable_ratio: float,
    ) -> None:
        self.hosts = {one.host: one for one in sorted(hosts, key=lambda one: one.host)}
        self.workloads = {one.workload: one for one in workloads}
        self._ratio = reservable_ratio

    def on(self, host: str) -> list[NetworkWorkload]:
        """The workloads of a host, in the order given."""
        return [one for one in self.workloads.values() if one.host == host]

    def reservable(self, host: str) -> float:
        """What may be reserved there."""
        return reservable_on_host(self.hosts[host].uplink_bits_per_s, ratio=self._ratio)

    def excess(self, host: str) -> float:
        """What is reserved there beyond what may be; 0 where all fits."""
        reserved = sum(one.reservation_bits_per_s for one in self.on(host))
        excess = reserved - self.reservable(host)
        return excess if excess > self.tolerance(host) else 0.0

    def tolerance(self, host: str) -> float:
        """Amounts below it differ by rounding only."""
        return TOLERANCE * self.hosts[host].line_bits_per_s

    def target_for(self, workload: NetworkWorkload) -> str | None:
        """The host with room that is least busy afterwards, hosts with a busy uplink last."""
        amount = workload.reservation_bits_per_s
        rooms = [name for name in self.hosts if name != workload.host and self._fits(name, amount)]
        return min(rooms, key=lambda name: self._pressure(name, amount), default=None)

    def put(self, workload: str, host: str) -> None:
        """Place a workload."""
        self.workloads[workload] = replace(self.workloads[workload], host=host)

    def rates(self) -> dict[str, float]:
        """The rate of each placed workload in bits/s while all send as much as they can."""
        rates: dict[str, float] = {}
        for name, host in self.hosts.items():
            there = self.on(name)
            allocations = [
                Allocation(one.reservation_bits_per_s, one.limit_bits_per_s, one.shares)
                for one in there
            ]
            capacity = host.carries_bits_per_s or host.line_bits_per_s
            amounts = entitlements(capacity, allocations, ReservationMode.ADDITIVE)
            rates.update(zip((one.workload for one in there), amounts, strict=True))
        return rates

    def _fits(self, host: str, amount: float) -> bool:
        reserved = sum(one.reservation_bits_per_s for one in self.on(host))
        room = self.reservable(host) - reserved + self.tolerance(host)
        return self.hosts[host].line_bits_per_s > 0 and amount <= room

    def _pressure(self, host: str, added: float) -> tuple[bool, float, float, str]:
        one = self.hosts[host]
        used = one.tx_bits_per_s / one.line_bits_per_s
        reserved = added + sum(other.reservation_bits_per_s for other in self.on(host))
        return (
            used >= BUSY_RATIO,
            max(one.cpu_ratio, one.memory_ratio, used),
            reserved / one.line_bits_per_s,
            host,
        )
