"""Compare predictions with rates measured while every host had the policy in force."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from django.db.models import QuerySet

from advisor.core.duration import duration_text
from advisor.core.enforced_time import Stretch
from advisor.core.forecast.calibration import PredictedRate, score
from advisor.core.forecast.synthetic_control import Effect, NoEffect
from advisor.core.forecast.window_load import WindowLoads, window_loads
from advisor.history.allocation_history import MOST_WINDOWS
from advisor.history.enforced_time import enforced_time
from advisor.history.policy_state import policy_state
from advisor.history.reader import read_history
from advisor.history.whole_windows import whole_windows
from advisor.models import (
    Allocation,
    Policy,
    PredictionScore,
    Recommendation,
    Resource,
    RolloutTerms,
)
from advisor.pipeline.effect import effects_of
from ingest.core.grid import Flags, Floats, Grid, grid_of
from ingest.core.steps import coarse_step_s

LONGEST = timedelta(hours=24)
"""A prediction is scored on the first day; later the load may differ."""
FRESH = timedelta(hours=1)
ENOUGH_WINDOWS = 12
MOST_UNKNOWN = 0.5
"""Of more windows than this part it must be known whether they had the load that was told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotScored:
    """Why a prediction has no score (yet)."""

    reason: str


def score_recommendation(
    *, recommendation: Recommendation, now: datetime
) -> PredictionScore | NotScored:
    """Compare the predicted rates with those measured, and count the windows that say nothing.

    A window counts only if the policy was in force on every host of its workloads: applied, and
    shown by the kernel. It is safe to run again: the score covers all windows so far, up to a
    day. Without a score the recommendation keeps the reason, and the score that it had before.
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
    rest = _rest(policy)
    enforced = enforced_time(policy)
    if not enforced:
        PredictionScore.objects.filter(recommendation=recommendation).delete()
        return NotScored(reason=_never_applied(policy, now, rest))
    settled = [(since + rest, until) for since, until in enforced if since + rest < until]
    grid = _grid(policy, settled, now, rest)
    if grid is None:
        return NotScored(reason=f"its policy was not applied for {duration_text(rest)} yet")
    predicted = _predicted(recommendation)
    allocations = _allocations(recommendation.resource, predicted)
    windows = _windows(recommendation.resource, allocations, predicted, grid=grid, settled=settled)
    if gap := _gap(windows.loads):
        return NotScored(reason=gap)
    effects = effects_of(policy, allocations, scored=grid, settled=settled)
    return _save(recommendation, policy, windows, effects, grid=grid, now=now)


def _rest(policy: Policy) -> timedelta:
    """So long rates settle after a policy was applied; earlier ones do not count."""
    terms = RolloutTerms.objects.filter(organisation=policy.organisation_id).first()
    return timedelta(seconds=(terms or RolloutTerms()).settle_s)


def _never_applied(policy: Policy, now: datetime, rest: timedelta) -> str:
    if Policy.objects.filter(resource=policy.resource, version__gt=policy.version).exists():
        return f"no reports prove that every host applied version {policy.version}"
    state = policy_state(policy, now=now)
    if state.is_in_force:
        return f"its policy was not applied for {duration_text(rest)} yet"
    return f"its policy is {state.text}"


def _grid(
    policy: Policy, settled: Sequence[Stretch], now: datetime, rest: timedelta
) -> Grid | None:
    """From when the policy had settled, until the next version, a day, or now."""
    if not settled:
        return None
    since = max(settled[0][0], policy.created_at + rest)
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Windows:
    """The windows in all of which the policy was applied and had settled.

    `rates` are (windows, predicted rates), NaN where not measured.
    """

    rates: Floats
    loads: WindowLoads

    @property
    def compared(self) -> Floats:
        """The mean of each over the windows that are compared with the prediction."""
        return self._means(self.loads.compared)

    @property
    def all_measured(self) -> Floats:
        """The same over all windows in which all of them were measured."""
        is_measured: Flags = np.asarray(~np.isnan(self.rates).any(axis=1))
        return self._means(is_measured)

    def _means(self, chosen: Flags) -> Floats:
        found: Floats = self.rates[chosen].mean(axis=0)
        return found


def _allocations(resource: Resource, predicted: Sequence[Mapping[str, Any]]) -> list[Allocation]:
    rows = resource.allocations.filter(pk__in=[row["allocation"] for row in predicted])
    return list(rows.select_related("workload", "host", "resource").order_by("pk"))


def _windows(
    resource: Resource,
    allocations: Sequence[Allocation],
    predicted: Sequence[Mapping[str, Any]],
    *,
    grid: Grid,
    settled: Sequence[Stretch],
) -> _Windows:
    """All windows that count, whatever was measured in them."""
    own = read_history(resource, grid, allocations=allocations).allocations
    length = timedelta(seconds=grid.window_s)
    counts = np.array(
        [
            any(since <= at - length and at <= until for since, until in settled)
            for at in grid.ends
        ],
        dtype=bool,
    )
    found = {row.pk: place for place, row in enumerate(allocations)}
    # Who has no allocation any more is measured no more.
    places = [found.get(row["allocation"], len(allocations)) for row in predicted]
    rates, waits = (
        np.column_stack([table, np.full(len(table), np.nan)])[counts][:, places]
        for table in (own.rate, own.backlogged)
    )
    if not resource.traits.shows_queues:
        # Whoever does I/O waits for it, and asynchronous I/O waits unseen.
        waits = np.full_like(waits, np.nan)
    told = np.array([row["predicted_after"] for row in predicted], dtype=np.float64)
    return _Windows(rates=rates, loads=window_loads(rates, waits, told))


def _gap(loads: WindowLoads) -> str:
    """Why these windows are no score; empty if they are."""
    total = len(loads.unknown)
    compared, less, unknown = (
        int(which.sum()) for which in (loads.compared, loads.less, loads.unknown)
    )
    others = (
        f"in {less} less was asked for than the prediction assumes, and in {unknown} it is not "
        "known whether less was asked for"
    )
    if compared < ENOUGH_WINDOWS:
        return (
            f"{compared} of {total} windows can be compared, {ENOUGH_WINDOWS} are needed: {others}"
        )
    if unknown > MOST_UNKNOWN * total:
        return f"only {compared} of {total} windows can be compared: {others}"
    return ""


def _save(
    recommendation: Recommendation,
    policy: Policy,
    windows: _Windows,
    effects: Mapping[int, Effect | NoEffect],
    *,
    grid: Grid,
    now: datetime,
) -> PredictionScore:
    loads, rates = windows.loads, _rates(recommendation, windows, effects)
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
            "windows": int(loads.compared.sum()),
            "held_back_windows": int(loads.held_back.sum()),
            "less_load_windows": int(loads.less.sum()),
            "unknown_load_windows": int(loads.unknown.sum()),
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


def _rates(
    recommendation: Recommendation, windows: _Windows, effects: Mapping[int, Effect | NoEffect]
) -> list[dict[str, Any]]:
    """What is stored of each workload: what was predicted, and what was measured."""
    return [
        {
            "allocation": row["allocation"],
            "workload": row["workload"],
            "host": row["host"],
            "before": row["predicted_before"],
            "predicted": row["predicted_after"],
            "interval": row.get("interval"),
            "unsure": row.get("unsure", ""),
            "measured": measured,
            "measured_in_all": in_all,
            **_plain(effects[row["allocation"]]),
        }
        for row, measured, in_all in zip(
            _predicted(recommendation),
            windows.compared.tolist(),
            windows.all_measured.tolist(),
            strict=True,
        )
    ]


def _plain(found: Effect | NoEffect) -> dict[str, Any]:
    if isinstance(found, NoEffect):
        return {"effect": None, "effect_gap": found.reason}
    return {"effect": asdict(found), "effect_gap": ""}


def recent_predictions(*, now: datetime) -> QuerySet[Recommendation]:
    """Recommendations whose policy came into force in about the last day."""
    begun = now - LONGEST - timedelta(hours=1)
    return Recommendation.objects.filter(policies__created_at__gt=begun).distinct().order_by("pk")


def fresh_predictions(*, now: datetime) -> QuerySet[Recommendation]:
    """Those among them that came into force within an hour and have no score yet."""
    return recent_predictions(now=now).filter(
        policies__created_at__gt=now - FRESH, prediction_score=None
    )
