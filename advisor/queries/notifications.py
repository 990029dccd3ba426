"""What is shown of notifications: channels without what is secret, rules, silences, the log."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlsplit

from django.db.models import Exists, Q, QuerySet, Subquery

from accounts.models import Organisation
from advisor.core.enumeration import listed
from advisor.core.notifying import Held, Severity
from advisor.models import (
    ChannelKind,
    Delivery,
    NotificationChannel,
    NotificationRule,
    NotificationSilence,
    Resource,
)
from advisor.notifications.look import held_back
from advisor.queries.scope import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleLine:
    """A rule with what it says in words, and what it holds back now."""

    row: NotificationRule
    says: str
    held: tuple[Held, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceSilence:
    """Until when nobody is told of a resource; `is_told` while rules exist that would."""

    until: datetime | None
    is_told: bool


def leads_to(row: NotificationChannel) -> str:
    """The address, without the parts that let somebody else send there."""
    if row.kind == ChannelKind.SERVICE:
        return row.address.partition("://")[0]
    if row.kind == ChannelKind.WEBHOOK:
        parts = urlsplit(row.address)
        return f"{parts.scheme}://{parts.netloc}/…"
    names = [one.strip() for one in row.address.split(",")]
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"


def rule_lines(scope: Scope, *, now: datetime) -> list[RuleLine]:
    """The organisation's rules in the order of their names."""
    rows = scope.rows(NotificationRule).select_related("channel").prefetch_related("resources")
    held = held_back(scope.organisation.pk, now=now)
    return [RuleLine(row=row, says=rule_words(row), held=held.get(row.pk, ())) for row in rows]


def rule_words(row: NotificationRule) -> str:
    """What a rule tells of and when, as a sentence goes on."""
    names = [one.name for one in row.resources.all()]
    worse = "" if row.least == max(Severity) else " or worse"
    said = [f"{Severity(row.least).words}{worse}, of {listed(names) if names else 'everything'}"]
    whom = [f"team {one}" for one in row.teams] + [f"workloads with {one}" for one in row.tags]
    if whom:
        said.append(f"concerning {listed(whom)}")
    if row.quiet:
        stalls = "" if row.grave_anyway else ", for stalls too"
        said.append(f"quiet {', '.join(row.quiet)} ({row.zone}){stalls}")
    if not row.tells_end:
        said.append("no word when it is over")
    return "; ".join(said)


def silences_now(scope: Scope, *, now: datetime) -> QuerySet[NotificationSilence]:
    """Those that have not ended."""
    return scope.rows(NotificationSilence).filter(until__gt=now).select_related("resource")


def silence_of(resource: Resource, *, now: datetime) -> ResourceSilence:
    """Whether anybody is told of a resource."""
    of_all = Q(organisation=resource.organisation_id)
    silences = NotificationSilence.objects.filter(of_all, until__gt=now)
    of_it = silences.filter(Q(resource=resource) | Q(resource=None)).order_by("-until")
    until, is_told = (
        Organisation.objects.filter(pk=resource.organisation_id)
        .annotate(
            silent_until=Subquery(of_it.values("until")[:1]),
            is_told=Exists(NotificationRule.objects.filter(of_all)),
        )
        .values_list("silent_until", "is_told")
        .get()
    )
    return ResourceSilence(until=until, is_told=is_told)


def delivery_rows(scope: Scope) -> QuerySet[Delivery]:
    """What became of messages, the newest first."""
    return scope.rows(Delivery).select_related("channel")
