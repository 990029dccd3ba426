"""Say that an organisation is to be deleted, or that it is to stay after all."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import transaction

from accounts.actor import Actor
from accounts.errors import AccountsError
from accounts.models import Organisation
from accounts.roles import Action
from accounts.services.audit import record

GRACE = timedelta(days=7)
"""So long everything goes on, and the deletion can be taken back."""


@transaction.atomic
def plan_deletion(
    *,
    organisation: Organisation,
    slug: str,
    actor: Actor,
    now: datetime,
    grace: timedelta | None = None,
) -> datetime:
    """From when on it is deleted; `slug` is what was typed to confirm it.

    Without a stated grace a sample is deleted at once, for it can be had again. Whoever says it
    again does not move the time.
    """
    actor.require(Action.DELETE_ORGANISATION)
    if slug != organisation.slug:
        raise AccountsError(f'to delete it, type its short name "{organisation.slug}"')
    row = Organisation.objects.select_for_update(no_key=True).get(pk=organisation.pk)
    if grace is None:
        grace = timedelta() if row.is_sample else GRACE
    if row.deletion_due_at is None or row.deletion_due_at > now + grace:
        row.deletion_due_at = now + grace
        row.save(update_fields=["deletion_due_at"])
        due = f"{row.deletion_due_at:%Y-%m-%d %H:%M} UTC"
        record(
            organisation=row, actor=actor, action="plan the deletion",
            subject=row.slug, now=now, details={"due": due},
        )  # fmt: skip
    organisation.deletion_due_at = row.deletion_due_at
    return row.deletion_due_at


@transaction.atomic
def keep_organisation(*, organisation: Organisation, actor: Actor, now: datetime) -> None:
    """Take the deletion back; refuses when it has begun."""
    actor.require(Action.DELETE_ORGANISATION)
    row = Organisation.objects.select_for_update(no_key=True).get(pk=organisation.pk)
    if row.deletion_due_at is None:
        return
    if row.deletion_due_at <= now:
        raise AccountsError("its deletion has begun, so it cannot be kept")
    row.deletion_due_at = None
    row.save(update_fields=["deletion_due_at"])
    record(
        organisation=row, actor=actor, action="take the deletion back", subject=row.slug, now=now
    )
    organisation.deletion_due_at = None
