"""Write the audit chain of an organisation, and check that nobody changed it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from accounts.actor import Actor
from accounts.models import Organisation
from accounts.models.audit import AuditEntry, AuditHead


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """The first place at which a chain does not hold."""

    number: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """How many entries were checked; `head` is the hash of the newest, `broken` None if all hold.

    Who keeps the head elsewhere can tell later that everything up to it is as it was.
    """

    entries: int
    head: str
    broken: Broken | None


def hold_chain(organisation: Organisation) -> AuditHead:
    """Let others wait until this transaction ends; so no act is judged by what another changes."""
    AuditHead.objects.get_or_create(organisation=organisation)
    return AuditHead.objects.select_for_update().get(organisation=organisation)


@transaction.atomic
def record(
    *,
    organisation: Organisation,
    actor: Actor,
    action: str,
    subject: str,
    now: datetime,
    details: Mapping[str, str | int | None] | None = None,
) -> AuditEntry:
    """Add an entry; with what it tells of, in one transaction."""
    head = hold_chain(organisation)
    entry = AuditEntry(
        organisation=organisation,
        number=head.number + 1,
        at=now,
        actor=actor.name,
        address=actor.address,
        action=action,
        subject=subject,
        details=dict(details or {}),
        previous_hash=head.hash,
    )
    entry.hash = entry.expected_hash
    entry.save(force_insert=True)
    head.number, head.hash = entry.number, entry.hash
    head.save(update_fields=["number", "hash"])
    return entry


@transaction.atomic
def verify(organisation: Organisation) -> Verified:
    """Check every entry against its hash, the one before, and the head."""
    head = hold_chain(organisation)
    number, previous, broken = 0, "", None
    for entry in AuditEntry.objects.filter(organisation=organisation).iterator():
        broken = _broken(entry, number=number + 1, previous=previous)
        if broken is not None:
            break
        number, previous = entry.number, entry.hash
    if broken is None and (number, previous) != (head.number, head.hash):
        broken = Broken(number=number + 1, reason=f"entries up to {head.number} are missing")
    return Verified(entries=number, head=previous, broken=broken)


def _broken(entry: AuditEntry, *, number: int, previous: str) -> Broken | None:
    if entry.number != number:
        return Broken(number=number, reason="the entry is missing")
    if entry.previous_hash != previous:
        return Broken(number=number, reason="it does not follow the entry before")
    if entry.hash != entry.expected_hash:
        return Broken(number=number, reason="what it says was changed")
    return None
