"""Which claims are given another VolumeAttributesClass where advice on a limit is approved.

The class holds the volume to the limit, whatever host uses it. As moves are, it is changed only
where a person who may have that done approves it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.db import transaction

from accounts.actor import Actor
from accounts.models.audit import LONGEST_SUBJECT
from accounts.roles import Action
from accounts.services.audit import record
from advisor.advice.kind import LimitToHold
from advisor.advice.registry import kind_of
from advisor.core.enumeration import listed
from advisor.core.volume_classes import Class, choose_class, read_meanings
from advisor.errors import DecisionRefused
from advisor.models import (
    ChangeState,
    ClassChange,
    ClusterClaim,
    ClusterPod,
    Recommendation,
    VolumeClass,
)
from advisor.models.class_change import OPEN_CHANGES


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedChange:
    """A claim, and the class that it would be given; or why it is given none."""

    claim: ClusterClaim
    workload: str
    limit: float
    wanted: str = ""
    why_not: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What approving would change, and what it leaves."""

    changes: Sequence[PlannedChange] = field(default=())
    left: Sequence[PlannedChange] = field(default=())


def may_change_classes(actor: Actor) -> bool:
    """Whether an approval of this actor gives claims another class."""
    return actor.may(Action.CARRY_OUT)


def planned_changes(recommendation: Recommendation) -> Plan:
    """What an approval would change by whoever may have it changed; nothing is written."""
    kind = kind_of(recommendation)
    limits = kind.limits(json.loads(recommendation.answer), recommendation.subject) if kind else ()
    if not limits:
        return Plan()
    found = [
        _planned(recommendation, claim, one)
        for one in limits
        for claim in _claims_of(recommendation, one.workload)
    ]
    return Plan(
        changes=[one for one in found if one.wanted], left=[one for one in found if one.why_not]
    )


def _claims_of(recommendation: Recommendation, workload: str) -> Iterable[ClusterClaim]:
    """The claims of the workload's pod that lie on the resource, in clusters that may be changed.

    Where several share its limit there, none is known to be the one to hold.
    """
    pods = ClusterPod.objects.filter(
        organisation=recommendation.organisation_id, workload__name=workload,
        source__removed_at=None, source__paused_at=None,
    ).exclude(source__class_rates="")  # fmt: skip
    found = [
        claim
        for pod in pods.order_by("pk")
        for claim in ClusterClaim.objects.filter(
            source=pod.source_id, namespace=pod.namespace, name__in=pod.claims,
            resource=recommendation.resource_id,
        ).select_related("source")
    ]  # fmt: skip
    return found if len(found) == 1 else ()


def _planned(
    recommendation: Recommendation, claim: ClusterClaim, one: LimitToHold
) -> PlannedChange:
    def planned(*, wanted: str = "", why_not: str = "") -> PlannedChange:
        return PlannedChange(
            claim=claim, workload=one.workload, limit=one.limit, wanted=wanted, why_not=why_not
        )

    if _is_shared(claim):
        return planned(why_not="other pods use it too, and would be held with it")
    open_changes = ClassChange.objects.filter(
        source=claim.source_id, uid=claim.uid, state__in=OPEN_CHANGES
    )
    if open_changes.exists():
        return planned(why_not="another change of its class has not ended yet")
    classes = VolumeClass.objects.filter(source=claim.source_id, driver=claim.driver)
    choice = choose_class(
        [Class(name=row.name, parameters=row.parameters) for row in classes.order_by("name")],
        read_meanings(claim.source.class_rates),
        unit=recommendation.resource.unit,
        limit=one.limit,
        reservation=one.reservation,
    )
    if choice.name and choice.name == claim.asked_class:
        return planned(why_not=f"it has the class {choice.name} already")
    return planned(wanted=choice.name, why_not=choice.why_not)


def _is_shared(claim: ClusterClaim) -> bool:
    users = ClusterPod.objects.filter(
        source=claim.source_id, namespace=claim.namespace, claims__contains=[claim.name]
    )
    return users[1:2].exists()


def ask_for_changes(recommendation: Recommendation, *, actor: Actor, now: datetime) -> None:
    """Let a worker change the classes, if the actor may have that done."""
    if may_change_classes(actor):
        ClassChange.objects.bulk_create(
            ClassChange(
                organisation_id=recommendation.organisation_id, recommendation=recommendation,
                source=one.claim.source, workload=one.workload, uid=one.claim.uid,
                namespace=one.claim.namespace, name=one.claim.name, limit=one.limit,
                former=one.claim.asked_class, wanted=one.wanted, asked_at=now,
                asked_by=actor.name, look_at=now,
            )
            for one in planned_changes(recommendation).changes
        )  # fmt: skip


def asked_changes_text(recommendation: Recommendation) -> str:
    """What an approval began; empty where no class is changed."""
    rows = recommendation.class_changes.filter(undoes=None).order_by("pk")
    names = [f"{one.claim} to {one.wanted}" for one in rows]
    if not names:
        return ""
    return (
        f"A worker gives claims another class: {listed(names)}. "
        "What their driver makes of it stands on the page."
    )


@transaction.atomic
def undo_change(change: ClassChange, *, actor: Actor, now: datetime) -> ClassChange:
    """Let a worker give the claim the class again that it had before."""
    actor.require(Action.CARRY_OUT)
    held = ClassChange.objects.select_for_update().get(pk=change.pk)
    if held.changed_at is None or held.state not in (ChangeState.DONE, ChangeState.FAILED):
        raise DecisionRefused(f"the class of {held.claim} was not changed, or is being changed")
    if held.undoes_id is not None or ClassChange.objects.filter(undoes=held).exists():
        raise DecisionRefused(f"that change of {held.claim} was undone already")
    others = ClassChange.objects.filter(source=held.source_id, uid=held.uid)
    if others.filter(pk__gt=held.pk).exists():
        raise DecisionRefused(f"the class of {held.claim} was changed again since; undo that")
    row = ClassChange.objects.create(
        organisation_id=held.organisation_id, recommendation_id=held.recommendation_id,
        source_id=held.source_id, undoes=held, workload=held.workload, uid=held.uid,
        namespace=held.namespace, name=held.name, former=held.wanted, wanted=held.former,
        asked_at=now, asked_by=actor.name, look_at=now,
    )  # fmt: skip
    record(
        organisation=held.organisation, actor=actor, action="undo a change of class",
        subject=held.claim[:LONGEST_SUBJECT], now=now, details={"to": held.former},
    )  # fmt: skip
    return row
