"""A what-if that a person wants to put to the vote: the same answer with its words and grounds."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

from advisor.advice.shared.decide.recommended_allocation import (
    DRAFT,
    REVERSIBILITY,
    RecommendedAllocation,
)
from advisor.core.allocation import ReservationMode
from advisor.core.enumeration import clauses, listed
from advisor.core.explanation.answer import Alternative, Confidence
from advisor.core.explanation.confidence import ground, weakest
from advisor.core.explanation.explained import ExplainedAnswer
from advisor.core.explanation.rounding import round_all
from advisor.core.forecast.backtest import Change
from advisor.core.forecast.what_if import WhatIf, WhatIfInputs, WhatIfRow, what_if
from advisor.core.let_through import let_through_text
from advisor.core.pools import changed_pools
from advisor.core.quantity import format_rate

PLENTY_WINDOWS = 360
PLENTY_CONGESTED = 30
UNKNOWN_COSTS = 0.5
"""Confidence with unknown demand, which the solver takes as unlimited."""
MODEL_VERSION = "what-if-5"


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyDraft(ExplainedAnswer):
    """A policy that a person composed, with what it would have done to the past."""

    kind: str = DRAFT
    allocations: tuple[RecommendedAllocation, ...]
    what_if: WhatIf
    formula: str


def draft(inputs: WhatIfInputs) -> PolicyDraft:
    """The what-if of these inputs as a policy that can be approved."""
    found = what_if(inputs)
    return round_all(
        PolicyDraft(
            summary=_summary(inputs, found),
            allocations=tuple(
                _allocation(row, one.measured)
                for row, one in zip(found.rows, inputs.allocations, strict=True)
            ),
            what_if=found,
            formula=_formula(inputs),
            alternatives=(_as_it_is(inputs, found),),
            confidence=_confidence(found),
            reversibility=REVERSIBILITY,
            model_version=MODEL_VERSION,
        )
    )


def _allocation(row: WhatIfRow, measured: float | None) -> RecommendedAllocation:
    return RecommendedAllocation(
        allocation=row.allocation,
        workload=row.workload,
        host=row.host,
        reservation=row.after.reservation,
        limit=row.after.limit,
        shares=row.after.shares,
        entitlement=row.entitlement_after,
        demand=None,
        measured=measured,
        predicted_before=row.now,
        predicted_after=row.then,
        interval=row.then_interval,
        interval_gap=row.interval_gap,
    )


def changed_controls(inputs: WhatIfInputs) -> list[str]:
    """What differs from what holds now, in words; empty if nothing does."""
    words = []
    for one in inputs.allocations:
        if one.after.shares != one.before.shares:
            words.append(f"shares of {one.workload} {one.before.shares} → {one.after.shares}")
        for name in ("reservation", "limit"):
            old = getattr(one.before, name) or None
            new = getattr(one.after, name) or None
            if old != new:
                shown = [
                    "none" if value is None else format_rate(value, inputs.unit)
                    for value in (old, new)
                ]
                words.append(f"{name} of {one.workload} {shown[0]} → {shown[1]}")
    names = {one.allocation: one.workload for one in inputs.allocations}
    return words + changed_pools(inputs.pools_before, inputs.pools_after, names, inputs.unit)


def _summary(inputs: WhatIfInputs, found: WhatIf) -> str:
    changes = changed_controls(inputs)
    effects = [
        f"{row.workload} {row.change} ({format_rate(row.now, inputs.unit)} → "
        f"{_most(row)}{format_rate(row.then, inputs.unit)})"
        for row in found.rows
        if row.change is not Change.SAME
    ]
    who = listed(effects) or "nobody gains or loses"
    what = listed(changes) or "nothing changes"
    return f"Draft for {inputs.kind} {inputs.resource}: {what}; {who}"


def _most(row: WhatIfRow) -> str:
    """A gain of a workload that is taken to want all it can get is the most there may be."""
    unknown = row.contended is not None and row.contended.unknown_demand_min > 0
    return "at most " if unknown and row.change is Change.GAINS else ""


def _formula(inputs: WhatIfInputs) -> str:
    match inputs.mode:
        case ReservationMode.ADDITIVE:
            rule = "rate = reservation + part by shares of what is left, at most limit and demand"
        case ReservationMode.FLOOR:
            rule = "rate = clamp(level · shares, reservation, lower of limit and demand)"
        case _:
            assert_never(inputs.mode)
    capacity = format_rate(inputs.capacity_after, inputs.unit)
    return (
        f"{rule}, in each past window; in a congested window what was delivered is what there "
        f"was, in the others {capacity} ({inputs.capacity_source})"
        f"{let_through_text(inputs.delivered)}"
    )


def _as_it_is(inputs: WhatIfInputs, found: WhatIf) -> Alternative:
    held = "the policy in force" if inputs.enforced else "no policy, so everybody counts the same"
    rates = clauses(
        f"{row.workload} stays at {format_rate(row.now, inputs.unit)}"
        for row in found.rows
        if row.change is Change.GAINS
    )
    return Alternative(name=f"keep {held}", reason=rates or "nobody would gain by the change")


def _confidence(found: WhatIf) -> Confidence:
    congested = found.congested_windows
    parts = [
        ground(
            "windows",
            found.windows / PLENTY_WINDOWS,
            f"{found.windows} past windows, {PLENTY_WINDOWS} are plenty",
        ),
        ground(
            "congestion",
            congested / PLENTY_CONGESTED,
            f"{congested} congested windows, {PLENTY_CONGESTED} are plenty to show contention",
        ),
    ]
    unknown = _unknown_ratio([row for row in found.rows if row.contended is not None], found)
    if congested:
        parts.append(
            ground(
                "demand",
                1 - UNKNOWN_COSTS * unknown,
                f"in {unknown:.0%} of the congested time what a workload wanted is not known; it "
                "is taken to want all it can get",
            )
        )
    return weakest(*parts)


def _unknown_ratio(rows: Sequence[WhatIfRow], found: WhatIf) -> float:
    """Mean part of the congested time in which an allocation's demand was not known."""
    minutes = found.congested_windows * (found.window_s or 0.0) / 60
    if not rows or minutes == 0:
        return 0.0
    unknown = sum(row.contended.unknown_demand_min for row in rows if row.contended)
    return min(unknown / (minutes * len(rows)), 1.0)
