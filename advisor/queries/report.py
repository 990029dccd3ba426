"""All of a report: what was promised, kept and lost in a period, and by whose doing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from advisor.core.natural_order import natural_key
from advisor.core.reporting.period import Period
from advisor.core.reporting.promise import PromiseMinutes, added
from advisor.core.reporting.report import Report, ReportedActions, ReportedWorkload
from advisor.history.stored.retention import exact_since
from advisor.models import Allocation, Workload
from advisor.queries.report_incidents import Losses, read_losses
from advisor.queries.report_minutes import read_promise_minutes
from advisor.queries.report_resources import (
    read_actions,
    read_full_days,
    read_latencies,
    reported_resources,
)
from advisor.queries.report_subject import ReportSubject, reported_of

NO_PROMISE = "nothing is reserved for it"
NOT_MEASURED = "not measured"
NEVER_ASKED = "it never wanted as much as is reserved"


def read_report(
    subject: ReportSubject, period: Period, *, now: datetime, promises_only: bool = False
) -> Report:
    """The subject's report, the workloads with most that was missed first.

    With `promises_only` it says nothing of latencies, of what was done and of what becomes full.
    """
    reported = reported_of(subject, since=period.since)
    minutes = read_promise_minutes(reported.allocations, period)
    losses = read_losses(subject, reported, period, now=now)
    resources = [] if promises_only else reported_resources(subject, reported)
    lines = [
        _line(reported.workloads[key], own, minutes, losses) for key, own in reported.by_workload()
    ]
    return Report(
        organisation=subject.organisation.name,
        subject=subject.text,
        period=period,
        made_at=now,
        workloads=tuple(sorted(lines, key=_order)),
        minutes=added(minutes.values()),
        lost_min=sum(losses.lost_min.values()),
        incidents=losses.incidents,
        gaps=tuple(_gaps(subject, period, lines, now=now)),
        latencies=tuple(read_latencies(resources, period)),
        actions=read_actions(subject, reported, resources, period)
        if resources
        else ReportedActions(),
        full_days=tuple(read_full_days(resources)) if resources else (),
    )


def _line(
    workload: Workload,
    allocations: Sequence[Allocation],
    minutes: dict[int, PromiseMinutes],
    losses: Losses,
) -> ReportedWorkload:
    known = [minutes[one.pk] for one in allocations if one.pk in minutes]
    own = added(known)
    gap = NEVER_ASKED if own.measured else NOT_MEASURED
    if not any(one.reservation for one in allocations) and not own.asked:
        gap = NO_PROMISE
    return ReportedWorkload(
        name=workload.name,
        tier=workload.tier,
        resources=tuple(sorted({one.resource.name for one in allocations}, key=natural_key)),
        minutes=own,
        lost_min=losses.lost_min.get(workload.pk, 0.0),
        incidents=losses.count.get(workload.pk, 0),
        gap="" if own.asked else gap,
    )


def _order(line: ReportedWorkload) -> tuple[float, float, str]:
    return line.minutes.kept - line.minutes.asked, -line.lost_min, natural_key(line.name)


def _gaps(
    subject: ReportSubject,
    period: Period,
    lines: Sequence[ReportedWorkload],
    *,
    now: datetime,
) -> Iterator[str]:
    """What the report could not know, and what is unusual about its days."""
    if not lines:
        yield "There were no such workloads in this period."
    elif all(one.gap == NO_PROMISE for one in lines):
        yield "Nothing was reserved for any of these workloads, so there is no promise to keep."
    elif not any(one.minutes.measured for one in lines):
        yield "Nothing was measured of these workloads in this period."
    begins = exact_since([subject.organisation.pk], now=now)[subject.organisation.pk]
    if begins > period.since:
        yield (
            f"Single minutes before {begins:%Y-%m-%d %H:%M} UTC are not kept any more; "
            "they count as not measured."
        )
    if changed := period.changed_min:
        word = "longer" if changed > 0 else "shorter"
        yield (
            f"Clocks change in this period: it is {abs(changed):.0f} minutes {word} "
            "than its days, and is counted as it was."
        )
