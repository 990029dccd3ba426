"""Approve or reject a recommendation, and roll back a policy."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.db.models import Max

from accounts.actor import Actor
from accounts.models.audit import LONGEST_SUBJECT
from accounts.roles import Role
from accounts.services.audit import record
from advisor.access import require_operator
from advisor.advice.kind import Kind
from advisor.advice.registry import kind_of
from advisor.advice.shared.decide.recommended_allocation import DRAFT
from advisor.core.canonical import to_plain
from advisor.core.entitlement_checks import check_stored_entitlements
from advisor.decisions.documents import publish_documents
from advisor.decisions.inventory import change_resource
from advisor.decisions.kubernetes.class_changes import ask_for_changes
from advisor.decisions.ladder import require_ladder
from advisor.decisions.moving import ask_for_moves
from advisor.decisions.recommendation_steps import claim, note_in_chain
from advisor.decisions.rollouts.begin import begin_rollout, terms_of
from advisor.decisions.rollouts.changes import BY_ITSELF
from advisor.errors import DecisionRefused
from advisor.history.publishing_gap import publishing_gap
from advisor.history.rollout_gap import rollout_gap
from advisor.history.stated_pools import pool_terms
from advisor.models import (
    Policy,
    PolicyRollout,
    Recommendation,
    RecommendationState,
    Resource,
)

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser


THE_LADDER = "the ladder"
"""Who approves what no person did."""


@transaction.atomic
def approve(
    *, recommendation: Recommendation, user: AbstractBaseUser, now: datetime
) -> Policy | None:
    """Approve the recommendation and do what the server can do.

    A policy becomes the resource's newest version and is published to hosts; settings of
    resources, such as a threshold, are changed. For other advice the approval is recorded, a
    person does the work, and the result is None.
    Raises DecisionRefused if the user may not decide, if it is already decided or expired, or if
    a host would get none of the policy.
    """
    actor = require_operator(user, recommendation.organisation)
    kind = _known_kind(recommendation)
    require_ladder(recommendation, user=user, now=now)
    return _approve(recommendation, kind, actor=actor, user_id=user.pk, reason="", now=now)


@transaction.atomic
def approve_by_rule(*, recommendation: Recommendation, rule: str, now: datetime) -> Policy | None:
    """Approve what this rule lets Sluice approve by itself.

    Who calls has asked the ladder, and holds the terms of its organisation.
    """
    actor = Actor(name=THE_LADDER, role=Role.OPERATOR)
    kind, reason = _known_kind(recommendation), f'rule "{rule}" lets Sluice act'
    return _approve(recommendation, kind, actor=actor, user_id=None, reason=reason, now=now)


def _known_kind(recommendation: Recommendation) -> Kind[Any, Any]:
    kind = kind_of(recommendation)
    if kind is None:
        raise DecisionRefused(
            f"this version of Sluice knows no advice on {recommendation.topic}; reject it"
        )
    return kind


def _approve(
    recommendation: Recommendation,
    kind: Kind[Any, Any],
    *,
    actor: Actor,
    user_id: int | None,
    reason: str,
    now: datetime,
) -> Policy | None:
    claim(
        recommendation, RecommendationState.APPROVED, actor=actor, reason=reason, now=now,
        decided_by_id=user_id, decided_at=now, decision_reason=reason,
    )  # fmt: skip
    policy = None
    if kind.publishes:
        policy = _publish(recommendation, actor=actor, user_id=user_id, now=now)
    else:
        answer = json.loads(recommendation.answer)
        _set(recommendation, kind.sets(answer))
        ask_for_moves(recommendation, kind.moves(answer), actor=actor, now=now)
    ask_for_changes(recommendation, actor=actor, now=now)
    details = {"reason": reason} if reason else {}
    version = policy and policy.version
    note_in_chain(recommendation, actor, "approve", now=now, version=version, **details)
    return policy


def _publish(
    recommendation: Recommendation, *, actor: Actor, user_id: int | None, now: datetime
) -> Policy:
    if terms_of(recommendation.organisation).stopped_at is not None:
        raise DecisionRefused(
            "rollouts are stopped, so no new policy can begin; resume them with: "
            "sluice rollout resume"
        )
    _require_its_turn(recommendation)
    pools = json.loads(recommendation.inputs).get("pools_after", [])
    stated = list(map(to_plain, pool_terms(recommendation.resource)))
    if pools != stated:
        raise DecisionRefused(
            f"the pools on {recommendation.resource} are others than those of recommendation "
            f"{recommendation.pk}; compose the policy anew, with what-if"
        )
    policy = _next_version(
        resource=recommendation.resource,
        allocations=_allocations(recommendation),
        pools=pools,
        capacity=_capacity(recommendation),
        divides=_divides(recommendation),
        user_id=user_id,
        now=now,
        recommendation=recommendation,
    )
    why = f"recommendation {recommendation.pk} was approved"
    begin_rollout(policy=policy, who=actor.name, why=why, now=now)
    publish_documents(resource=recommendation.resource, now=now)
    return policy


def _require_its_turn(recommendation: Recommendation) -> None:
    """Refuse advice while a version rolls out; what a person composed takes its place.

    What was measured meanwhile is of two policies, and the guard has still to say of the newer.
    """
    # Whoever decides at the same time comes before or after.
    resource = Resource.objects.select_for_update(no_key=True).get(pk=recommendation.resource_id)
    if gap := waits_for_rollout(recommendation):
        raise DecisionRefused(f"{resource}: {gap}; wait for it, go on with it or roll it back")


def waits_for_rollout(recommendation: Recommendation) -> str:
    """Why the policy that it advises has to wait; empty for drafts and other advice."""
    kind = kind_of(recommendation)
    if kind is None or not kind.publishes or recommendation.kind == DRAFT:
        return ""
    return rollout_gap(recommendation.resource)


def _set(recommendation: Recommendation, facts: Mapping[str, Mapping[str, Any]]) -> None:
    """State the facts of each resource that the advice names."""
    named = Resource.objects.filter(organisation=recommendation.organisation, name__in=facts)
    for resource in named:
        change_resource(resource=resource, **facts[resource.name])


@transaction.atomic
def reject(
    *, recommendation: Recommendation, user: AbstractBaseUser, reason: str, now: datetime
) -> Recommendation:
    """Close the recommendation with a reason."""
    actor = require_operator(user, recommendation.organisation)
    if not reason.strip():
        raise DecisionRefused("a rejection needs a reason: say why, for later readers")
    claim(
        recommendation, RecommendationState.REJECTED, actor=actor, reason=reason, now=now,
        decided_by_id=user.pk, decided_at=now, decision_reason=reason,
    )  # fmt: skip
    note_in_chain(recommendation, actor, "reject", now=now, reason=reason)
    return recommendation


@transaction.atomic
def rollback(
    *, resource: Resource, user: AbstractBaseUser, now: datetime, to_version: int | None = None
) -> Policy:
    """Publish the allocations of an earlier version again, as a new version.

    Without `to_version` that is the one that all hosts had before the newest; before the first
    there is none, so agents restore what they found.
    """
    actor = require_operator(user, resource.organisation)
    return _roll_back(
        resource, to_version, actor=actor, user_id=user.pk, why="a person rolled it back", now=now
    )


def take_back(*, rollout: PolicyRollout, why: str, now: datetime) -> Policy:
    """Roll a version back by itself, for the harm that its guard found."""
    former = rollout.former.version if rollout.former else 0
    by_itself = Actor(name=BY_ITSELF, role=Role.OPERATOR)
    return _roll_back(
        rollout.policy.resource, former, actor=by_itself, user_id=None, why=why, now=now
    )


def _roll_back(
    resource: Resource,
    to_version: int | None,
    *,
    actor: Actor,
    user_id: int | None,
    why: str,
    now: datetime,
) -> Policy:
    rows = Policy.objects.filter(resource=resource).select_related("rollout__former")
    versions = list(rows.order_by("-version"))
    if not versions:
        raise DecisionRefused(f"{resource} has no policy; there is nothing to roll back")
    newest = versions[0]
    target = _version_before(newest) if to_version is None else to_version
    if not 0 <= target < newest.version:
        raise DecisionRefused(
            f"{resource} has no version {target} to go back to; "
            f"choose 0 (no policy) to {newest.version - 1}"
        )
    earlier = next((policy for policy in versions if policy.version == target), None)
    allocations = earlier.allocations if earlier else []
    pools = earlier.pools if earlier else []
    if (allocations, pools) == (newest.allocations, newest.pools):
        raise DecisionRefused(f"{resource} already has the allocations of version {target}")
    policy = _next_version(
        resource=resource,
        allocations=allocations,
        pools=pools,
        capacity=earlier.capacity if earlier else None,
        divides=earlier.divides if earlier else False,
        user_id=user_id,
        now=now,
        rollback_of=newest,
    )
    begin_rollout(policy=policy, who=actor.name, why=why, now=now)
    publish_documents(resource=resource, now=now)
    record(
        organisation=resource.organisation, actor=actor, action="roll back",
        subject=resource.name[:LONGEST_SUBJECT], now=now,
        details={"to": target, "version": policy.version, "reason": why},
    )  # fmt: skip
    return policy


def _version_before(policy: Policy) -> int:
    """The version that all hosts had before this one; 0 is none."""
    rollout = getattr(policy, "rollout", None)
    if rollout is None:
        return policy.version - 1
    return rollout.former.version if rollout.former else 0


_ALLOCATION_KEYS = ("allocation", "workload", "reservation", "limit", "shares", "entitlement")


def _allocations(recommendation: Recommendation) -> list[dict[str, Any]]:
    answer = json.loads(recommendation.answer)
    try:
        # A draft carries no evidence of its own.
        capacity = answer.get("evidence", {}).get("capacity")
        check_stored_entitlements(answer["allocations"], capacity=capacity)
    except ValueError as error:
        raise DecisionRefused(f"recommendation {recommendation.pk} is damaged: {error}") from error
    return [{key: item[key] for key in _ALLOCATION_KEYS} for item in answer["allocations"]]


def _capacity(recommendation: Recommendation) -> float | None:
    """The capacity it used: in the evidence of advice, in the inputs of a draft."""
    evidence = json.loads(recommendation.answer).get("evidence") or {}
    capacity: float | None = evidence.get("capacity")
    return json.loads(recommendation.inputs).get("capacity") if capacity is None else capacity


def _divides(recommendation: Recommendation) -> bool:
    """Whether equal shares are meant: advice divides; a draft does unless it is made of limits."""
    rows = json.loads(recommendation.answer)["allocations"]
    return recommendation.kind != DRAFT or all(row["limit"] is None for row in rows)


def _next_version(
    *,
    resource: Resource,
    allocations: list[dict[str, Any]],
    pools: list[dict[str, Any]],
    capacity: float | None,
    divides: bool,
    user_id: int | None,
    now: datetime,
    recommendation: Recommendation | None = None,
    rollback_of: Policy | None = None,
) -> Policy:
    # Locks the resource, so that two simultaneous decisions get two version numbers.
    resource = Resource.objects.select_for_update(no_key=True).get(pk=resource.pk)
    newest = Policy.objects.filter(resource=resource).aggregate(newest=Max("version"))["newest"]
    policy = Policy(
        organisation=resource.organisation,
        resource=resource,
        version=(newest or 0) + 1,
        allocations=allocations,
        pools=pools,
        capacity=capacity,
        divides=divides,
        recommendation=recommendation,
        rollback_of=rollback_of,
        created_at=now,
    )
    if gap := publishing_gap(policy):
        raise DecisionRefused(gap)
    policy.created_by_id = user_id
    policy.save()
    return policy
