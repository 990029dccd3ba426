"""What was advised against an incident, and what it would bring, with ranges."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from advisor.advice.shared.decide.recommended_allocation import RecommendedAllocation
from advisor.core.forecast.prediction_interval import Interval
from advisor.core.quantity import amount_text, format_rate, significant
from advisor.models import Incident, Recommendation, RecommendationState
from advisor.queries.advice_detail import advice_detail
from advisor.queries.incident_answers import answers_to
from advisor.queries.recommendations import shown_state, stored_items

MOST_FIXES = 4
MOST_EFFECTS = 4
LEFT_OUT = (RecommendationState.SUPERSEDED, RecommendationState.EXPIRED)
STATES = (
    RecommendationState.APPROVED,
    RecommendationState.PROPOSED,
    RecommendationState.ACKNOWLEDGED,
    RecommendationState.SNOOZED,
    RecommendationState.REJECTED,
)
"""What was done stands first, then what can be, then what was not wanted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    """A recommendation with its state; `effects` are sentences without an end, `more` others."""

    pk: int
    state: str
    summary: str
    effects: tuple[str, ...]
    more: int


def fixes_of(incident: Incident, *, now: datetime) -> list[Fix]:
    """Those that were not replaced by newer ones; a bounded number is read."""
    rows = answers_to(incident, now=now).exclude(state__in=LEFT_OUT).select_related("resource")
    found = sorted(rows.order_by("-created_at")[: 2 * MOST_FIXES], key=_order)
    shown = [(row, shown_state(row, now)) for row in found]
    return [_fix(row, state) for row, state in shown if state not in LEFT_OUT][:MOST_FIXES]


def _order(row: Recommendation) -> tuple[int, float]:
    return STATES.index(RecommendationState(row.state)), -row.created_at.timestamp()


def _fix(row: Recommendation, state: str) -> Fix:
    items = stored_items(row)
    effects = list(_other_effects(row)) if items is None else list(_policy_effects(row, items))
    return Fix(
        pk=row.pk,
        state=state,
        summary=row.summary,
        effects=tuple(effects[:MOST_EFFECTS]),
        more=max(len(effects) - MOST_EFFECTS, 0),
    )


def _policy_effects(
    row: Recommendation, items: tuple[RecommendedAllocation, ...]
) -> Iterator[str]:
    """The workloads that change most first."""
    unit = row.resource.unit
    for item in sorted(items, key=_change, reverse=True):
        if item.measured is None or _change(item) == 0.0:
            continue
        rates = f"{format_rate(item.measured, unit)} to {format_rate(item.predicted_after, unit)}"
        said = f"{item.workload}: {rates}{_between(item.interval, unit)}"
        if item.unsure:
            said = f"{item.workload}: suspected, {item.unsure}"
        elif item.latency_now_ms is not None and item.latency_interval is not None:
            said += f"; an I/O {significant(item.latency_now_ms, 2)} ms to {_ms(item)}"
        yield said


def _change(item: RecommendedAllocation) -> float:
    return 0.0 if item.measured is None else abs(item.predicted_after - item.measured)


def _between(interval: Interval | None, unit: str) -> str:
    if interval is None:
        return ""
    low, high = format_rate(interval.low, unit), format_rate(interval.high, unit)
    return f" ({interval.level:.0%} between {low} and {high})".replace("%", " %")


def _ms(item: RecommendedAllocation) -> str:
    assert item.latency_interval is not None
    low, high = item.latency_interval.low, item.latency_interval.high
    return f"{significant(low, 2)} to {significant(high, 2)} ms"


def _other_effects(row: Recommendation) -> Iterator[str]:
    advice = advice_detail(row)
    for effect in advice.effects if advice else ():
        before = amount_text(effect.before, effect.unit) or "unknown"
        after = amount_text(effect.after, effect.unit) or "not predicted"
        yield f"{effect.quantity}: {before} to {after}"
