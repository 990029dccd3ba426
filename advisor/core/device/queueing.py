"""Little's law, and the latency of a device with limited throughput.

Outstanding I/Os N, throughput X and latency R of any stable system obey N = X·R.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from advisor.core.device.device_fit import LoadPoint
from advisor.core.number_checks import check_amount, check_positive

ENOUGH_LEVELS = 4
"""Three unknowns need at least four levels of load, each twice the one before."""


def little_latency_ms(outstanding_io: float, iops: float) -> float | None:
    """R = N / X; None if nothing completes."""
    check_amount("outstanding_io", outstanding_io)
    check_amount("iops", iops)
    return None if iops == 0 else 1000 * outstanding_io / iops


@dataclass(frozen=True, slots=True, kw_only=True)
class Saturation:
    """A device that answers in `base_ms` up to `peak_iops`, its highest throughput."""

    base_ms: float
    peak_iops: float

    def __post_init__(self) -> None:
        check_positive("base_ms", self.base_ms)
        check_positive("peak_iops", self.peak_iops)

    def iops(self, outstanding_io: float) -> float:
        """min(N / R, X): the asymptotic bounds of a closed system."""
        check_amount("outstanding_io", outstanding_io)
        return min(1000 * outstanding_io / self.base_ms, self.peak_iops)

    def latency_ms(self, outstanding_io: float) -> float:
        """max(R, N / X)."""
        check_amount("outstanding_io", outstanding_io)
        return max(self.base_ms, 1000 * outstanding_io / self.peak_iops)


def saturation_of(points: Sequence[LoadPoint]) -> Saturation | None:
    """From the lowest latency and highest throughput without outliers; None without points."""
    if not points:
        return None
    return Saturation(
        base_ms=float(np.percentile([point.latency_ms for point in points], 5)),
        peak_iops=float(np.percentile([point.iops for point in points], 99)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Scalability:
    """Throughput over outstanding I/O that may fall again (universal scalability law, Gunther).

    X(N) = first·N / (1 + contention·(N-1) + crosstalk·N·(N-1)).
    """

    first_iops: float
    contention: float
    crosstalk: float

    def __post_init__(self) -> None:
        check_positive("first_iops", self.first_iops)
        check_amount("contention", self.contention)
        check_amount("crosstalk", self.crosstalk)

    def iops(self, outstanding_io: float) -> float:
        """Throughput with this many I/Os outstanding; below one, in proportion."""
        check_amount("outstanding_io", outstanding_io)
        others = max(outstanding_io - 1, 0.0)
        drag = 1 + self.contention * others + self.crosstalk * outstanding_io * others
        return self.first_iops * outstanding_io / drag

    @property
    def best_outstanding_io(self) -> float | None:
        """N with the highest throughput, sqrt((1-contention)/crosstalk); None: it never falls."""
        if self.crosstalk == 0:
            return None
        return math.sqrt(max(1 - self.contention, 0.0) / self.crosstalk)


def fit_scalability(points: Sequence[LoadPoint]) -> Scalability | None:
    """The law fitted to measured windows; None if they cover too little of it.

    N/X is linear in the unknowns, so non-negative least squares of relative errors finds them.
    """
    levels = np.array([point.outstanding_io for point in points])
    if len(np.unique(np.round(np.log2(levels)))) < ENOUGH_LEVELS:
        return None
    # It takes 26 MB, and most processes of the product fit nothing.
    from scipy.optimize import nnls

    per_io = levels / np.array([point.iops for point in points])
    table = np.stack([np.ones_like(levels), levels - 1, levels * (levels - 1)], axis=1)
    (base, linear, square), _ = nnls(table / per_io[:, None], np.ones_like(levels))
    if base <= 0:
        return None
    return Scalability(
        first_iops=float(1 / base),
        contention=float(linear / base),
        crosstalk=float(square / base),
    )
