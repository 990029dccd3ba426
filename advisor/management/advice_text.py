"""A recommendation as text for people: what changes, what it does, why, how to undo it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from accounts.table import table
from advisor.advice.policy.decide.policy_answer import Recommendation as PolicyAnswer
from advisor.advice.shared.decide.recommended_allocation import RecommendedAllocation
from advisor.advice.what_if.decide.what_if_draft import PolicyDraft
from advisor.core.explanation.answer import Alternative, Confidence
from advisor.core.quantity import amount_text, format_rate
from advisor.history.track_record import track_text
from advisor.management.past_text import past_text, rates_between
from advisor.models import OPEN_STATES, POLICY_TOPIC, Recommendation
from advisor.pipeline.recommendation_life import history_of
from advisor.queries.advice_detail import AdviceDetail
from advisor.queries.past_table import past_table
from advisor.queries.recommendations import shown_state


def other_advice_text(row: Recommendation, advice: AdviceDetail) -> str:
    """Advice that is not a policy, with all its reasons."""
    names = [
        f"{one.title} ({one.unit})" if one.unit else one.title for one in advice.table.columns
    ]
    changes = [dict(zip(names, cells, strict=True)) for cells in advice.table.rows]
    effects = [
        {
            "quantity": one.quantity,
            "before": amount_text(one.before, one.unit),
            "after": amount_text(one.after, one.unit),
            "how": one.how,
        }
        for one in advice.effects
    ]
    parts = [
        row.summary,
        _section("Changes", table(changes, names)),
        _section("Before and after", _effects(effects)),
        _section("Why", "\n".join(f"{one.name}: {one.text}" for one in advice.facts)),
        _section("Formula", advice.formula),
        _weighed(row, advice.alternatives, advice.confidence),
        _section(
            "Approving", f"{advice.commitment.does} {advice.commitment.does_not}\n"
            f"{advice.commitment.undo}",
        ),
    ]  # fmt: skip
    return "\n\n".join(parts)


def policy_text(row: Recommendation, answer: PolicyAnswer) -> str:
    """A policy with all its reasons."""
    unit, evidence = row.resource.unit, answer.evidence
    span = f"{evidence.began_at:%Y-%m-%d %H:%M:%S} to {evidence.ended_at:%H:%M:%S} UTC"
    why = [
        f"Window: {span}, {evidence.sample_count} samples",
        f"Victims: {'; '.join(evidence.victims) or 'none'}",
        f"Aggressors: {'; '.join(evidence.aggressors) or 'none'}",
        *([f"Cause: {evidence.cause}"] if evidence.cause else []),
        f"Capacity: {format_rate(evidence.capacity, unit)}, {evidence.capacity_source}",
    ]
    parts = [
        row.summary,
        _section("Allocations", _allocations(answer.allocations, unit)),
        *_suspicions(answer.allocations, unit),
        _section("Backtest (last week)", past_text(past_table(answer), unit)),
        _section("Why", "\n".join(why)),
        _section("Formula", evidence.formula),
        _weighed(row, answer.alternatives, answer.confidence),
        _section("Undo", answer.reversibility),
    ]
    return "\n\n".join(parts)


def draft_text(row: Recommendation, draft: PolicyDraft) -> str:
    """A policy that a person composed, with all its reasons."""
    past = draft.what_if
    why = [
        f"History: {past_table(draft).length}",
        *([f"Note: {past.gap}"] if past.gap else []),
    ]
    parts = [
        row.summary,
        _section("Allocations", _allocations(draft.allocations, row.resource.unit)),
        _section("Backtest", past_text(past_table(draft), row.resource.unit)),
        _section("Why", "\n".join(why)),
        _section("Formula", draft.formula),
        _weighed(row, draft.alternatives, draft.confidence),
        _section("Undo", draft.reversibility),
    ]
    return "\n\n".join(parts)


def next_steps(row: Recommendation, *, now: datetime) -> str:
    """The decision, or the commands to decide."""
    made = f"created {row.created_at:%Y-%m-%d %H:%M} UTC"
    if row.state not in OPEN_STATES or row.expires_at <= now:
        by = f" by {row.decided_by.get_username()}" if row.decided_by else ""
        at = f" {row.decided_at:%Y-%m-%d %H:%M} UTC{by}" if row.decided_at else ""
        why = f": {row.decision_reason}" if row.decision_reason else ""
        return _section("Decision", f"{shown_state(row, now)}{at}, {made}{why}")
    lines = (
        f"{made}, expires {row.expires_at:%Y-%m-%d %H:%M} UTC",
        f"sluice approve {row.pk} --user NAME",
        f"sluice reject {row.pk} --user NAME --reason TEXT",
        f"sluice snooze {row.pk} --user NAME --for 8h",
        *([f"sluice what-if {row.resource.name}"] if row.topic == POLICY_TOPIC else []),
    )
    return _section("Next", "\n".join(lines))


def steps_text(row: Recommendation) -> str:
    """What happened to it; empty where nothing did."""
    lines = []
    for one in history_of(row):
        until = f" until {one.until:%Y-%m-%d %H:%M} UTC" if one.until else ""
        place = f" from {one.address}" if one.address else ""
        why = f": {one.reason}" if one.reason else ""
        lines.append(f"{one.at:%Y-%m-%d %H:%M} UTC {one.step}{until} by {one.actor}{place}{why}")
    return _section("History", "\n".join(lines)) if lines else ""


def _allocations(rows: Sequence[RecommendedAllocation], unit: str) -> str:
    rates = [
        {
            "workload": one.workload,
            "host": one.host,
            "shares": one.shares,
            "reservation": format_rate(one.reservation, unit) if one.reservation else None,
            "limit": None if one.limit is None else format_rate(one.limit, unit),
            "measured": None if one.measured is None else format_rate(one.measured, unit),
            "predicted": None if one.unsure else format_rate(one.predicted_after, unit),
            "expected": None if one.unsure else rates_between(one.interval, unit),
        }
        for one in rows
    ]
    return table(rates, list(rates[0])) if rates else "none"


def _suspicions(rows: Sequence[RecommendedAllocation], unit: str) -> list[str]:
    """Whose rates are only suspected, and why; no section where there are none."""
    lines = [
        f"{one.workload} on {one.host}: "
        f"{rates_between(one.interval, unit) or 'no range'}; {one.unsure}"
        for one in rows
        if one.unsure
    ]
    return [_section("Suspected, not proposed", "\n".join(lines))] if lines else []


def _effects(rows: Sequence[Mapping[str, object]]) -> str:
    if not rows:
        return "no numeric prediction"
    return table(rows, ["quantity", "before", "after", "how"])


def _weighed(
    row: Recommendation, alternatives: Sequence[Alternative], confidence: Confidence
) -> str:
    options = "\n".join(f"{one.name}: {one.reason}" for one in alternatives) or "none"
    grounds = "\n".join(f"{one.name}, {one.value:.0%}: {one.how}" for one in confidence.parts)
    return "\n\n".join(
        (
            _section("Alternatives considered", options),
            _section("Confidence", track_text(row)),
            _section(f"Grounds, the weakest {confidence.value:.0%}", grounds),
        )
    )


def _section(title: str, text: str) -> str:
    indented = "\n".join(f"  {line}" for line in text.splitlines())
    return f"{title}\n{indented}"
