"""How an organisation's fleet is now, as numbers for charts and alarms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

import redis
from django.db.models import Sum

from accounts.models import Organisation
from advisor.core.notifying import Severity
from advisor.history.policy_reports import REPORT_GRACE
from advisor.models import ComplianceRecord, Delivery, Enforcer, Incident, Resource
from advisor.models.notification import DeliveryState
from advisor.notifications.look import severity_of
from advisor.pipeline import work_figures
from advisor.pipeline.work_figures import TaskTotal
from ingest.models import RejectedLine

LATELY = timedelta(minutes=10)
DAY = timedelta(days=1)
SILENT, NEVER_REPORTED = "silent", "never_reported"
"""States of an agent that does not tell one itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceLevel:
    """What is known of one resource; `level` and `threshold` are in ms or a ratio."""

    resource: str
    kind: str
    state: str
    level: float | None
    threshold: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetFigures:
    """Counts by state; of allocations by what their newest report within ten minutes says.

    `tasks` are of the whole installation, None if the queue's server does not answer.
    """

    resources: tuple[ResourceLevel, ...]
    incidents: Mapping[str, int]
    agents: Mapping[str, int]
    outcomes: Mapping[str, int]
    verdicts: Mapping[str, int]
    refused_lines: int
    given_up_messages: int
    tasks: tuple[TaskTotal, ...] | None


def fleet_figures(*, organisation: Organisation, now: datetime) -> FleetFigures:
    """All of it, in a fixed number of statements."""
    reports = _newest_reports(organisation, now)
    refused = RejectedLine.objects.filter(
        organisation=organisation, received_at__gte=now - LATELY
    ).aggregate(lines=Sum("line_count"))
    given_up = Delivery.objects.filter(
        organisation=organisation, state=DeliveryState.GIVEN_UP, created_at__gte=now - DAY
    )
    return FleetFigures(
        resources=_resources(organisation),
        incidents=_open_incidents(organisation),
        agents=_agents(organisation, now),
        outcomes=Counter(outcome for outcome, _ in reports),
        verdicts=Counter(verdict for _, verdict in reports),
        refused_lines=refused["lines"] or 0,
        given_up_messages=given_up.count(),
        tasks=_tasks(),
    )


def _resources(organisation: Organisation) -> tuple[ResourceLevel, ...]:
    rows = Resource.objects.filter(organisation=organisation, status__isnull=False)
    columns = ("name", "kind", "status__state", "status__value", "status__threshold")
    found = rows.order_by("name", "pk").values_list(*columns)
    return tuple(
        ResourceLevel(resource=name, kind=kind, state=state, level=level, threshold=threshold)
        for name, kind, state, level, threshold in found
    )


def _open_incidents(organisation: Organisation) -> Mapping[str, int]:
    """Every severity has a number, so that an alarm on one sees it fall to 0."""
    found = Incident.objects.filter(organisation=organisation, ended_at=None)
    counts = Counter(severity_of(one) for one in found)
    return {one.name.lower(): counts[one] for one in Severity}


def _agents(organisation: Organisation, now: datetime) -> Mapping[str, int]:
    rows = Enforcer.objects.filter(host__organisation=organisation).order_by()
    return Counter(
        _agent_state(state, last_report_at, now)
        for state, last_report_at in rows.values_list("enforcement_state", "last_report_at")
    )


def _agent_state(state: str, last_report_at: datetime | None, now: datetime) -> str:
    if last_report_at is None:
        return NEVER_REPORTED
    return SILENT if now - last_report_at > REPORT_GRACE else state


def _newest_reports(organisation: Organisation, now: datetime) -> list[tuple[str, str]]:
    rows = ComplianceRecord.objects.filter(
        organisation=organisation, reported_at__gte=now - LATELY
    )
    newest = rows.order_by("host_id", "allocation", "-reported_at").distinct(
        "host_id", "allocation"
    )
    return list(newest.values_list("outcome", "verdict"))


def _tasks() -> tuple[TaskTotal, ...] | None:
    try:
        return work_figures.task_totals()
    except redis.RedisError:
        return None
