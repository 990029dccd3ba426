"""What people do with rollouts: stop and resume all of them, go on with one, set their terms."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from django.db import transaction

from accounts.actor import Actor
from accounts.models import Organisation
from accounts.models.audit import LONGEST_SUBJECT
from accounts.roles import Action
from accounts.services.audit import record
from advisor.access import require_operator
from advisor.core.rollout import PolicyStage
from advisor.decisions.rollouts.advance import held_rollout, next_stage
from advisor.decisions.rollouts.begin import held_terms, terms_of
from advisor.errors import DecisionRefused
from advisor.models import PolicyRollout, Resource, RolloutTerms

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser


@transaction.atomic
def stop_rollouts(
    *, organisation: Organisation, actor: Actor, reason: str, now: datetime
) -> RolloutTerms:
    """Nothing changes by itself any more, and no policy begins; hosts keep what they have."""
    actor.require(Action.DECIDE)
    terms = held_terms(organisation)
    if terms.stopped_at is None:
        terms.stopped_at, terms.stopped_by, terms.stop_reason = now, actor.name, reason
        terms.save()
        record(
            organisation=organisation, actor=actor, action="stop rollouts",
            subject="all rollouts", now=now, details={"reason": reason},
        )  # fmt: skip
    return terms


@transaction.atomic
def resume_rollouts(*, organisation: Organisation, actor: Actor, now: datetime) -> RolloutTerms:
    """Rollouts go on; each begins its stage anew, for what was measured meanwhile is old."""
    actor.require(Action.DECIDE)
    terms = held_terms(organisation)
    if terms.stopped_at is not None:
        terms.stopped_at, terms.stopped_by, terms.stop_reason = None, "", ""
        terms.save()
        over = [one.value for one in PolicyStage if one.is_over]
        under_way = PolicyRollout.objects.filter(organisation=organisation, guarded_until=None)
        under_way.exclude(state__in=over).update(settled_at=None, guards=[])
        record(
            organisation=organisation, actor=actor, action="resume rollouts",
            subject="all rollouts", now=now,
        )  # fmt: skip
    return terms


@transaction.atomic
def go_on(*, rollout: PolicyRollout, user: AbstractBaseUser, now: datetime) -> PolicyRollout:
    """Begin the next stage now, or end the guard of the last one, whatever is measured."""
    actor = require_operator(user, rollout.organisation)
    found = held_rollout(rollout)
    if terms_of(found.organisation).stopped_at is not None:
        raise DecisionRefused(
            "rollouts are stopped; resume them first, with: sluice rollout resume"
        )
    if PolicyStage(found.state).is_over:
        raise DecisionRefused(f"{found.policy} is {PolicyStage(found.state).words} already")
    if found.is_at_last_stage and not found.is_watched:
        raise DecisionRefused(f"no stage of {found.policy} follows")
    next_stage(found, who=actor.name, why="a person went on", now=now)
    record(
        organisation=found.organisation, actor=actor, action="go on with rollout",
        subject=str(found.policy)[:LONGEST_SUBJECT], now=now, details={"stage": found.stage + 1},
    )  # fmt: skip
    return found


@transaction.atomic
def set_terms(
    *,
    organisation: Organisation,
    actor: Actor,
    now: datetime,
    staged: bool | None = None,
    stage_s: float | None = None,
    longest_s: float | None = None,
    goes_on_unsure: bool | None = None,
    settle_s: float | None = None,
) -> RolloutTerms:
    """Change how an organisation rolls out, what is under way too; None keeps a term."""
    actor.require(Action.DECIDE)
    terms = held_terms(organisation)
    changed = {
        "staged": staged, "stage_s": stage_s, "longest_s": longest_s,
        "goes_on_unsure": goes_on_unsure, "settle_s": settle_s,
    }  # fmt: skip
    for name, value in changed.items():
        if value is not None:
            setattr(terms, name, value)
    if not 1 <= terms.stage_s <= terms.longest_s:
        raise DecisionRefused(
            f"a stage lasts 1 s at least and {terms.longest_s:g} s at most; "
            "the longest time is no shorter than a stage"
        )
    if terms.settle_s < 1:
        raise DecisionRefused("rates have 1 s at least to settle")
    terms.save()
    record(
        organisation=organisation, actor=actor, action="set rollout terms",
        subject="all rollouts", now=now,
        details={name: str(value) for name, value in changed.items() if value is not None},
    )  # fmt: skip
    return terms


@transaction.atomic
def stage_resource(
    *, resource: Resource, staged: bool | None, actor: Actor, now: datetime
) -> None:
    """Say whether the policies of one resource come in stages; None is as in its organisation."""
    actor.require(Action.DECIDE)
    Resource.objects.filter(pk=resource.pk).update(staged=staged)
    record(
        organisation=resource.organisation, actor=actor, action="set rollout terms",
        subject=resource.name[:LONGEST_SUBJECT], now=now, details={"staged": str(staged)},
    )  # fmt: skip
