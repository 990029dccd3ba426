"""A recommendation for its page: changes, reasons, and results."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Case, IntegerField, Value, When

from advisor.advice.policy.decide.policy_answer import Recommendation as Answer
from advisor.advice.shared.decide.recommended_allocation import DRAFT, RecommendedAllocation
from advisor.advice.what_if.decide.what_if_draft import PolicyDraft
from advisor.core.canonical import CanonicalError, from_plain, loads
from advisor.core.enumeration import clauses
from advisor.core.forecast.prediction_interval import Interval
from advisor.core.mechanism_choice import choose_mechanism
from advisor.core.pools import PoolTerms, changed_pools
from advisor.history.held_policies import WITH_ROLLOUT
from advisor.models import (
    OPEN_STATES,
    POLICY_TOPIC,
    Allocation,
    ComplianceRecord,
    Policy,
    Recommendation,
    RecommendationState,
)
from advisor.models.recommendation import RecommendationQuerySet
from advisor.queries.allocations import policy_in_force
from advisor.queries.past_table import PastTable, past_table
from advisor.queries.pools import terms_in
from advisor.queries.scope import Scope
from enforcers.contract import Unit, read_support


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One control of one allocation, now and after; in the resource's unit."""

    workload: str
    host: str
    control: str
    before: float | None
    after: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """One workload before and after: measured, predicted, and measured again under the policy.

    `after` is None where it is only suspected, and `unsure` says why. `latency_now_ms` is what its
    I/Os took in the incident; None, as `latency_interval`, where nothing is said of it.
    """

    workload: str
    host: str
    reservation: float
    limit: float | None
    before: float | None
    after: float | None
    interval: Interval | None
    unsure: str
    latency_now_ms: float | None
    latency_interval: Interval | None
    measured_since: float | None
    verdict: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """The hosts that a policy concerns, and why some of them cannot enforce it."""

    hosts: tuple[str, ...]
    without_agent: tuple[str, ...]
    unheld: tuple[str, ...]
    unheld_reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RecommendationDetail:
    """All details; `answer` is None if another version stored it in another format."""

    row: Recommendation
    shown_state: str
    answer: Answer | PolicyDraft | None
    in_force: Policy | None
    changes: tuple[Change, ...]
    pool_changes: tuple[str, ...]
    effects: tuple[Effect, ...]
    reach: Reach
    policy: Policy | None
    past: PastTable | None

    @property
    def is_draft(self) -> bool:
        """Whether a person composed it, with a what-if as its evidence."""
        return self.row.kind == DRAFT

    @property
    def is_open(self) -> bool:
        return self.shown_state in OPEN_STATES


def shown_state(row: Recommendation, now: datetime) -> str:
    """The stored state; an open one is shown as expired after its time, and comes back."""
    if row.state in OPEN_STATES and row.expires_at <= now:
        return RecommendationState.EXPIRED
    is_awake = row.snoozed_until is not None and row.snoozed_until <= now
    if row.state == RecommendationState.SNOOZED and is_awake:
        return RecommendationState.PROPOSED
    return row.state


def why_not_scored(row: Recommendation) -> str:
    """Why a prediction has no score, from the scheduler's last run."""
    return row.score_gap or "the scheduler has not looked at it yet"


def recommendation_rows(scope: Scope) -> RecommendationQuerySet:
    """The open ones first, then the newest."""
    is_open = Case(
        When(state__in=OPEN_STATES, then=Value(0)),
        default=Value(1),
        output_field=IntegerField(),
    )
    rows = scope.recommendations()
    return rows.select_related("resource", "decided_by").order_by(is_open, "-created_at", "-pk")


def recommendation_detail(row: Recommendation, *, now: datetime) -> RecommendationDetail:
    """Everything that the page of one recommendation shows."""
    answer = _answer(row)
    in_force = policy_in_force(row.resource)
    policy = row.policies.select_related(*WITH_ROLLOUT).order_by("version").first()
    allocations = _allocations(answer)
    return RecommendationDetail(
        row=row,
        shown_state=shown_state(row, now),
        answer=answer,
        in_force=in_force,
        changes=tuple(_changes(answer, in_force)) if answer else (),
        pool_changes=_pool_changes(row, answer, in_force) if answer else (),
        effects=tuple(_effects(answer, policy)) if answer else (),
        reach=_reach(answer, allocations),
        policy=policy,
        past=past_table(answer) if answer else None,
    )


def _answer(row: Recommendation) -> Answer | PolicyDraft | None:
    try:
        if row.kind == DRAFT:
            return loads(PolicyDraft, row.answer)
        return loads(Answer, row.answer)
    except CanonicalError:
        return None


def stored_items(row: Recommendation) -> tuple[RecommendedAllocation, ...] | None:
    """What each allocation is to get; None if it is no policy, or cannot be read."""
    answer = _answer(row) if row.topic == POLICY_TOPIC else None
    return answer.allocations if answer else None


def _allocations(answer: Answer | PolicyDraft | None) -> list[Allocation]:
    wanted = [item.allocation for item in answer.allocations] if answer else []
    return list(
        Allocation.objects.filter(pk__in=wanted)
        .select_related("host__enforcer")
        .order_by("host__name")
    )


def _changes(answer: Answer | PolicyDraft, in_force: Policy | None) -> list[Change]:
    """Only what differs from the policy in force; without one everything is unset."""
    known = {item["allocation"]: item for item in in_force.allocations} if in_force else {}
    changes: list[Change] = []
    for item in answer.allocations:
        before = known.get(item.allocation, {})
        pairs: Sequence[tuple[str, float | None, float | None]] = (
            ("reservation", before.get("reservation") or None, item.reservation or None),
            ("limit", before.get("limit"), item.limit),
            ("shares", before.get("shares"), item.shares),
        )
        changes.extend(
            Change(workload=item.workload, host=item.host, control=name, before=old, after=new)
            for name, old, new in pairs
            if old != new
        )
    return changes


def _pool_changes(
    row: Recommendation, answer: Answer | PolicyDraft, in_force: Policy | None
) -> tuple[str, ...]:
    """What of the pools differs from the newest policy, in words."""
    after = [from_plain(PoolTerms, one) for one in json.loads(row.inputs).get("pools_after", ())]
    names = {item.allocation: item.workload for item in answer.allocations}
    return tuple(changed_pools(terms_in(in_force), after, names, row.resource.unit))


def _effects(answer: Answer | PolicyDraft, policy: Policy | None) -> list[Effect]:
    records = _newest_under(policy) if policy else {}
    effects = []
    for item in answer.allocations:
        record = records.get((item.workload, item.host))
        effects.append(
            Effect(
                workload=item.workload,
                host=item.host,
                reservation=item.reservation,
                limit=item.limit,
                before=item.measured,
                after=None if item.unsure else item.predicted_after,
                interval=item.interval,
                unsure=item.unsure,
                latency_now_ms=item.latency_now_ms,
                latency_interval=item.latency_interval,
                measured_since=record.measured if record else None,
                verdict=record.verdict if record else None,
            )
        )
    return effects


def _newest_under(policy: Policy) -> dict[tuple[str, str], ComplianceRecord]:
    rows = policy.compliance_records.order_by("workload_id", "host_id", "-reported_at")
    newest = rows.distinct("workload_id", "host_id").select_related("workload", "host")
    return {(row.workload.name, row.host.name): row for row in newest}


def _reach(answer: Answer | PolicyDraft | None, allocations: Sequence[Allocation]) -> Reach:
    hosts = {
        allocation.host.name: hasattr(allocation.host, "enforcer") for allocation in allocations
    }
    reserved = {
        item.allocation for item in (answer.allocations if answer else ()) if item.reservation > 0
    }
    unheld = {
        item.host.name: why
        for item in allocations
        if item.pk in reserved and (why := _why_unheld(item)) is not None
    }
    return Reach(
        hosts=tuple(sorted(hosts)),
        without_agent=tuple(sorted(name for name, enrolled in hosts.items() if not enrolled)),
        unheld=tuple(sorted(unheld)),
        unheld_reason=clauses(sorted(set(unheld.values()))),
    )


def _why_unheld(allocation: Allocation) -> str | None:
    """Why its host cannot hold a reservation, from the agent's report; None if it can."""
    enforcer = getattr(allocation.host, "enforcer", None)
    if enforcer is None:
        return None
    chosen = choose_mechanism(
        read_support(enforcer.support),
        unit=Unit(allocation.resource.unit),
        selectors=[allocation.recognised_by[0]],
    )
    if isinstance(chosen, str) or chosen.holds is None or chosen.holds.reservation.is_held:
        return None
    return chosen.holds.reservation.words
