"""Datastore-wide latency: size-normalised per host, weighted by I/O count over the hosts."""

from collections.abc import Sequence
from dataclasses import dataclass

from advisor.core.iosize import size_normalized_ms
from advisor.core.observation import HostLatency


@dataclass(frozen=True, slots=True, kw_only=True)
class NormalizedLatency:
    """The latency of a datastore; `latency_ms` None has its reason in `reason`.

    `io_count` counts all I/Os of the window, also those without latency. `throttled` is true if
    the only known latency was caused by our own limits.
    """

    latency_ms: float | None
    io_count: float
    reason: str = ""
    throttled: bool = False


def normalized_latency(hosts: Sequence[HostLatency]) -> NormalizedLatency:
    """Mean latency over all I/Os of the hosts, converted to the reference I/O size.

    Hosts that our own limit held back are left out: the limit caused that wait, not the device.
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
        reason = "latency was caused by our own limit" if throttled else "no latency was measured"
        return NormalizedLatency(
            latency_ms=None, io_count=io_count, reason=reason, throttled=throttled
        )
    latency_ms = sum(latency * count for latency, count in timed) / timed_count
    return NormalizedLatency(latency_ms=latency_ms, io_count=io_count)
