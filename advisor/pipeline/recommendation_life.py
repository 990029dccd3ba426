"""The states of recommendations: each change is a claim, and leaves a line in the history."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from accounts.actor import SCHEDULER, Actor
from advisor.models import Recommendation, RecommendationChange, RecommendationState, Step
from advisor.models.recommendation import RecommendationQuerySet

NEWER = "newer advice took its place"
NO_CAUSE = "what called for it is gone"
OUT_OF_TIME = "nobody decided in time"
PAST_SNOOZE = "the time for which it was put off is over"


@transaction.atomic
def change_state(
    rows: RecommendationQuerySet,
    state: RecommendationState,
    *,
    now: datetime,
    actor: Actor = SCHEDULER,
    reason: str = "",
    **columns: Any,
) -> int:
    """Bring those of the rows that are undecided into the state; how many they were.

    Who comes second waits for the first, and then finds the row decided.
    """
    claimed = dict(
        rows.undecided().order_by("pk").select_for_update(of=("self",))
        .values_list("pk", "organisation_id")
    )  # fmt: skip
    Recommendation.objects.filter(pk__in=claimed).update(state=state, **columns)
    until = columns.get("snoozed_until")
    RecommendationChange.objects.bulk_create(
        RecommendationChange(
            organisation_id=organisation, recommendation_id=pk, step=Step(state), at=now,
            actor=actor.name, address=actor.address, reason=reason, until=until,
        )
        for pk, organisation in claimed.items()
    )  # fmt: skip
    return len(claimed)


def note_step(
    row: Recommendation, step: Step, *, now: datetime, actor: Actor, reason: str = ""
) -> None:
    """Write down what happened to a recommendation that stays in its state."""
    RecommendationChange.objects.create(
        organisation_id=row.organisation_id, recommendation=row, step=step, at=now,
        actor=actor.name, address=actor.address, reason=reason,
    )  # fmt: skip


def supersede(rows: RecommendationQuerySet, *, now: datetime, reason: str, **columns: Any) -> None:
    """Take back what nobody decided yet."""
    change_state(rows, RecommendationState.SUPERSEDED, now=now, reason=reason, **columns)


def expire_and_wake(*, now: datetime) -> int:
    """Store what time has changed; how many expired."""
    over = Recommendation.objects.filter(expires_at__lte=now)
    expired = change_state(over, RecommendationState.EXPIRED, now=now, reason=OUT_OF_TIME)
    awake = Recommendation.objects.filter(
        state=RecommendationState.SNOOZED, snoozed_until__lte=now
    )
    change_state(
        awake, RecommendationState.PROPOSED, now=now, reason=PAST_SNOOZE, snoozed_until=None
    )
    return expired


def history_of(row: Recommendation) -> QuerySet[RecommendationChange]:
    """Its steps after it was made, the oldest first."""
    return row.changes.order_by("at", "pk")
