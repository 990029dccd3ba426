"""How good told rates were: how many lay in their range, how far off, and to which side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

from advisor.core.forecast.prediction_interval import Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredRate:
    """A rate that was told as sure, and what was measured; `crps` None without draws."""

    predicted: float
    interval: Interval
    measured: float
    crps: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy:
    """That of some rates; ratios are parts of what was measured.

    `level` is how many should lie inside. `bias_ratio` is above 0 if workloads got more than was
    told. Rates of which nothing was measured count for the coverage alone; None without others.
    """

    count: int
    inside_count: int
    level: float
    error_ratio: float | None
    bias_ratio: float | None
    crps_ratio: float | None

    @property
    def inside_ratio(self) -> float:
        return self.inside_count / self.count


def accuracy_of(rates: Sequence[ScoredRate]) -> Accuracy | None:
    """The accuracy of these rates; None without any. The error is the median one."""
    if not rates:
        return None
    some = [one for one in rates if one.measured > 0]
    errors = [(one.measured - one.predicted) / one.measured for one in some]
    scores = [one.crps / one.measured for one in some if one.crps is not None]
    return Accuracy(
        count=len(rates),
        inside_count=sum(one.interval.low <= one.measured <= one.interval.high for one in rates),
        level=fmean(one.interval.level for one in rates),
        error_ratio=median(map(abs, errors)) if errors else None,
        bias_ratio=median(errors) if errors else None,
        crps_ratio=fmean(scores) if scores else None,
    )
