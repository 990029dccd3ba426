"""The window law: how many I/Os each host may have outstanding on a congested datastore.

In every period each host computes, from numbers that all hosts share,

    w ← (1-γ)·w + γ·((L/Λ)·w + β)      bounded to [4, 256]

with the threshold L, the datastore-wide latency Λ and β in proportion to the host's active shares
(PARDA, FAST'09, equations 2 to 4; SIOC has a period of 4 s and these bounds).
At saturation with C IOPS it settles at Σw = L·C + Σβ, split by β; the latency there is L + Σβ/C.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from advisor.core.number_checks import check_amount, check_positive, check_ratio

PERIOD_S = 4.0
GAIN = 0.8
RESERVE = 1 / 3
"""Σβ as a fraction of L·C: shares settle to 5 % in 14 periods, at a third more latency."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowLaw:
    """Threshold (L), gain (γ) and bounds of the law."""

    threshold_ms: float
    gain: float = GAIN
    lowest: float = 4.0
    highest: float = 256.0

    def __post_init__(self) -> None:
        check_positive("threshold_ms", self.threshold_ms)
        check_positive("gain", self.gain)
        check_ratio("gain", self.gain)
        check_positive("lowest", self.lowest)
        check_positive("highest", self.highest)
        if self.lowest > self.highest:
            raise ValueError(f"lowest is {self.lowest:g}; it must not be above {self.highest:g}")

    def bounded(self, window: float) -> float:
        """The window, limited to the bounds."""
        return min(max(window, self.lowest), self.highest)

    def pipeline(self, capacity_iops: float) -> float:
        """Outstanding I/Os that give exactly the threshold latency at this throughput: L·C."""
        return self.threshold_ms / 1000 * capacity_iops


def next_window(window: float, *, latency_ms: float | None, beta: float, law: WindowLaw) -> float:
    """The window of the next period.

    Latency None means that no host did any I/O; the window then stays.
    """
    check_positive("window", window)
    check_amount("latency_ms", latency_ms)
    check_amount("beta", beta)
    if latency_ms is None:
        return law.bounded(window)
    pull = law.threshold_ms / latency_ms if latency_ms > 0 else math.inf
    return law.bounded((1 - law.gain) * window + law.gain * (pull * window + beta))


def active_shares(
    shares: Sequence[float], outstanding_io: Sequence[float], *, window: float
) -> list[float]:
    """Shares of a host's workloads, reduced by the unused part of each workload's slots.

    A workload that keeps n I/Os outstanding where its shares give it w > n slots counts with
    n/w of its shares, so an idle workload does not count (PARDA, section 3.3).
    """
    check_positive("window", window)
    for share, outstanding in zip(shares, outstanding_io, strict=True):
        check_amount("shares", share)
        check_amount("outstanding_io", outstanding)
    total = math.fsum(shares)
    if total == 0:
        return [0.0] * len(shares)
    slots = [share / total * window for share in shares]
    return [
        share * min(1.0, outstanding / slot) if slot > 0 else 0.0
        for share, outstanding, slot in zip(shares, outstanding_io, slots, strict=True)
    ]


def adaptive_betas(
    host_shares: Sequence[float],
    *,
    law: WindowLaw,
    capacity_iops: float,
    reserve: float = RESERVE,
) -> list[float]:
    """β of each host by its active shares, so that Σβ is the given fraction of L·C.

    A constant β would be too small for a fast datastore and too large for a slow one.
    """
    check_amount("capacity_iops", capacity_iops)
    check_positive("reserve", reserve)
    for share in host_shares:
        check_amount("host_shares", share)
    total = math.fsum(host_shares)
    if total == 0:
        return [0.0] * len(host_shares)
    extra = reserve * law.pipeline(capacity_iops)
    return [extra * (share / total) for share in host_shares]
