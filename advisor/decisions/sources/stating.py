"""Which sources are read by themselves: stated, tested, paused, removed and put back.

Each change is told in the audit chain, without the password.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet

from accounts.actor import Actor
from accounts.models import Organisation
from accounts.roles import Action
from accounts.services.audit import record
from advisor.decisions.kubernetes.own_cluster import may_use_own_account
from advisor.decisions.sources.problems import StatedSource, problems_of, problems_of_password
from advisor.errors import DecisionRefused
from advisor.models import ReadSource
from advisor.pipeline.asked_by import note_asked
from ingest.imports.reachable import Addresses

MOST_SOURCES = 20
"""Of an organisation."""
PUT_BACK_WITHIN = timedelta(days=1)
LEAST_BETWEEN_TRIALS = timedelta(seconds=10)


def sources_of(organisation: Organisation) -> QuerySet[ReadSource]:
    """Those in use or paused, by name."""
    return ReadSource.objects.filter(organisation=organisation, removed_at=None)


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
) -> ReadSource:
    """Set a source, in the place of one of the same name; it is read at once, unless paused.

    A password is sent to no other place, under no other name and by no other trust than it was
    given for, so with a change of these it is to be given again.
    """
    actor.require(Action.MANAGE_SOURCES)
    # Two at once do not exceed the number together.
    Organisation.objects.select_for_update(no_key=True).get(pk=organisation.pk)
    stated = stated.tidy()
    row = sources_of(organisation).filter(name=stated.name).first()
    for problem in _problems(stated, organisation, row):
        raise DecisionRefused(problem)
    is_new = row is None
    row = row or ReadSource(organisation=organisation, name=stated.name, kind=stated.kind)
    row.address, row.user = stated.address, stated.user
    row.fingerprint, row.authority = stated.fingerprint, stated.authority
    row.every_min, row.takes_over = stated.every_min, stated.takes_over
    row.tier_label, row.class_rates = stated.tier_label, stated.class_rates
    if stated.password:
        row.password = stated.password
    row.next_at, row.failures = now, 0
    row.save()
    _note(row, actor, "state a source" if is_new else "change a source", now)
    return row


def _problems(
    stated: StatedSource, organisation: Organisation, row: ReadSource | None
) -> list[str]:
    found = problems_of(stated, statable_addresses())
    found += problems_of_password(stated, row, has_own_account=may_use_own_account(organisation))
    if row is None and sources_of(organisation).count() >= MOST_SOURCES:
        found.append(f"an organisation has at most {MOST_SOURCES} sources")
    return found


@transaction.atomic
def ask_trial(row: ReadSource, *, actor: Actor, now: datetime) -> None:
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
def pause_source(row: ReadSource, *, actor: Actor, now: datetime) -> None:
    """Read it no more until it is resumed; what it stated stays."""
    actor.require(Action.MANAGE_SOURCES)
    row = _held(row)
    if row.paused_at is not None:
        raise DecisionRefused(f"{row} is paused already")
    row.paused_at = now
    row.save(update_fields=["paused_at"])
    _note(row, actor, "pause a source", now)


@transaction.atomic
def resume_source(row: ReadSource, *, actor: Actor, now: datetime) -> None:
    """Read it again, at once."""
    actor.require(Action.MANAGE_SOURCES)
    row = _held(row)
    if row.paused_at is None:
        raise DecisionRefused(f"{row} is not paused")
    row.paused_at, row.next_at, row.failures = None, now, 0
    row.save(update_fields=["paused_at", "next_at", "failures"])
    _note(row, actor, "resume a source", now)


@transaction.atomic
def remove_source(row: ReadSource, *, actor: Actor, now: datetime) -> None:
    """Read it no more; for a day it can be put back. What it stated stays."""
    actor.require(Action.MANAGE_SOURCES)
    row = _held(row)
    row.removed_at = now
    row.save(update_fields=["removed_at"])
    _note(row, actor, "remove a source", now)


@transaction.atomic
def put_back(row: ReadSource, *, actor: Actor, now: datetime) -> None:
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


def removed_sources(organisation: Organisation, *, now: datetime) -> QuerySet[ReadSource]:
    """Those that can be put back, the last removed first."""
    rows = ReadSource.objects.filter(
        organisation=organisation, removed_at__gt=now - PUT_BACK_WITHIN
    )
    return rows.order_by("-removed_at", "pk")


def drop_removed(*, now: datetime) -> None:
    """Forget those that nobody put back, with their passwords."""
    ReadSource.objects.filter(removed_at__lte=now - PUT_BACK_WITHIN).delete()


def _held(row: ReadSource) -> ReadSource:
    """The row as it is now, which nobody else changes meanwhile."""
    found = ReadSource.objects.select_for_update().filter(pk=row.pk, removed_at=None).first()
    if found is None:
        raise DecisionRefused(f"{row} was removed")
    return found


def _note(row: ReadSource, actor: Actor, action: str, now: datetime) -> None:
    record(
        organisation=row.organisation, actor=actor, action=action, subject=row.name, now=now,
        details={
            "kind": row.kind,
            "address": row.address,
            "user": row.user,
            "trust": "pinned" if row.fingerprint else "authority" if row.authority else "system",
            "every_min": row.every_min,
            "takes_over": "yes" if row.takes_over else "no",
            "tier_label": row.tier_label,
            "class_rates": row.class_rates,
        },
    )  # fmt: skip
