"""A report, as it is written down: what people and programs read of a period."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import date, datetime

from advisor.core.reporting.period import Period
from advisor.core.reporting.promise import PromiseMinutes, added
from advisor.core.resource import Tier


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedWorkload:
    """One workload over all its allocations.

    `lost_min` are minutes of full service that incidents took from it. `gap` says why there is no
    ratio of its promise; empty if there is one.
    """

    name: str
    tier: str
    resources: tuple[str, ...]
    minutes: PromiseMinutes
    lost_min: float
    incidents: int
    gap: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedIncident:
    """One time in which a resource was congested; `minutes` and `lost_min` are in the period.

    `victims` and `culprits` are names, the worst first. `planned` names the maintenance window
    that explains it, so that nothing is counted as lost.
    """

    resource: str
    since: datetime
    until: datetime | None
    minutes: float
    lost_min: float
    victims: tuple[str, ...]
    culprits: tuple[str, ...]
    planned: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedIncidents:
    """Those of `count` that took the most."""

    rows: tuple[ReportedIncident, ...]
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedLatency:
    """How long an I/O took on a datastore: on the mean of a window, in 95 and 99 % of windows.

    `windows` are those in which there was I/O. `threshold_ms` is the newest, None if none is set.
    """

    resource: str
    p95_ms: float
    p99_ms: float
    threshold_ms: float | None
    windows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedRate:
    """What a workload got before a policy, what was predicted, and what was measured."""

    workload: str
    unit: str
    before: float | None
    predicted: float
    measured: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedAction:
    """A policy that was published; `rates` are of the workloads that changed most.

    `held` says whether its prediction came true, `error_ratio` is the mean error as a part of the
    capacity. Both are None where it was not scored, and `gap` says why.
    """

    resource: str
    at: datetime
    summary: str
    rates: tuple[ReportedRate, ...]
    held: bool | None
    error_ratio: float | None
    gap: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedActions:
    """The newest of `count`; how many of `scored` predictions held, and their mean error."""

    rows: tuple[ReportedAction, ...] = ()
    count: int = 0
    scored: int = 0
    held: int = 0
    error_ratio: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedFullDay:
    """When demand reaches what a resource or a pool has: between two days, in 80 % of outcomes.

    `latest` is None beyond `until`, the last day that is foretold.
    """

    subject: str
    soonest: date
    median: date | None
    latest: date | None
    until: date | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What was promised, kept and lost in a period; `subject` is whose report it is.

    `lost_min` is over all workloads. `gaps` are sentences on what the report could not know.
    """

    organisation: str
    subject: str
    period: Period
    made_at: datetime
    workloads: tuple[ReportedWorkload, ...]
    minutes: PromiseMinutes
    lost_min: float
    incidents: ReportedIncidents
    gaps: tuple[str, ...]
    latencies: tuple[ReportedLatency, ...] = ()
    actions: ReportedActions = ReportedActions()
    full_days: tuple[ReportedFullDay, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedTier:
    """All workloads of a tier together."""

    tier: str
    workloads: int
    minutes: PromiseMinutes
    lost_min: float


def by_tier(report: Report) -> list[ReportedTier]:
    """The tiers that have workloads, those that are promised most first."""
    own: dict[str, list[ReportedWorkload]] = defaultdict(list)
    for one in report.workloads:
        own[one.tier].append(one)
    order = list(map(str, Tier))
    return [
        ReportedTier(
            tier=tier,
            workloads=len(rows),
            minutes=added(one.minutes for one in rows),
            lost_min=sum(one.lost_min for one in rows),
        )
        for tier, rows in sorted(own.items(), key=lambda item: order.index(item[0]))
    ]
