"""A device that hangs: I/O is in flight, and none completes."""

from collections.abc import Sequence

from advisor.core.observation import HostLatency

STALLED_BUSY_RATIO = 0.9
"""I/O is in flight all the window long; the rest is for collectors that are a moment late."""
MOST_NAMED = 3
"""So many stalled hosts are named; of more the reason tells the number."""


def is_stalled(host: HostLatency) -> bool:
    """Whether the host's device has I/O in flight and completes none."""
    return host.io_count == 0 and (host.busy_ratio or 0.0) >= STALLED_BUSY_RATIO


def stall_text(hosts: Sequence[HostLatency]) -> str:
    """Which hosts wait for I/O that does not complete, and for how much of it."""
    named = [_waiting_text(host) for host in hosts[:MOST_NAMED]]
    rest = len(hosts) - len(named)
    more = f" and on {rest} more" if rest else ""
    return f"I/O is in flight and none completes: {', '.join(named)}{more}"


def _waiting_text(host: HostLatency) -> str:
    # Kernels that count an I/O only when it ends do not say how many there are.
    count = round(host.outstanding_io or 0.0)
    return f"{count} on {host.host}" if count else f"on {host.host}"
