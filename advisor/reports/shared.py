"""Links that open a report, an incident or a proof without a login, until they expire.

A link is signed and names what is stored. Who has it sees that as it was when it was shared, and
nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.core import signing
from django.db import transaction

from accounts.actor import Actor
from accounts.models import Organisation
from accounts.roles import Action
from accounts.services.audit import record
from advisor.core.canonical import from_plain, to_plain
from advisor.errors import DecisionRefused
from advisor.models import SharedKind, SharedReport
from advisor.reports.written import WrittenReport
from advisor.reports.written_incident import WrittenIncident
from advisor.reports.written_proof import WrittenProof

SALT = "sluice.shared-report"
DAYS = (7, 30, 90)
"""For so long a link may open a report."""
LONGEST_TITLE = 600
Shared = WrittenReport | WrittenIncident | WrittenProof
_KINDS: dict[SharedKind, type[Shared]] = {
    SharedKind.REPORT: WrittenReport,
    SharedKind.INCIDENT: WrittenIncident,
    SharedKind.PROOF: WrittenProof,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedReport:
    """The stored report that a link names, and whose it is."""

    organisation: int
    report: int


@transaction.atomic
def share(
    *,
    organisation: Organisation,
    shared: Shared,
    days: int,
    actor: Actor,
    now: datetime,
) -> SharedReport:
    """Store what is shared, for who has the link to it."""
    actor.require(Action.MANAGE_NOTIFICATIONS)
    kind = next(kind for kind, own in _KINDS.items() if isinstance(shared, own))
    if days not in DAYS:
        raise DecisionRefused(f"a link opens {kind.words} for {', '.join(map(str, DAYS))} days")
    title = shared.title[:LONGEST_TITLE]
    row = SharedReport.objects.create(
        organisation=organisation, kind=kind, title=title, written=to_plain(shared),
        made_by=actor.name, made_at=now, expires_at=now + timedelta(days=days),
    )  # fmt: skip
    record(
        organisation=organisation, actor=actor, action=f"share {kind.words} by a link",
        subject=title, now=now, details={"report": row.pk, "days": days},
    )  # fmt: skip
    return row


@transaction.atomic
def take_back(row: SharedReport, *, actor: Actor, now: datetime) -> None:
    """Let the link open nothing any more."""
    actor.require(Action.MANAGE_NOTIFICATIONS)
    if not SharedReport.objects.filter(pk=row.pk, taken_back_at=None).update(taken_back_at=now):
        raise DecisionRefused("the link was taken back before")
    record(
        organisation=row.organisation, actor=actor, action="take back the link to a report",
        subject=row.title, now=now, details={"report": row.pk},
    )  # fmt: skip


def link_secret(row: SharedReport) -> str:
    """What stands in the link."""
    return signing.dumps([row.organisation_id, row.pk], salt=SALT)


def named_by(secret: str) -> NamedReport | None:
    """What a link names; None if it is none of ours."""
    try:
        organisation, report = signing.loads(secret, salt=SALT)
    except signing.BadSignature:
        return None
    return NamedReport(organisation=organisation, report=report)


def opened(named: NamedReport, *, now: datetime) -> Shared | None:
    """What a link opens now; None after its end."""
    row = SharedReport.objects.filter(
        pk=named.report, organisation=named.organisation, taken_back_at=None, expires_at__gt=now
    ).first()
    return None if row is None else from_plain(_KINDS[SharedKind(row.kind)], row.written)


def forget_expired(*, now: datetime) -> None:
    """Delete reports that no link opens any more."""
    SharedReport.objects.filter(expires_at__lte=now).delete()
