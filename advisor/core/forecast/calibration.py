"""The accuracy of predictions, and the calibration of confidence."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from advisor.core.forecast.prediction_interval import Interval
from advisor.core.number_checks import check_amount, check_positive, check_ratio

HELD_TOLERANCE = 0.05
"""A prediction held if every rate was within this fraction of the capacity."""
ENOUGH_RATES = 20
"""With fewer measured rates nothing is proven."""
BAND_EDGES = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictedRate:
    """One workload: the rate before, the rate predicted, and the rate measured afterwards."""

    workload: str
    before: float
    predicted: float
    measured: float

    def __post_init__(self) -> None:
        for name in ("before", "predicted", "measured"):
            check_amount(f"{name} of {self.workload}", getattr(self, name))


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """The accuracy of one recommendation; errors are fractions of the capacity.

    `bias_ratio` is above 0 if workloads got more than predicted. `skill_ratio` is the fraction of
    the error of "no change" that the prediction avoided; None if nothing changed.
    """

    confidence: float
    error_ratio: float
    worst_error_ratio: float
    bias_ratio: float
    skill_ratio: float | None
    held: bool


def score(rates: Sequence[PredictedRate], *, capacity: float, confidence: float) -> Score:
    """Compare predicted with measured rates. ValueError if there are none."""
    check_positive("capacity", capacity)
    check_ratio("confidence", confidence)
    if not rates:
        raise ValueError("rates is empty; a score needs at least one measured workload")
    errors = [(rate.measured - rate.predicted) / capacity for rate in rates]
    changes = [abs(rate.measured - rate.before) / capacity for rate in rates]
    missed, changed = sum(map(abs, errors)), sum(changes)
    return Score(
        confidence=confidence,
        error_ratio=missed / len(rates),
        worst_error_ratio=max(map(abs, errors)),
        bias_ratio=fmean(errors),
        skill_ratio=1 - missed / changed if changed > 0 else None,
        held=max(map(abs, errors)) <= HELD_TOLERANCE,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """How many of the measured rates lay in the interval that was told for them.

    `level` is how many of them should; the intervals may have had different ones.
    """

    count: int
    inside_count: int
    level: float

    @property
    def inside_ratio(self) -> float:
        return self.inside_count / self.count

    @property
    def is_proven(self) -> bool:
        """Whether there are enough to say something."""
        return self.count >= ENOUGH_RATES


def coverage_of(outcomes: Sequence[tuple[Interval, float]]) -> Coverage | None:
    """That of intervals with what was measured; None without any."""
    if not outcomes:
        return None
    return Coverage(
        count=len(outcomes),
        inside_count=sum(told.low <= measured <= told.high for told, measured in outcomes),
        level=fmean(told.level for told, _ in outcomes),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """Predictions with confidence from `low` to `high`: their number, and how many held."""

    low: float
    high: float
    count: int
    held_count: int
    mean_confidence: float | None

    @property
    def held_ratio(self) -> float | None:
        """The fraction that held; None without predictions."""
        return self.held_count / self.count if self.count else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Confidence compared with outcomes, in bands; well calibrated means that they agree.

    `gap` is the mean difference between confidence and the fraction that held, weighted by count;
    None without predictions.
    """

    bands: tuple[Band, ...]
    gap: float | None
    mean_error_ratio: float | None
    mean_bias_ratio: float | None


def calibrate(scores: Sequence[Score]) -> Calibration:
    """Compare confidence with the fraction of predictions that held."""
    last = len(BAND_EDGES) - 2
    members: list[list[Score]] = [[] for _ in range(last + 1)]
    for one in scores:
        members[min(int(one.confidence * (last + 1)), last)].append(one)
    bands = tuple(
        _band(BAND_EDGES[index], BAND_EDGES[index + 1], inside)
        for index, inside in enumerate(members)
    )
    if not scores:
        return Calibration(bands=bands, gap=None, mean_error_ratio=None, mean_bias_ratio=None)
    distances = [
        band.count * abs(band.mean_confidence - band.held_ratio)
        for band in bands
        if band.mean_confidence is not None and band.held_ratio is not None
    ]
    return Calibration(
        bands=bands,
        gap=sum(distances) / len(scores),
        mean_error_ratio=fmean(one.error_ratio for one in scores),
        mean_bias_ratio=fmean(one.bias_ratio for one in scores),
    )


def _band(low: float, high: float, inside: Sequence[Score]) -> Band:
    return Band(
        low=low,
        high=high,
        count=len(inside),
        held_count=sum(one.held for one in inside),
        mean_confidence=fmean(one.confidence for one in inside) if inside else None,
    )
