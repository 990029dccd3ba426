"""Find what an organisation's rules have to say now, and put it down to be sent.

What is told and that it was told are written in one transaction, under a lock of the rule: two
schedulers at once, or one that is killed, tell nothing twice and leave nothing out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import uuid4

from django.db import transaction
from django.db.models import Q, QuerySet

from advisor.core.notifying import (
    REOPENS,
    Due,
    Held,
    News,
    Outcome,
    Rule,
    Severity,
    Silence,
    Told,
    Trouble,
    news_of,
)
from advisor.models import Incident, Resource
from advisor.models.notification import (
    Delivery,
    DeliveryState,
    NotificationRule,
    NotificationSilence,
    ToldIncident,
)
from advisor.notifications.concerned import tags_of_incidents, tags_of_rules
from advisor.notifications.gather import send_together
from advisor.notifications.message import message_of
from advisor.pipeline.muting import maintenance_windows_of, muting_of, reservation_is_missed

MEMORY = timedelta(days=30)
"""What is over, sent or given up is forgotten after so long."""
BACK = timedelta(hours=1)
"""How far before what was told began an incident is looked for: it may have been moved."""


def organisations_with_rules() -> list[int]:
    """By their keys, in order."""
    rows = NotificationRule.objects.order_by("organisation").values_list("organisation", flat=True)
    return list(rows.distinct())


def rule_of(
    row: NotificationRule, resources: Iterable[Resource], tags: frozenset[str] | None
) -> Rule:
    """The rule that a row states of these resources and tags; of all, without any."""
    return Rule(
        name=row.name,
        least=Severity(row.least),
        resources=frozenset(one.name for one in resources),
        tags=tags,
        quiet=tuple(row.quiet),
        zone=row.zone,
        digest=row.channel.digest,
        grave_anyway=row.grave_anyway,
        tells_end=row.tells_end,
    )


def look(organisation: int, *, now: datetime) -> int:
    """Put down the messages that are due now; how many are to be sent at once.

    It asks the database as often for many rules and incidents as for few.
    """
    with transaction.atomic():
        rows = list(
            _rules(organisation).select_for_update(skip_locked=True, of=("self",), no_key=True)
        )
        state = _State.of(organisation, rows, now)
        put_down = sum(_look_by(row, state) for row in rows if row.channel.stopped_at is None)
        return put_down + send_together(organisation, now=now)


def held_back(organisation: int, *, now: datetime) -> dict[int, tuple[Held, ...]]:
    """What is not told now by each rule, and why, for people who wonder."""
    rows = list(_rules(organisation))
    state = _State.of(organisation, rows, now)
    return {row.pk: state.outcome(row).held for row in rows}


def forget_old(*, now: datetime) -> None:
    """Delete what was told, sent or given up, and silences, of long ago."""
    before = now - MEMORY
    ToldIncident.objects.filter(is_over=True, since__lt=before).delete()
    ended = [DeliveryState.SENT, DeliveryState.GIVEN_UP]
    Delivery.objects.filter(state__in=ended, created_at__lt=before).delete()
    NotificationSilence.objects.filter(until__lt=before).delete()


def _rules(organisation: int) -> QuerySet[NotificationRule]:
    rows = NotificationRule.objects.filter(organisation=organisation)
    return rows.select_related("channel").prefetch_related("resources")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _State:
    """All that the rules of an organisation are judged by, read once."""

    now: datetime
    told: Mapping[int, Sequence[ToldIncident]]
    gathered_until: Mapping[int, datetime]
    incidents: Mapping[Trouble, Incident]
    silences: Sequence[Silence]
    tags: Mapping[int, frozenset[str] | None]

    @classmethod
    def of(cls, organisation: int, rules: Sequence[NotificationRule], now: datetime) -> _State:
        told: dict[int, list[ToldIncident]] = defaultdict(list)
        gathered = Delivery.objects.filter(organisation=organisation, state=DeliveryState.GATHERED)
        gathered_until = dict(gathered.values_list("told", "next_at"))
        rows = ToldIncident.objects.filter(organisation=organisation).filter(
            Q(is_over=False) | Q(until__gt=now - REOPENS) | Q(pk__in=gathered_until)
        )
        for row in rows.select_related("resource"):
            told[row.rule_id].append(row)
        waiting = [row for own in told.values() for row in own if not row.is_over]
        tags = tags_of_rules(organisation, rules)
        asks_whom = any(one is not None for one in tags.values())
        return cls(
            now=now,
            told=told,
            gathered_until=gathered_until,
            incidents=dict(_troubles(organisation, waiting, now, asks_whom=asks_whom)),
            silences=_silences(organisation, now),
            tags=tags,
        )

    def outcome(self, row: NotificationRule) -> Outcome:
        rule = rule_of(row, row.resources.all(), self.tags[row.pk])
        told = _told(self.told.get(row.pk, ()), self.gathered_until)
        return news_of(rule, [*self.incidents], told, self.silences, self.now)


def _look_by(row: NotificationRule, state: _State) -> int:
    by_key = {one.pk: one for one in state.told.get(row.pk, ())}
    outcome = state.outcome(row)
    for ended in outcome.ended:
        ToldIncident.objects.filter(pk=ended.key).update(is_over=True, until=state.now)
    # What was false before anybody was told of it is told to nobody.
    ToldIncident.objects.filter(pk__in=[one.key for one in outcome.unsaid]).delete()
    for due in outcome.due:
        told = _note(row, due, by_key)
        _put_down(row, told, due, state.incidents.get(due.trouble), state.now)
    return sum(due.at is None for due in outcome.due)


def _told(rows: Sequence[ToldIncident], gathered_until: Mapping[int, datetime]) -> list[Told]:
    return [
        Told(
            key=row.pk,
            resource=row.resource.name,
            since=row.since,
            until=row.until,
            severity=Severity(row.severity),
            is_over=row.is_over,
            gathered_until=gathered_until.get(row.pk),
            is_said=row.is_said,
        )
        for row in rows
    ]


def _silences(organisation: int, now: datetime) -> list[Silence]:
    rows = NotificationSilence.objects.filter(
        organisation=organisation, until__gt=now
    ).select_related("resource")
    return [
        Silence(until=one.until, resource=one.resource.name if one.resource else "")
        for one in rows
    ]


def _troubles(
    organisation: int, waiting: Sequence[ToldIncident], now: datetime, *, asks_whom: bool
) -> Iterator[tuple[Trouble, Incident]]:
    """All open incidents, and those that ended since what was told and is not over yet began.

    Whom each concerns is looked for if a rule asks.
    """
    rows = Incident.objects.filter(organisation=organisation).defer("evidence", "tally")
    wanted = Q(ended_at=None)
    if waiting:
        since = min(one.since for one in waiting) - BACK
        wanted |= Q(resource__in={one.resource_id for one in waiting}, ended_at__gte=since)
    found = list(rows.filter(wanted).select_related("resource"))
    planned = maintenance_windows_of(organisation) if found else []
    tags = tags_of_incidents(organisation, found) if asks_whom else {}
    for incident in found:
        is_muted = muting_of(incident, planned, now=now).muted
        own = tags.get(incident.pk, frozenset())
        yield _trouble(incident, is_muted=is_muted, tags=own), incident


def severity_of(incident: Incident) -> Severity:
    """How grave it has been so far."""
    if incident.stalled_windows:
        return Severity.STALLED
    is_missed = reservation_is_missed(incident)
    return Severity.PROMISE_MISSED if is_missed else Severity.CONGESTED


def _trouble(incident: Incident, *, is_muted: bool, tags: frozenset[str]) -> Trouble:
    return Trouble(
        resource=incident.resource.name,
        since=incident.started_at,
        until=incident.ended_at,
        severity=severity_of(incident),
        is_muted=is_muted,
        tags=tags,
    )


def _note(row: NotificationRule, due: Due, by_key: dict[int, ToldIncident]) -> ToldIncident:
    told = by_key.get(due.told.key) if due.told else None
    if told is None:
        resource = Resource.objects.get(
            organisation=row.organisation_id, name=due.trouble.resource
        )
        told = ToldIncident(
            organisation_id=row.organisation_id, rule=row, resource=resource,
            since=due.trouble.since,
        )  # fmt: skip
    told.since = min(told.since, due.trouble.since)
    told.until = due.trouble.until
    told.severity = due.trouble.severity
    told.is_over = due.news == News.OVER
    told.is_said = due.at is None or (told.pk is not None and told.is_said)
    told.save()
    return told


def _put_down(
    row: NotificationRule, told: ToldIncident, due: Due, incident: Incident | None, now: datetime
) -> None:
    if due.told and due.told.gathered_until:
        # The newer one says all that it said.
        Delivery.objects.filter(told=told, state=DeliveryState.GATHERED).delete()
    message = message_of(incident, due.trouble, due.news, now=now)
    Delivery.objects.create(
        organisation_id=row.organisation_id,
        channel=row.channel,
        told=told,
        key=uuid4(),
        news=due.news,
        message=message.plain(),
        state=DeliveryState.WAITING if due.at is None else DeliveryState.GATHERED,
        next_at=due.at or now,
        created_at=now,
    )
