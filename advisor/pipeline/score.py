"""Compare predictions with rates measured while every host had the policy in force."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from statistics import fmean
from typing import Any

from django.db.models import QuerySet

from advisor.core.enforced_time import Stretch
from advisor.core.forecast.calibration import PredictedRate, score
from advisor.core.forecast.synthetic_control import Effect, NoEffect
from advisor.history.allocation_history import MOST_WINDOWS
from advisor.history.enforced_time import enforced_time
from advisor.history.policy_state import policy_state
from advisor.history.reader import read_history
from advisor.history.whole_windows import whole_windows
from advisor.models import Allocation, Policy, PredictionScore, Recommendation, Resource
from advisor.pipeline.effect import effects_of
from ingest.core.grid import Grid, grid_of
from ingest.core.steps import coarse_step_s

SETTLED = timedelta(minutes=5)
"""Rates settle within this time after a policy was applied; earlier ones do not count."""
LONGEST = timedelta(hours=24)
"""A prediction is scored on the first day; later the load may differ."""
ENOUGH_WINDOWS = 12
AS_MUCH = 0.8
"""A window counts if all workloads together got this fraction of the predicted rate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotScored:
    """Why a prediction has no score (yet)."""

    reason: str


def score_recommendation(
    *, recommendation: Recommendation, now: datetime
) -> PredictionScore | NotScored:
    """Compare the predicted rates with the mean of the windows that had as much load.

    A window counts only if the policy was in force on every host of its workloads: applied, and
    shown by the kernel. It is safe to run again: the score covers all windows so far, up to a
    day. Without a score the recommendation keeps the reason.
    """
    policy = recommendation.policies.select_related("resource").order_by("version").first()
    if policy is None:
        return NotScored(reason="it never became a policy")
    found = _score(recommendation, policy, now)
    gap = found.reason if isinstance(found, NotScored) else ""
    Recommendation.objects.filter(pk=recommendation.pk).update(score_gap=gap)
    return found


def _score(
    recommendation: Recommendation, policy: Policy, now: datetime
) -> PredictionScore | NotScored:
    enforced = enforced_time(policy)
    if not enforced:
        PredictionScore.objects.filter(recommendation=recommendation).delete()
        return NotScored(reason=_never_applied(policy, now))
    settled = [(since + SETTLED, until) for since, until in enforced if since + SETTLED < until]
    grid = _grid(policy, settled, now)
    if grid is None:
        return NotScored(reason="its policy was not applied for five minutes yet")
    predicted = _predicted(recommendation)
    allocations = _allocations(recommendation.resource, predicted)
    windows = _loaded_windows(
        recommendation.resource, allocations, predicted, grid=grid, settled=settled
    )
    if len(windows) < ENOUGH_WINDOWS:
        return NotScored(
            reason=f"{len(windows)} windows had as much load as the prediction assumes, "
            f"{ENOUGH_WINDOWS} are needed"
        )
    effects = effects_of(policy, allocations, scored=grid, settled=settled)
    return _save(recommendation, policy, windows, effects, grid=grid, now=now)


def _never_applied(policy: Policy, now: datetime) -> str:
    if Policy.objects.filter(resource=policy.resource, version__gt=policy.version).exists():
        return f"no reports prove that every host applied version {policy.version}"
    state = policy_state(policy, now=now)
    if state.is_in_force:
        return "its policy was not applied for five minutes yet"
    return f"its policy is {state.text}"


def _grid(policy: Policy, settled: Sequence[Stretch], now: datetime) -> Grid | None:
    """From when the policy had settled, until the next version, a day, or now."""
    if not settled:
        return None
    since = max(settled[0][0], policy.created_at + SETTLED)
    following = Policy.objects.filter(resource=policy.resource, version=policy.version + 1)
    ends = following.values_list("created_at", flat=True).first() or now
    resource = policy.resource
    until = min(
        whole_windows(resource, now=now), ends, settled[-1][1], policy.created_at + LONGEST
    )
    if until <= since:
        return None
    step_s = max(float(coarse_step_s(until - since, MOST_WINDOWS)), resource.window_s)
    return grid_of(since, until, step_s)


def _predicted(recommendation: Recommendation) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(recommendation.answer)["allocations"]
    return [row for row in rows if row.get("predicted_after") is not None]


Window = Mapping[int, float]


def _allocations(resource: Resource, predicted: Sequence[Mapping[str, Any]]) -> list[Allocation]:
    rows = resource.allocations.filter(pk__in=[row["allocation"] for row in predicted])
    return list(rows.select_related("workload", "host", "resource").order_by("pk"))


def _loaded_windows(
    resource: Resource,
    allocations: Sequence[Allocation],
    predicted: Sequence[Mapping[str, Any]],
    *,
    grid: Grid,
    settled: Sequence[Stretch],
) -> list[Window]:
    """Rates by allocation, of the windows in which all were measured with as much load.

    A window counts if the policy was applied, and had settled, in all of it.
    """
    if len(allocations) < len(predicted):
        return []
    rates = read_history(resource, grid, allocations=allocations).allocations.rate
    length = timedelta(seconds=grid.window_s)
    wanted = AS_MUCH * sum(row["predicted_after"] for row in predicted)
    names = [allocation.pk for allocation in allocations]
    # A sum with NaN is NaN, which reaches nothing.
    return [
        dict(zip(names, row, strict=True))
        for at, row in zip(grid.ends, rates.tolist(), strict=True)
        if sum(row) >= wanted
        and any(since <= at - length and at <= until for since, until in settled)
    ]


def _save(
    recommendation: Recommendation,
    policy: Policy,
    windows: Sequence[Window],
    effects: Mapping[int, Effect | NoEffect],
    *,
    grid: Grid,
    now: datetime,
) -> PredictionScore:
    rates = [
        {
            "allocation": row["allocation"],
            "workload": row["workload"],
            "host": row["host"],
            "before": row["predicted_before"],
            "predicted": row["predicted_after"],
            "interval": row.get("interval"),
            "unsure": row.get("unsure", ""),
            "measured": fmean(window[row["allocation"]] for window in windows),
            **_plain(effects[row["allocation"]]),
        }
        for row in _predicted(recommendation)
    ]
    capacity = policy.divided_capacity or sum(row["predicted"] for row in rates)
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
            "began_at": grid.since,
            "ended_at": grid.until,
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


def _plain(found: Effect | NoEffect) -> dict[str, Any]:
    if isinstance(found, NoEffect):
        return {"effect": None, "effect_gap": found.reason}
    return {"effect": asdict(found), "effect_gap": ""}


def recent_predictions(*, now: datetime) -> QuerySet[Recommendation]:
    """Recommendations whose policy came into force in about the last day."""
    begun = now - LONGEST - timedelta(hours=1)
    return Recommendation.objects.filter(policies__created_at__gt=begun).distinct().order_by("pk")
