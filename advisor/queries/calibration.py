"""The accuracy of predictions, over all recommendations."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from accounts.models import Organisation
from advisor.core.forecast.calibration import Band, Coverage, Score, calibrate, coverage_of
from advisor.core.forecast.prediction_interval import Interval
from advisor.models import PredictionScore

MOST_SCORES = 500
"""Older predictions were made by older models."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationSummary:
    """All scored predictions; errors are fractions of the capacity.

    `bias_ratio` is above 0 if workloads got more than predicted. `gap` is the mean difference
    between confidence and the fraction that held. `coverage` is that of the intervals of single
    rates; None if none was told.
    """

    count: int
    held: int
    bias_ratio: float
    error_ratio: float
    gap: float
    bands: tuple[Band, ...]
    coverage: Coverage | None


def calibration_of(organisation: Organisation) -> CalibrationSummary | None:
    """The summary; None without scores."""
    rows = PredictionScore.objects.filter(recommendation__organisation=organisation)
    return _summary(list(rows.order_by("-scored_at")[:MOST_SCORES]))


def _summary(rows: list[PredictionScore]) -> CalibrationSummary | None:
    if not rows:
        return None
    found = calibrate(
        [
            Score(
                confidence=row.confidence,
                error_ratio=row.error_ratio,
                worst_error_ratio=row.worst_error_ratio,
                bias_ratio=row.bias_ratio,
                skill_ratio=row.skill_ratio,
                held=row.held,
            )
            for row in rows
        ]
    )
    return CalibrationSummary(
        count=len(rows),
        held=sum(row.held for row in rows),
        bias_ratio=found.mean_bias_ratio or 0.0,
        error_ratio=found.mean_error_ratio or 0.0,
        gap=found.gap or 0.0,
        bands=tuple(band for band in found.bands if band.count),
        coverage=coverage_of(outcomes_of(rows)),
    )


def outcomes_of(rows: Iterable[PredictionScore]) -> list[tuple[Interval, float]]:
    """Each rate that was told as sure: its range, and what was measured."""
    return [
        (Interval(**rate["interval"]), float(rate["measured"]))
        for row in rows
        for rate in row.rates
        if rate.get("interval") and not rate.get("unsure")
    ]
