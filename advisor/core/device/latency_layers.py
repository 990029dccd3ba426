"""Where the time of an I/O goes: queue in the host, the rest of its kernel, device.

ESXi says the whole that guests feel (GAVG), the part of its kernel (KAVG), in which the queue is
contained (QAVG), and that of the device (DAVG). Means over the same I/Os add up; where they do
not, they are of different times, and no split is told.
"""

from __future__ import annotations

from dataclasses import dataclass

from advisor.core.enumeration import listed

SUM_RATIO = 0.05
"""The parts may miss the whole by so much."""
DUST_MS = 0.05
"""Half of the last digit that is sent: no part is known better."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SentLatency:
    """The mean of an I/O by each of the host's own counts, in ms; None was not sent."""

    guest_ms: float | None
    kernel_ms: float | None
    queue_ms: float | None
    device_ms: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyLayers:
    """What an I/O takes in ms, and in which layers; `kernel_ms` is without the queue."""

    guest_ms: float
    queue_ms: float
    kernel_ms: float
    device_ms: float

    @property
    def text(self) -> str:
        """The whole and its parts."""
        return (
            f"of {self.guest_ms:.1f} ms that guests wait for an I/O, {self.device_ms:.1f} ms are "
            f"the device, {self.queue_ms:.1f} ms the queue in the host, "
            f"and {self.kernel_ms:.1f} ms the rest of its kernel"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class NoLayers:
    """Why the latency is not split."""

    reason: str


def split_latency(seen: SentLatency) -> LatencyLayers | NoLayers:
    """The layers of what guests wait for, if they add up to it within 5 %."""
    guest, kernel, queue, device = seen.guest_ms, seen.kernel_ms, seen.queue_ms, seen.device_ms
    if guest is None or kernel is None or queue is None or device is None:
        parts = {"guest": guest, "kernel": kernel, "queue": queue, "device": device}
        lacking = [name for name, value in parts.items() if value is None]
        return NoLayers(reason=f"the host does not say the latency of {listed(lacking)}")
    if abs(device + kernel - guest) > SUM_RATIO * guest + DUST_MS:
        return NoLayers(
            reason=f"device and kernel take {device + kernel:.1f} ms together, "
            f"and guests wait for {guest:.1f} ms"
        )
    if queue > kernel * (1 + SUM_RATIO) + DUST_MS:
        return NoLayers(
            reason=f"the queue takes {queue:.1f} ms, and the kernel that it is in {kernel:.1f} ms"
        )
    return LatencyLayers(
        guest_ms=guest,
        queue_ms=min(queue, kernel),
        kernel_ms=max(kernel - queue, 0.0),
        device_ms=device,
    )
