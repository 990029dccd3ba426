"""Say something of an incident, and take care of it."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from accounts.actor import Actor
from accounts.models import Membership
from accounts.models.audit import LONGEST_SUBJECT
from accounts.roles import Action
from accounts.services.audit import record
from advisor.errors import InventoryError
from advisor.models import Incident
from advisor.models.incident_note import LONGEST_NOTE, IncidentNote
from ingest.core.lengths import LONGEST_STATED_NAME

MOST_NOTES = 500
"""Of one incident: its page shows all of them."""


@transaction.atomic
def say(*, incident: Incident, text: str, actor: Actor, now: datetime) -> IncidentNote:
    """Add a note. Raises InventoryError if there is nothing in it, or too much."""
    actor.require(Action.DECIDE)
    text = "\n".join(line.rstrip() for line in text.strip().splitlines())
    if not text:
        raise InventoryError("a note needs a text")
    if len(text) > LONGEST_NOTE:
        raise InventoryError(f"a note has at most {LONGEST_NOTE:,} characters, not {len(text):,}")
    if "\x00" in text:
        raise InventoryError("a note has no zero byte")
    return _add(incident, actor, now, text=text)


@transaction.atomic
def take_care(
    *, incident: Incident, username: str, actor: Actor, now: datetime
) -> IncidentNote | None:
    """Say which member takes care from now on; an empty name: nobody. None if it is so already.

    Raises InventoryError for who is no member.
    """
    actor.require(Action.DECIDE)
    # Two people who take it at once do so one after the other.
    Incident.every.select_for_update(no_key=True, of=("self",)).get(pk=incident.pk)
    members = Membership.objects.filter(organisation=incident.organisation_id)
    if username and not members.filter(user__username=username).exists():
        raise InventoryError(f'"{username}" is no member of the organisation')
    newest = IncidentNote.objects.filter(incident=incident, is_duty=True).last()
    if (newest.carer_name if newest else "") == username:
        return None
    row = _add(
        incident,
        actor,
        now,
        is_duty=True,
        carer_name=username[:LONGEST_STATED_NAME],
    )
    record(
        organisation=incident.organisation, actor=actor, action="say who takes care",
        subject=str(incident)[:LONGEST_SUBJECT], now=now, details={"who": username or "nobody"},
    )  # fmt: skip
    return row


def _add(incident: Incident, actor: Actor, now: datetime, **said: object) -> IncidentNote:
    if IncidentNote.objects.filter(incident=incident).count() >= MOST_NOTES:
        raise InventoryError(f"an incident has at most {MOST_NOTES} notes")
    return IncidentNote.objects.create(
        organisation_id=incident.organisation_id,
        incident=incident,
        at=now,
        by=actor.name[:LONGEST_STATED_NAME],
        **said,
    )
