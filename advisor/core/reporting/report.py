"""A report, as it is written down: what people and programs read of a period."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from advisor.core.reporting.period import Period
from advisor.core.reporting.promise import PromiseMinutes


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
