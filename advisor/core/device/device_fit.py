"""Fit a device's latency against outstanding I/O.

The model is a line, latency = intercept + slope · outstanding, so throughput approaches 1/slope.
The line is fitted to medians of depth buckets by Theil-Sen, which is robust to a few odd windows.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from advisor.core.number_checks import check_positive, check_ratio

ENOUGH_DEPTHS = 3
ENOUGH_SPAN = 4.0
"""The deepest bucket must be at least this many times as deep as the shallowest."""
ENOUGH_R_SQUARED = 0.8
ENOUGH_WINDOWS = 3
"""With fewer windows than this, and fewer than usual, a depth is an outlier."""
LITTLE_TOLERANCE = 0.1
"""A window in which N = X·R fails by more than this fraction was measured wrongly."""
BUCKETS_PER_OCTAVE = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadPoint:
    """One window of a device: mean outstanding I/O, normalised latency and throughput."""

    outstanding_io: float
    latency_ms: float
    iops: float

    def __post_init__(self) -> None:
        check_positive("outstanding_io", self.outstanding_io)
        check_positive("latency_ms", self.latency_ms)
        check_positive("iops", self.iops)


@dataclass(frozen=True, slots=True, kw_only=True)
class FitRefused:
    """No fit is possible, for this reason."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceFit:
    """The fitted line; `peak_iops` is the higher of the line's limit and the measured peak."""

    intercept_ms: float
    slope_ms: float
    r_squared: float
    peak_iops: float
    point_count: int

    def latency_at_part_of_peak_ms(self, part: float) -> float | None:
        """Latency at which throughput is this fraction of the peak; None if never.

        With X = Q / (a + b·Q) the latency at throughput X is a / (1 - b·X).
        """
        check_ratio("part", part)
        busy = self.slope_ms / 1000 * part * self.peak_iops
        return None if busy >= 1 else self.intercept_ms / (1 - busy)


def fit_device(points: Sequence[LoadPoint]) -> DeviceFit | FitRefused:
    """Fit latency against outstanding I/O, or say why that is not possible."""
    valid = [point for point in points if _obeys_littles_law(point)]
    if 2 * len(valid) < len(points) or not points:
        return FitRefused(
            reason=f"{len(points) - len(valid)} of {len(points)} windows break N = X·R"
            if points
            else "no windows with outstanding I/O"
        )
    depths, latencies, is_solid = _bucket_medians(valid)
    solid = depths[is_solid]
    if len(solid) < ENOUGH_DEPTHS or solid[-1] < ENOUGH_SPAN * solid[0]:
        return FitRefused(
            reason=f"{len(solid)} depth{'s' if len(solid) > 1 else ''} "
            f"from {solid[0]:.3g} to {solid[-1]:.3g} outstanding "
            f"I/Os; {ENOUGH_DEPTHS} over a span of {ENOUGH_SPAN:g} times are needed"
        )
    slope, intercept = _theil_sen(depths, latencies)
    if slope <= 0 or intercept <= 0:
        return FitRefused(reason="latency does not rise with outstanding I/O from a positive base")
    r_squared = _r_squared(latencies, intercept + slope * depths)
    if r_squared < ENOUGH_R_SQUARED:
        return FitRefused(
            reason=f"the line explains {r_squared:.0%} of the latency; "
            f"{ENOUGH_R_SQUARED:.0%} are needed"
        )
    seen = float(np.percentile([point.iops for point in valid], 99))
    return DeviceFit(
        intercept_ms=intercept,
        slope_ms=slope,
        r_squared=r_squared,
        peak_iops=max(seen, 1000 / slope),
        point_count=len(valid),
    )


_Floats = np.ndarray[tuple[int], np.dtype[np.float64]]


def _obeys_littles_law(point: LoadPoint) -> bool:
    expected = point.iops * point.latency_ms / 1000
    return abs(point.outstanding_io - expected) <= LITTLE_TOLERANCE * point.outstanding_io


def _bucket_medians(
    points: Sequence[LoadPoint],
) -> tuple[_Floats, _Floats, np.ndarray[tuple[int], np.dtype[np.bool_]]]:
    """Median depth and latency of each quarter octave of depth, in rising order.

    The third array marks depths with enough windows; all three are (depths).
    """
    depth = np.array([point.outstanding_io for point in points])
    latency = np.array([point.latency_ms for point in points])
    bucket = np.round(BUCKETS_PER_OCTAVE * np.log2(depth))
    names, counts = np.unique(bucket, return_counts=True)
    return (
        np.array([np.median(depth[bucket == name]) for name in names]),
        np.array([np.median(latency[bucket == name]) for name in names]),
        counts >= min(ENOUGH_WINDOWS, np.median(counts)),
    )


def _theil_sen(x: _Floats, y: _Floats) -> tuple[float, float]:
    """Median slope of all pairs, and median intercept at that slope; x and y are (depths)."""
    low, high = np.triu_indices(len(x), k=1)
    slope = float(np.median((y[high] - y[low]) / (x[high] - x[low])))
    return slope, float(np.median(y - slope * x))


def _r_squared(y: _Floats, fitted: _Floats) -> float:
    spread = float(np.sum((y - y.mean()) ** 2))
    return 1 - float(np.sum((y - fitted) ** 2)) / spread if spread > 0 else 0.0
