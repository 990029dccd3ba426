"""A device's latency from outstanding I/O, I/O size and reads against writes.

latency = reads·(a + b·size) + writes·(c + d·size) + (four such terms) · outstanding, with all
factors at least 0: each I/O takes its own time and waits for those before it, and reads and writes
differ in cost. So measurements of one mix predict another.
docs/evaluation.md compares it with simpler and more flexible models.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from advisor.core.dependence import Floats
from advisor.core.device.device_fit import ENOUGH_SPAN, FitRefused
from advisor.core.explanation.rounding import round_all
from advisor.core.number_checks import check_amount, check_positive, check_ratio

ENOUGH_POINTS = 40
"""Five windows per factor."""
ENOUGH_FIT = 0.25
"""A model with a larger median error is refused."""
SIZE_UNIT_BYTES = 8000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class MixPoint:
    """One window of a device: outstanding I/Os, their size and kind, and mean latency."""

    outstanding_io: float
    latency_ms: float
    mean_io_bytes: float
    read_ratio: float

    def __post_init__(self) -> None:
        check_positive("outstanding_io", self.outstanding_io)
        check_positive("latency_ms", self.latency_ms)
        check_positive("mean_io_bytes", self.mean_io_bytes)
        check_ratio("read_ratio", self.read_ratio)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceLine:
    """latency = intercept + slope · outstanding, for one mix of I/Os."""

    intercept_ms: float
    slope_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceModel:
    """Factors of intercept and slope, each for reads, read size, writes and write size.

    In ms. `error_ratio` is the median relative error over the windows it was fitted on.
    """

    intercept: tuple[float, ...]
    slope: tuple[float, ...]
    error_ratio: float
    point_count: int

    def line_at(self, *, mean_io_bytes: float, read_ratio: float) -> DeviceLine:
        """The line for I/Os of this mean size and share of reads."""
        check_amount("mean_io_bytes", mean_io_bytes)
        check_ratio("read_ratio", read_ratio)
        terms = _terms(np.array([mean_io_bytes]), np.array([read_ratio]))[0]
        return DeviceLine(
            intercept_ms=float(terms @ np.array(self.intercept)),
            slope_ms=float(terms @ np.array(self.slope)),
        )

    def latency_ms(
        self, outstanding_io: float, *, mean_io_bytes: float, read_ratio: float
    ) -> float:
        """Latency with this many of these I/Os outstanding."""
        check_amount("outstanding_io", outstanding_io)
        line = self.line_at(mean_io_bytes=mean_io_bytes, read_ratio=read_ratio)
        return line.intercept_ms + line.slope_ms * outstanding_io


def fit_device_model(points: Sequence[MixPoint]) -> DeviceModel | FitRefused:
    """Fit by least relative squares with factors of at least 0, or say why not."""
    if len(points) < ENOUGH_POINTS:
        return FitRefused(reason=f"{len(points)} windows; {ENOUGH_POINTS} are needed")
    depth = np.array([one.outstanding_io for one in points])
    if depth.max() < ENOUGH_SPAN * depth.min():
        return FitRefused(
            reason=f"{depth.min():.3g} to {depth.max():.3g} outstanding I/Os; "
            f"a span of {ENOUGH_SPAN:g} times is needed"
        )
    latency = np.array([one.latency_ms for one in points])
    terms = _terms(
        np.array([one.mean_io_bytes for one in points]),
        np.array([one.read_ratio for one in points]),
    )
    # It takes a second to load and 49 MB, and most processes of the product never fit.
    from sklearn.linear_model import LinearRegression

    table = np.hstack([terms, terms * depth[:, None]])
    fitted = LinearRegression(fit_intercept=False, positive=True).fit(
        table / latency[:, None], np.ones(len(points))
    )
    error = float(np.median(np.abs(table @ fitted.coef_ / latency - 1)))
    if error > ENOUGH_FIT:
        return FitRefused(
            reason=f"the model is off by {error:.0%} in the middle; {ENOUGH_FIT:.0%} are allowed"
        )
    factors = tuple(fitted.coef_.tolist())
    half = len(factors) // 2
    return round_all(
        DeviceModel(
            intercept=factors[:half],
            slope=factors[half:],
            error_ratio=error,
            point_count=len(points),
        )
    )


def mix_terms(size_bytes: Floats, read_ratio: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """What each of the four factors of `intercept`, and of `slope`, is multiplied by."""
    size, writes = size_bytes / SIZE_UNIT_BYTES, 1 - read_ratio
    return read_ratio, read_ratio * size, writes, writes * size


def _terms(size_bytes: Floats, read_ratio: Floats) -> Floats:
    return np.stack(mix_terms(size_bytes, read_ratio), axis=1)
