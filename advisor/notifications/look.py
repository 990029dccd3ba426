"""Find what an organisation's rules have to say now, and put it down to be sent.

What is told and that it was told are written in one transaction, under a lock of the rule: two
schedulers at once, or one that is killed, tell nothing twice and leave nothing out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from uuid import uuid4

from django.db import transaction

from advisor.core.notifying import (
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
    NotificationRule,
    NotificationSilence,
    ToldIncident,
)
from advisor.notifications.message import message_of
from advisor.pipeline.muting import maintenance_windows_of, muting_of, reservation_is_missed

MEMORY = timedelta(days=30)
"""What was told and is over is forgotten after so long; so old windows are not judged again."""


def organisations_with_rules() -> list[int]:
    """By their keys, in order."""
    rows = NotificationRule.objects.order_by("organisation").values_list("organisation", flat=True)
    return list(rows.distinct())


def rule_of(row: NotificationRule, resources: Iterable[Resource]) -> Rule:
    """The rule that a row states of these resources; of all, without any."""
    return Rule(
        name=row.name,
        least=Severity(row.least),
        resources=frozenset(one.name for one in resources),
        quiet=tuple(row.quiet),
        zone=row.zone,
        grave_anyway=row.grave_anyway,
        tells_end=row.tells_end,
    )


def look(organisation: int, *, now: datetime) -> int:
    """Put down the messages that are due now; how many they are."""
    rules = NotificationRule.objects.filter(organisation=organisation)
    return sum(_look_by(pk, now) for pk in rules.values_list("pk", flat=True))


def held_back(row: NotificationRule, *, now: datetime) -> tuple[Held, ...]:
    """What the rule does not tell now, and why, for people who wonder."""
    troubles = [trouble for trouble, _ in _troubles(row, [], now)]
    return _outcome(row, troubles, _told_rows(row), now).held


@transaction.atomic
def _look_by(rule: int, now: datetime) -> int:
    row = (
        NotificationRule.objects.select_for_update(skip_locked=True, of=("self",), no_key=True)
        .select_related("channel")
        .filter(pk=rule)
        .first()
    )
    if row is None or row.channel.stopped_at is not None:
        return 0
    rows = _told_rows(row)
    found = list(_troubles(row, rows, now))
    incidents = dict(found)
    outcome = _outcome(row, [*incidents], rows, now)
    by_key = {one.pk: one for one in rows}
    for due in outcome.due:
        told = _note(row, due, by_key)
        _put_down(row, told, due, incidents.get(due.trouble), now)
    ToldIncident.objects.filter(rule=row, is_over=True, since__lt=now - MEMORY).delete()
    return len(outcome.due)


def _outcome(
    row: NotificationRule, troubles: Sequence[Trouble], rows: Sequence[ToldIncident], now: datetime
) -> Outcome:
    rule = rule_of(row, row.resources.all())
    return news_of(rule, troubles, _told(rows), _silences(row, now), now)


def _told_rows(row: NotificationRule) -> Sequence[ToldIncident]:
    return list(ToldIncident.objects.filter(rule=row).select_related("resource"))


def _told(rows: Sequence[ToldIncident]) -> list[Told]:
    return [
        Told(
            key=row.pk,
            resource=row.resource.name,
            since=row.since,
            until=row.until,
            severity=Severity(row.severity),
            is_over=row.is_over,
        )
        for row in rows
    ]


def _silences(row: NotificationRule, now: datetime) -> list[Silence]:
    rows = NotificationSilence.objects.filter(
        organisation=row.organisation_id, until__gt=now
    ).select_related("resource")
    return [
        Silence(until=one.until, resource=one.resource.name if one.resource else "")
        for one in rows
    ]


def _troubles(
    row: NotificationRule, told: Sequence[ToldIncident], now: datetime
) -> Iterator[tuple[Trouble, Incident]]:
    """All open incidents, and those that ended since what was told and is not over yet began."""
    rows = Incident.objects.filter(organisation=row.organisation_id).defer("evidence", "tally")
    found = list(rows.filter(ended_at=None).select_related("resource__status"))
    waiting = [one.resource_id for one in told if not one.is_over]
    if waiting:
        since = min(one.since for one in told if not one.is_over) - timedelta(hours=1)
        ended = rows.filter(resource__in=waiting, ended_at__gte=since)
        found += list(ended.select_related("resource__status"))
    planned = maintenance_windows_of(row.organisation_id) if found else []
    for incident in found:
        is_muted = muting_of(incident, planned, now=now).muted
        yield _trouble(incident, is_muted=is_muted), incident


def _trouble(incident: Incident, *, is_muted: bool) -> Trouble:
    severity = Severity.CONGESTED
    if reservation_is_missed(incident):
        severity = Severity.PROMISE_MISSED
    if incident.stalled_windows:
        severity = Severity.STALLED
    return Trouble(
        resource=incident.resource.name,
        since=incident.started_at,
        until=incident.ended_at,
        severity=severity,
        is_muted=is_muted,
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
    told.save()
    return told


def _put_down(
    row: NotificationRule, told: ToldIncident, due: Due, incident: Incident | None, now: datetime
) -> None:
    message = message_of(incident, due.trouble, due.news, now=now)
    Delivery.objects.create(
        organisation_id=row.organisation_id,
        channel=row.channel,
        told=told,
        key=uuid4(),
        news=due.news,
        message=message.plain(),
        next_at=now,
        created_at=now,
    )
