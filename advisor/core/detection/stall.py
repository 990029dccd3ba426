"""A device that hangs: I/O is in flight, and none completes."""

from collections.abc import Sequence

from advisor.core.enumeration import listed
from advisor.core.observation import HostLatency

STALLED_BUSY_RATIO = 0.9
"""Fraction of the window with I/O in flight; the rest allows for late collectors."""


def is_stalled(host: HostLatency) -> bool:
    """Whether the host's device has I/O in flight and completes none."""
    return host.io_count == 0 and (host.busy_ratio or 0.0) >= STALLED_BUSY_RATIO


def stall_text(hosts: Sequence[HostLatency]) -> str:
    """The hosts that wait for I/O, and how many I/Os each waits for."""
    return f"I/O is in flight and none completes: {listed(map(_waiting_text, hosts))}"


def _waiting_text(host: HostLatency) -> str:
    # Kernels that count an I/O only on completion do not say how many are in flight.
    count = round(host.outstanding_io or 0.0)
    return f"{count} on {host.host}" if count else f"on {host.host}"
