"""Outcomes of earlier rate predictions, from which prediction intervals are computed."""

from __future__ import annotations

from advisor.core.forecast.prediction_interval import ENOUGH_OUTCOMES, Outcome
from advisor.models import PredictionScore, Resource

MOST_SCORES = 50
"""Older predictions belong to another load."""


def past_outcomes(resource: Resource) -> tuple[Outcome, ...]:
    """Those of this resource, or of all of its kind in the organisation while it has too few.

    In the order in which they were scored.
    """
    own = _outcomes(resource=resource)
    if len(own) >= ENOUGH_OUTCOMES:
        return own
    return _outcomes(resource__organisation=resource.organisation, resource__kind=resource.kind)


def _outcomes(**of: object) -> tuple[Outcome, ...]:
    rows = PredictionScore.objects.filter(
        **{f"recommendation__{name}": value for name, value in of.items()}
    ).order_by("-scored_at", "-pk")[:MOST_SCORES]
    return tuple(
        Outcome(predicted=rate["predicted"], measured=rate["measured"])
        for row in reversed(rows)
        for rate in row.rates
        if rate["predicted"] > 0
    )
