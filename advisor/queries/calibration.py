"""The accuracy of predictions, over all recommendations and all that happened by itself."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from accounts.models import Organisation
from advisor.core.forecast.calibration import Band, Coverage, Score, calibrate, coverage_of
from advisor.history.measured_rates import outcome_of, outcomes_of, sure_rates
from advisor.models import NaturalScore, PredictionScore
from advisor.resource_kinds.registry import traits_of

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


@dataclass(frozen=True, slots=True, kw_only=True)
class OriginAccuracy:
    """Rates that were told as sure, of one kind of resource and one origin, and what came true.

    `bias_ratio` is what was measured beyond what was told, `crps_ratio` the continuous ranked
    probability score, both beside the measured rate, on the mean; None where draws are not kept.
    """

    origin: str
    kinds: str
    coverage: Coverage
    bias_ratio: float
    crps_ratio: float | None


APPROVED, NATURAL = "approved advice", "workloads that started or stopped by themselves"


def accuracy_by_origin(organisation: Organisation) -> list[OriginAccuracy]:
    """A row for each origin and kind of resource of which rates were measured."""
    approved = PredictionScore.objects.filter(recommendation__organisation=organisation)
    natural = NaturalScore.objects.filter(resource__organisation=organisation)
    advised = approved.select_related("recommendation__resource").order_by("-scored_at")
    switched = natural.select_related("resource").order_by("-switched_at")
    rates: dict[tuple[str, str], list[Mapping[str, Any]]] = defaultdict(list)
    for score in advised[:MOST_SCORES]:
        rates[APPROVED, score.recommendation.resource.kind] += sure_rates(score)
    for change in switched[:MOST_SCORES]:
        rates[NATURAL, change.resource.kind] += sure_rates(change)
    found = (_accuracy(origin, kind, own) for (origin, kind), own in sorted(rates.items()))
    return [one for one in found if one is not None]


def _accuracy(origin: str, kind: str, rates: Sequence[Mapping[str, Any]]) -> OriginAccuracy | None:
    coverage = coverage_of([outcome_of(rate) for rate in rates])
    measured = sum(rate["measured"] for rate in rates)
    if coverage is None or measured <= 0:
        return None
    has_draws = all("crps" in rate for rate in rates)
    return OriginAccuracy(
        origin=origin,
        kinds=traits_of(kind).words.plural,
        coverage=coverage,
        bias_ratio=(measured - sum(rate["predicted"] for rate in rates)) / measured,
        crps_ratio=sum(rate["crps"] for rate in rates) / measured if has_draws else None,
    )
