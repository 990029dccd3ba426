"""What people do with a recommendation beside deciding it, and who came first where two decide."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from django.db import transaction

from accounts.actor import Actor
from accounts.models.audit import LONGEST_SUBJECT
from accounts.services.audit import record
from advisor.access import require_operator
from advisor.advice.recommendation_store import VALID_FOR
from advisor.errors import DecisionRefused
from advisor.models import OPEN_STATES, Recommendation, RecommendationState
from advisor.models.recommendation import RecommendationQuerySet
from advisor.pipeline.recommendation_life import change_state, history_of

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser

LONGEST_SNOOZE = timedelta(days=30)


@transaction.atomic
def acknowledge(
    *, recommendation: Recommendation, user: AbstractBaseUser, now: datetime, reason: str = ""
) -> Recommendation:
    """Say that somebody looks after it; it stays open."""
    actor = require_operator(user, recommendation.organisation)
    to = RecommendationState.ACKNOWLEDGED
    claim(recommendation, to, actor=actor, reason=reason, now=now, snoozed_until=None)
    note_in_chain(recommendation, actor, "acknowledge", now=now, reason=reason)
    return recommendation


@transaction.atomic
def snooze(
    *,
    recommendation: Recommendation,
    user: AbstractBaseUser,
    until: datetime,
    now: datetime,
    reason: str = "",
) -> Recommendation:
    """Put it off. It comes back then, and can be decided for as long as new advice can."""
    actor = require_operator(user, recommendation.organisation)
    if until <= now:
        raise DecisionRefused(f"{until:%Y-%m-%d %H:%M} UTC is over; say a later time")
    if until - now > LONGEST_SNOOZE:
        raise DecisionRefused(f"it can be put off for {LONGEST_SNOOZE.days} days at most")
    expires_at = max(recommendation.expires_at, until + VALID_FOR)
    claim(
        recommendation, RecommendationState.SNOOZED, actor=actor, reason=reason, now=now,
        snoozed_until=until, expires_at=expires_at,
    )  # fmt: skip
    note_in_chain(recommendation, actor, "snooze", now=now, reason=reason, until=until.isoformat())
    return recommendation


def claim(
    recommendation: Recommendation,
    state: RecommendationState,
    *,
    actor: Actor,
    reason: str,
    now: datetime,
    **columns: Any,
) -> None:
    """Bring an open recommendation into the state; who comes second is told who was first."""
    rows: RecommendationQuerySet = Recommendation.objects.open_at(now)
    changed = change_state(
        rows.filter(pk=recommendation.pk), state, now=now, actor=actor, reason=reason, **columns
    )
    recommendation.refresh_from_db()
    if not changed:
        raise DecisionRefused(_why_not(recommendation))


def _why_not(row: Recommendation) -> str:
    current = RecommendationState.EXPIRED if row.state in OPEN_STATES else row.state
    said = f"recommendation {row.pk} is {current} and can no longer be decided"
    last = next((one for one in history_of(row).reverse() if one.step == current), None)
    if last is None:
        return said
    return f"{said}: {last.actor} did that at {last.at:%Y-%m-%d %H:%M:%S} UTC"


def note_in_chain(
    recommendation: Recommendation, actor: Actor, action: str, *, now: datetime, **details: Any
) -> None:
    """Add an entry to the audit chain of its organisation."""
    subject = f"recommendation {recommendation.pk} for {recommendation.subject}"
    record(
        organisation=recommendation.organisation, actor=actor, action=action,
        subject=subject[:LONGEST_SUBJECT], now=now, details=details,
    )  # fmt: skip
