"""Approve by itself what the ladder lets Sluice approve, and keep why it does not."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef

from advisor.advice.recommendation_store import DECIDED_FOR
from advisor.advice.shared.decide.recommended_allocation import DRAFT
from advisor.core.ladder.acting import Grounds, why_not_act
from advisor.core.ladder.rule import Level
from advisor.core.ladder.verdict import Verdict
from advisor.core.rollout import PolicyStage
from advisor.decisions.decide import approve_by_rule
from advisor.decisions.ladder import ladder_verdict
from advisor.decisions.rollouts.advance import UNDER_WAY
from advisor.decisions.rollouts.begin import held_terms, terms_of
from advisor.errors import DecisionRefused
from advisor.history.track_record import track_record
from advisor.models import (
    POLICY_TOPIC,
    Allocation,
    LadderRule,
    Policy,
    PolicyChange,
    PolicyRollout,
    Recommendation,
    RecommendationState,
    Resource,
)
from advisor.models.recommendation import RecommendationQuerySet


def to_act_on(now: datetime) -> RecommendationQuerySet:
    """What waits in organisations that let Sluice act."""
    lets = LadderRule.objects.filter(organisation=OuterRef("organisation"), level=Level.ACT)
    return Recommendation.objects.waiting(now).filter(Exists(lets), topic=POLICY_TOPIC)


@transaction.atomic
def act_on(*, recommendation: Recommendation, now: datetime) -> Policy | None:
    """Approve it if nothing speaks against that; None with the reasons kept in its row.

    Of two who look at it at once, and of a person who decides meanwhile, the second finds it
    decided.
    """
    # Those who approve, stop or change a term wait here, before anything is looked at.
    held_terms(recommendation.organisation)
    rows = to_act_on(now).select_related("organisation", "resource__organisation")
    row = rows.filter(pk=recommendation.pk).first()
    if row is None:
        return None
    found = ladder_verdict(row, now=now)
    reasons = why_not_by_itself(row, found, now=now)
    if reasons:
        _keep(row, "; ".join(reasons))
        return None
    try:
        return approve_by_rule(recommendation=row, rule=found.level_from, now=now)
    except DecisionRefused as error:
        # Nothing is kept of what was refused: it was in a transaction of its own.
        _keep(row, str(error))
        return None


def _keep(row: Recommendation, reasons: str) -> None:
    if row.act_gap != reasons:
        Recommendation.objects.filter(pk=row.pk).update(act_gap=reasons)


def why_not_by_itself(row: Recommendation, found: Verdict, *, now: datetime) -> tuple[str, ...]:
    """Everything that speaks against approving it without a person."""
    terms, resource = terms_of(row.organisation), row.resource
    track = track_record(row)
    grounds = Grounds(
        in_hand=_in_hand(row),
        coverage=track.coverage if track else None,
        suspected=_suspected(row),
        without_agent=_without_agent(row),
        comes_in_stages=terms.stages(resource),
        is_stopped=terms.stopped_at is not None,
        is_under_way=_is_under_way(resource),
        taken_back=_taken_back(resource, now),
    )
    return why_not_act(found, grounds)


def _in_hand(row: Recommendation) -> str:
    if row.kind == DRAFT:
        return "a person composed it"
    if row.state == RecommendationState.ACKNOWLEDGED:
        return "a person looks after it"
    return ""


def _suspected(row: Recommendation) -> tuple[str, ...]:
    return tuple(sorted({one["workload"] for one in _allocations(row) if one.get("unsure")}))


def _without_agent(row: Recommendation) -> tuple[str, ...]:
    wanted = [one["allocation"] for one in _allocations(row)]
    rows = Allocation.objects.filter(pk__in=wanted, host__enforcer__isnull=True)
    return tuple(rows.order_by("host__name").values_list("host__name", flat=True).distinct())


def _allocations(row: Recommendation) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(row.answer).get("allocations", [])
    return found


def _is_under_way(resource: Resource) -> bool:
    over = [one.value for one in PolicyStage if one.is_over]
    rows = PolicyRollout.objects.filter(UNDER_WAY, policy__resource=resource)
    return rows.exclude(state__in=over).exists()


def _taken_back(resource: Resource, now: datetime) -> str:
    rows = PolicyChange.objects.filter(
        policy__resource=resource, state=PolicyStage.ROLLED_BACK, at__gt=now - DECIDED_FOR
    )
    last = rows.select_related("policy").last()
    if last is None:
        return ""
    return f"version {last.policy.version} was rolled back at {last.at:%Y-%m-%d %H:%M} UTC"
