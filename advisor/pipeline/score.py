"""Predictions held against what was measured once their policy was in force for a while."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import fmean
from typing import Any

from advisor.core.forecast.calibration import PredictedRate, score
from advisor.history.allocation_history import MOST_WINDOWS
from advisor.history.observe import whole_windows, windows_of
from advisor.history.windows import Span, last_window_end
from advisor.models import Policy, PredictionScore, Recommendation, Resource
from ingest.models import Organisation
from ingest.readings import coarse_step_s

SETTLED = timedelta(minutes=5)
"""Agents pull, and rates settle; what was measured before says nothing."""
LONGEST = timedelta(hours=24)
"""A prediction is judged by the first day; later the load may be another one."""
ENOUGH_WINDOWS = 12
AS_MUCH = 0.8
"""A window counts if all workloads together got this part of what was predicted for them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotScored:
    """Why a prediction cannot be judged (yet)."""

    reason: str


def score_recommendation(
    *, recommendation: Recommendation, now: datetime
) -> PredictionScore | NotScored:
    """Compare the predicted rates with the mean of the windows that had as much load.

    Safe to run again: the score is that of all windows so far, up to a day.
    """
    policy = recommendation.policies.order_by("version").first()
    if policy is None:
        return NotScored(reason="it never became a policy")
    resource = recommendation.resource
    span = _span(policy, now)
    if span is None:
        return NotScored(reason="its policy was not in force for five minutes yet")
    predicted = _predicted(recommendation)
    windows = _loaded_windows(resource, predicted, span)
    if len(windows) < ENOUGH_WINDOWS:
        return NotScored(
            reason=f"{len(windows)} windows had as much load as the prediction assumes, "
            f"{ENOUGH_WINDOWS} are needed"
        )
    return _save(recommendation, predicted, windows, span=span, now=now)


def _span(policy: Policy, now: datetime) -> Span | None:
    """From when the policy had settled, until the next version, a day, or now."""
    since = policy.created_at + SETTLED
    following = Policy.objects.filter(resource=policy.resource, version=policy.version + 1)
    ends = following.values_list("created_at", flat=True).first() or now
    resource = policy.resource
    until = min(whole_windows(resource, now=now), ends, since + LONGEST)
    if until <= since:
        return None
    step_s = max(float(coarse_step_s(until - since, MOST_WINDOWS)), resource.window_s)
    return Span(since=since, until=last_window_end(until, step_s), window_s=step_s)


def _predicted(recommendation: Recommendation) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(recommendation.answer)["allocations"]
    return [row for row in rows if row.get("predicted_after") is not None]


Window = Mapping[int, float]


def _loaded_windows(
    resource: Resource, predicted: Sequence[Mapping[str, Any]], span: Span
) -> list[Window]:
    """By allocation, the rates of the windows in which all were measured and wanted as much."""
    rows = resource.allocations.filter(pk__in=[row["allocation"] for row in predicted])
    allocations = list(rows.select_related("workload", "host", "resource"))
    found: dict[datetime, dict[int, float]] = {}
    for allocation, windows in windows_of(allocations, span=span, max_points=MOST_WINDOWS).items():
        for window in windows:
            found.setdefault(window.at, {})[allocation] = window.rate
    wanted = AS_MUCH * sum(row["predicted_after"] for row in predicted)
    return [
        rates
        for _, rates in sorted(found.items())
        if len(rates) == len(predicted) and sum(rates.values()) >= wanted
    ]


def _save(
    recommendation: Recommendation,
    predicted: Sequence[Mapping[str, Any]],
    windows: Sequence[Window],
    *,
    span: Span,
    now: datetime,
) -> PredictionScore:
    rates = [
        {
            "allocation": row["allocation"],
            "workload": row["workload"],
            "host": row["host"],
            "before": row["predicted_before"],
            "predicted": row["predicted_after"],
            "measured": fmean(window[row["allocation"]] for window in windows),
        }
        for row in predicted
    ]
    capacity = recommendation.resource.capacity or sum(row["predicted"] for row in rates)
    found = score(
        [
            PredictedRate(
                workload=row["workload"],
                before=row["before"],
                predicted=row["predicted"],
                measured=row["measured"],
            )
            for row in rates
        ],
        capacity=capacity,
        confidence=json.loads(recommendation.answer)["confidence"]["value"],
    )
    row, _ = PredictionScore.objects.update_or_create(
        recommendation=recommendation,
        defaults={
            "scored_at": now,
            "began_at": span.since,
            "ended_at": span.until,
            "windows": len(windows),
            "capacity": capacity,
            "rates": rates,
            "confidence": found.confidence,
            "error_ratio": found.error_ratio,
            "worst_error_ratio": found.worst_error_ratio,
            "bias_ratio": found.bias_ratio,
            "skill_ratio": found.skill_ratio,
            "held": found.held,
        },
    )
    return row


def score_all(*, organisation: Organisation, now: datetime) -> list[PredictionScore]:
    """Score every prediction whose policy came into force within the last day or so."""
    recent = Recommendation.objects.filter(
        organisation=organisation, policies__created_at__gt=now - LONGEST - timedelta(hours=1)
    )
    found = [
        score_recommendation(recommendation=row, now=now)
        for row in recent.select_related("resource").distinct().order_by("pk")
    ]
    return [one for one in found if isinstance(one, PredictionScore)]
