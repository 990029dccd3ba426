"""Datastore-wide latency: size-normalised per host, weighted by I/O count over the hosts."""

from collections.abc import Sequence
from dataclasses import dataclass

from advisor.core.iosize import size_normalized_ms
from advisor.core.observation import HostLatency


@dataclass(frozen=True, slots=True, kw_only=True)
class NormalizedLatency:
    """`latency_ms` is None if no host can say what the datastore's latency was; see `reason`.

    `io_count` counts all I/Os of the window, also those that say nothing about latency.
    `throttled` is true if the only latency there is was caused by limits of ours.
    """

    latency_ms: float | None
    io_count: float
    reason: str = ""
    throttled: bool = False


def normalized_latency(hosts: Sequence[HostLatency]) -> NormalizedLatency:
    """Mean over all I/Os of the hosts of the latency they would have had at the reference size.

    Hosts that a limit of ours held back are left out: that wait is the limit's, not the device's.
    """
    io_count = sum(host.io_count for host in hosts)
    if not hosts:
        return NormalizedLatency(latency_ms=None, io_count=0.0, reason="no host reported")
    if io_count == 0:
        return NormalizedLatency(latency_ms=None, io_count=0.0, reason="no I/O in the window")
    timed = [
        (size_normalized_ms(host.latency_ms, host.mean_io_bytes), host.io_count)
        for host in hosts
        if host.latency_ms is not None and host.io_count > 0 and not host.throttled
    ]
    timed_count = sum(count for _, count in timed)
    if timed_count == 0:
        throttled = any(host.throttled and host.io_count > 0 for host in hosts)
        reason = "latency is that of our own limit" if throttled else "no latency was measured"
        return NormalizedLatency(
            latency_ms=None, io_count=io_count, reason=reason, throttled=throttled
        )
    latency_ms = sum(latency * count for latency, count in timed) / timed_count
    return NormalizedLatency(latency_ms=latency_ms, io_count=io_count)
