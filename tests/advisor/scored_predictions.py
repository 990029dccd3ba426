"""Predictions of which it was measured what came true."""

from __future__ import annotations

from dataclasses import asdict
from datetime import timedelta
from typing import Any

from advisor.core.forecast.prediction_interval import Interval
from advisor.models import NaturalScore, PredictionScore, Recommendation, Resource
from tests.advisor.scenario import NOW, Cluster, propose


def scored(
    cluster: Cluster,
    *,
    inside: int,
    outside: int,
    resource: Resource | None = None,
    age: timedelta = timedelta(days=1),
) -> Recommendation:
    """Advice of this age of which so many rates lay within their ranges, and outside of them."""
    row = propose(cluster)
    row.resource = resource or cluster.uplink
    row.state = "approved"
    row.created_at = NOW - age
    row.save()
    told = asdict(Interval(low=90.0, high=110.0, level=0.9))
    rates: list[dict[str, Any]] = [
        {"measured": 100.0, "predicted": 100.0, "interval": told}
    ] * inside
    rates += [{"measured": 120.0, "predicted": 100.0, "interval": told}] * outside
    rates.append({"measured": 5.0, "interval": None})
    # What was only suspected is no promise.
    rates += [{"measured": 100.0, "interval": told, "unsure": "0 of 4 calm windows"}] * 20
    PredictionScore.objects.create(
        recommendation=row, scored_at=NOW, began_at=NOW - timedelta(hours=1), ended_at=NOW,
        windows=60, less_load_windows=0, unknown_load_windows=0, capacity=1000.0, rates=rates,
        confidence=0.5, error_ratio=0.0, worst_error_ratio=0.0, bias_ratio=0.0, skill_ratio=None,
        held=True,
    )  # fmt: skip
    return row


def switched(
    resource: Resource, *, inside: int, outside: int, age: timedelta = timedelta(days=1)
) -> None:
    """A workload that started by itself, with so many rates of others."""
    told = {"interval": asdict(Interval(low=90.0, high=110.0, level=0.9)), "predicted": 100.0}
    rates = [{**told, "measured": 105.0, "crps": 3.0}] * inside
    rates += [{**told, "measured": 120.0, "crps": 15.0}] * outside
    NaturalScore.objects.create(
        resource=resource, workload="etl", switched_at=NOW - age, starts=True, scored_at=NOW,
        rates=[*rates, {**told, "measured": 5.0, "crps": 90.0, "unsure": "too wide"}],
    )  # fmt: skip
