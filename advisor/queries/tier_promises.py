"""What was kept of promises in the last day, by tier: for the first page."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.core.cache import cache

from advisor.core.reporting.period import DAY, Period
from advisor.core.reporting.promise import PromiseMinutes, added
from advisor.core.resource import Tier
from advisor.models import Team
from advisor.queries.report_incidents import read_losses
from advisor.queries.report_minutes import read_promise_minutes
from advisor.queries.report_subject import ReportSubject, reported_of
from advisor.queries.scope import Scope

REMEMBERED_S = 300
"""A minute more or less changes little of a day."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TierPromise:
    """The workloads of a tier, so many of them `promised` something, and what incidents took."""

    tier: str
    workloads: int
    promised: int
    minutes: PromiseMinutes
    lost_min: float

    @property
    def kept_percent(self) -> float | None:
        """None if as much as is reserved was never wanted."""
        ratio = self.minutes.kept_ratio
        return None if ratio is None else 100 * ratio


def tier_promises(scope: Scope, *, now: datetime, team: Team | None = None) -> list[TierPromise]:
    """Each tier that has workloads, the highest first; as a report of the day counts them.

    Kept for five minutes.
    """
    of = "all" if team is None else f"team-{team.pk}"
    slot = int(now.timestamp()) // REMEMBERED_S
    found = cache.get_or_set(
        f"promises-{scope.organisation.pk}-{of}-{slot}",
        lambda: _read(scope, now, team),
        timeout=REMEMBERED_S,
    )
    return list(found or ())


def _read(scope: Scope, now: datetime, team: Team | None) -> list[TierPromise]:
    subject = ReportSubject(organisation=scope.organisation, team=team)
    period = _last_day(now)
    reported = reported_of(subject, since=period.since, promised_only=True)
    minutes = read_promise_minutes(reported.allocations, period, reserved_only=True)
    losses = read_losses(subject, reported, period, now=now)
    by_tier: dict[str, list[int]] = defaultdict(list)
    for key, workload in reported.workloads.items():
        by_tier[workload.tier].append(key)
    own: dict[int, PromiseMinutes] = defaultdict(PromiseMinutes)
    promised = set()
    for one in reported.allocations:
        if one.pk in minutes:
            own[one.workload_id] += minutes[one.pk]
        if one.reservation or minutes.get(one.pk, PromiseMinutes()).asked:
            promised.add(one.workload_id)
    return [
        TierPromise(
            tier=tier,
            workloads=len(by_tier[tier]),
            promised=len(promised.intersection(by_tier[tier])),
            minutes=added(own[key] for key in by_tier[tier]),
            lost_min=sum(losses.lost_min.get(key, 0.0) for key in by_tier[tier]),
        )
        for tier in (str(one) for one in Tier)
        if tier in by_tier
    ]


def _last_day(now: datetime) -> Period:
    until = now.replace(second=0, microsecond=0)
    since = until - DAY
    return Period(
        first=since.date(),
        last=(until - timedelta(minutes=1)).date(),
        zone="UTC",
        since=since,
        until=until,
        is_over=True,
    )
