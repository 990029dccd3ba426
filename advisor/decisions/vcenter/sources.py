"""Which vCenters are read by themselves: stated, tested, paused, removed and put back.

Each change is told in the audit chain, without the password.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from ipaddress import ip_address

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet

from accounts.actor import Actor
from accounts.models import Organisation
from accounts.roles import Action
from accounts.services.audit import record
from advisor.core.notifying import problems_of_name
from advisor.errors import DecisionRefused
from advisor.models import VcenterSource
from advisor.models.source import (
    LEAST_EVERY_MIN,
    LONGEST_ADDRESS,
    LONGEST_AUTHORITY,
    LONGEST_PASSWORD,
    LONGEST_USER,
    MOST_EVERY_MIN,
    USUAL_EVERY_MIN,
)
from advisor.pipeline.asked_by import note_asked
from ingest.core.vcenter.errors import AnswerError
from ingest.imports.reachable import Addresses, address_problem
from ingest.imports.vcenter_connection import authority_problem, place_of

MOST_SOURCES = 20
"""Of an organisation."""
PUT_BACK_WITHIN = timedelta(days=1)
LEAST_BETWEEN_TRIALS = timedelta(seconds=10)
SAME_PLACE_ONLY = (
    "give the password again: the stored one is sent to no other address, for no other user and "
    "by no other certificate than it was given for"
)
_FINGERPRINT = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedSource:
    """A source as people write it; an empty password keeps the one that is stored."""

    name: str
    address: str
    user: str
    password: str = field(default="", repr=False)
    fingerprint: str = ""
    authority: str = ""
    every_min: int = USUAL_EVERY_MIN
    takes_over: bool = False


def sources_of(organisation: Organisation) -> QuerySet[VcenterSource]:
    """Those in use or paused, by name."""
    return VcenterSource.objects.filter(organisation=organisation, removed_at=None)


def allowed_addresses() -> Addresses:
    """To which addresses the installation lets its sources lead, for workers, which see all rows.

    A vCenter is inside by nature. Where an installation has one organisation, that is whose
    network it is in; where it has several, one of them must not reach what is another's. The
    sample does not count.
    """
    if settings.SOURCE_ADDRESSES:
        return Addresses(settings.SOURCE_ADDRESSES)
    several = Organisation.objects.filter(is_sample=False)[1:2].exists()
    return Addresses.PUBLIC if several else Addresses.PRIVATE


def statable_addresses() -> Addresses:
    """Those that may be stated; a web server sees no other organisation, so it counts none."""
    return Addresses(settings.SOURCE_ADDRESSES or Addresses.PRIVATE)


@transaction.atomic
def state_source(
    *, organisation: Organisation, stated: StatedSource, actor: Actor, now: datetime
) -> VcenterSource:
    """Set a source, in the place of one of the same name; it is read at once, unless paused.

    A password is sent to no other place, under no other name and by no other trust than it was
    given for, so with a change of these it is to be given again.
    """
    actor.require(Action.MANAGE_SOURCES)
    # Two at once do not exceed the number together.
    Organisation.objects.select_for_update(no_key=True).get(pk=organisation.pk)
    stated = _tidy(stated)
    row = sources_of(organisation).filter(name=stated.name).first()
    for problem in _problems(stated, organisation, row):
        raise DecisionRefused(problem)
    is_new = row is None
    row = row or VcenterSource(organisation=organisation, name=stated.name)
    row.address, row.user = stated.address, stated.user
    row.fingerprint, row.authority = stated.fingerprint, stated.authority
    row.every_min, row.takes_over = stated.every_min, stated.takes_over
    if stated.password:
        row.password = stated.password
    row.next_at, row.failures = now, 0
    row.save()
    _note(row, actor, "state a source" if is_new else "change a source", now)
    return row


def _tidy(stated: StatedSource) -> StatedSource:
    return StatedSource(
        name=stated.name.strip(),
        address=stated.address.strip().rstrip("/"),
        user=stated.user.strip(),
        password=stated.password,
        fingerprint=stated.fingerprint.strip().replace(":", "").lower(),
        authority=stated.authority.strip(),
        every_min=stated.every_min,
        takes_over=stated.takes_over,
    )


def _problems(
    stated: StatedSource, organisation: Organisation, row: VcenterSource | None
) -> list[str]:
    found = problems_of_name(stated.name)
    for what, text, longest in (
        ("an address", stated.address, LONGEST_ADDRESS),
        ("a user", stated.user, LONGEST_USER),
        ("a password", stated.password, LONGEST_PASSWORD),
    ):
        if len(text) > longest or not text.isprintable():
            found.append(f"{what} has at most {longest} letters that can be printed")
    if problem := _address_problem(stated.address):
        found.append(problem)
    if not stated.user:
        found.append("it needs a user, with the role Read-only on the vCenter")
    if not LEAST_EVERY_MIN <= stated.every_min <= MOST_EVERY_MIN:
        found.append(f"it is read each {LEAST_EVERY_MIN} to {MOST_EVERY_MIN} minutes")
    return found + _problems_of_trust(stated) + _problems_beside(stated, organisation, row)


def _address_problem(address: str) -> str:
    """What can be told without asking for the addresses of a name, which a worker does."""
    try:
        host = place_of(address).host
    except AnswerError as error:
        return str(error)
    try:
        ip_address(host.partition("%")[0])
    except ValueError:
        return ""
    problem = address_problem(host, statable_addresses())
    return problem and f"{host} is an address {problem}"


def _problems_of_trust(stated: StatedSource) -> list[str]:
    if stated.fingerprint and not _FINGERPRINT.fullmatch(stated.fingerprint):
        return ["a fingerprint is the SHA-256 of the certificate: 64 hexadecimal digits"]
    if len(stated.authority) > LONGEST_AUTHORITY:
        return [f"the authority's certificate has at most {LONGEST_AUTHORITY} letters"]
    problem = authority_problem(stated.authority) if stated.authority else ""
    return [problem] if problem else []


def _problems_beside(
    stated: StatedSource, organisation: Organisation, row: VcenterSource | None
) -> list[str]:
    if row is None:
        found = [] if stated.password else ["it needs the password of the user"]
        if sources_of(organisation).count() >= MOST_SOURCES:
            found.append(f"an organisation has at most {MOST_SOURCES} sources")
        return found
    is_same = (row.address, row.user, row.fingerprint, row.authority) == (
        stated.address, stated.user, stated.fingerprint, stated.authority,
    )  # fmt: skip
    if stated.password or is_same:
        return []
    return [SAME_PLACE_ONLY]


@transaction.atomic
def ask_trial(row: VcenterSource, *, actor: Actor, now: datetime) -> None:
    """Have a worker connect and log in; the row says soon what came of it."""
    actor.require(Action.MANAGE_SOURCES)
    row = _held(row)
    if row.trial_asked_at is not None and now - row.trial_asked_at < LEAST_BETWEEN_TRIALS:
        raise DecisionRefused(f"{row} is being tested; wait a few seconds")
    row.trial_asked_at, row.trial_worked, row.trial_says = now, None, ""
    row.save(update_fields=["trial_asked_at", "trial_worked", "trial_says"])
    _note(row, actor, "test a source", now)
    note_asked(f"source {row.pk}")


@transaction.atomic
def pause_source(row: VcenterSource, *, actor: Actor, now: datetime) -> None:
    """Read it no more until it is resumed; what it stated stays."""
    actor.require(Action.MANAGE_SOURCES)
    row = _held(row)
    if row.paused_at is not None:
        raise DecisionRefused(f"{row} is paused already")
    row.paused_at = now
    row.save(update_fields=["paused_at"])
    _note(row, actor, "pause a source", now)


@transaction.atomic
def resume_source(row: VcenterSource, *, actor: Actor, now: datetime) -> None:
    """Read it again, at once."""
    actor.require(Action.MANAGE_SOURCES)
    row = _held(row)
    if row.paused_at is None:
        raise DecisionRefused(f"{row} is not paused")
    row.paused_at, row.next_at, row.failures = None, now, 0
    row.save(update_fields=["paused_at", "next_at", "failures"])
    _note(row, actor, "resume a source", now)


@transaction.atomic
def remove_source(row: VcenterSource, *, actor: Actor, now: datetime) -> None:
    """Read it no more; for a day it can be put back. What it stated stays."""
    actor.require(Action.MANAGE_SOURCES)
    row = _held(row)
    row.removed_at = now
    row.save(update_fields=["removed_at"])
    _note(row, actor, "remove a source", now)


@transaction.atomic
def put_back(row: VcenterSource, *, actor: Actor, now: datetime) -> None:
    """Undo a removal; refused if there is another one of its name, or it is too long ago."""
    actor.require(Action.MANAGE_SOURCES)
    Organisation.objects.select_for_update(no_key=True).get(pk=row.organisation_id)
    removed = removed_sources(row.organisation, now=now).filter(pk=row.pk).first()
    if removed is None:
        raise DecisionRefused(f"{row} is not among those that were removed in the last day")
    others = sources_of(row.organisation)
    if others.filter(name=row.name).exists():
        raise DecisionRefused(f"there is another source {row} by now")
    if others.count() >= MOST_SOURCES:
        raise DecisionRefused(f"an organisation has at most {MOST_SOURCES} sources")
    removed.removed_at, removed.next_at, removed.failures = None, now, 0
    removed.save(update_fields=["removed_at", "next_at", "failures"])
    _note(removed, actor, "put a source back", now)


def removed_sources(organisation: Organisation, *, now: datetime) -> QuerySet[VcenterSource]:
    """Those that can be put back, the last removed first."""
    rows = VcenterSource.objects.filter(
        organisation=organisation, removed_at__gt=now - PUT_BACK_WITHIN
    )
    return rows.order_by("-removed_at", "pk")


def drop_removed(*, now: datetime) -> None:
    """Forget those that nobody put back, with their passwords."""
    VcenterSource.objects.filter(removed_at__lte=now - PUT_BACK_WITHIN).delete()


def _held(row: VcenterSource) -> VcenterSource:
    """The row as it is now, which nobody else changes meanwhile."""
    found = VcenterSource.objects.select_for_update().filter(pk=row.pk, removed_at=None).first()
    if found is None:
        raise DecisionRefused(f"{row} was removed")
    return found


def _note(row: VcenterSource, actor: Actor, action: str, now: datetime) -> None:
    record(
        organisation=row.organisation, actor=actor, action=action, subject=row.name, now=now,
        details={
            "address": row.address,
            "user": row.user,
            "trust": "pinned" if row.fingerprint else "authority" if row.authority else "system",
            "every_min": row.every_min,
            "takes_over": "yes" if row.takes_over else "no",
        },
    )  # fmt: skip
