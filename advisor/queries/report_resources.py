"""What a report says of storage and networks: latency, what was done, and when they are full."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from django.db.models import Avg, Count, Q, QuerySet

from advisor.core.natural_order import natural_key
from advisor.core.reporting.period import DAY, Period
from advisor.core.reporting.report import (
    ReportedAction,
    ReportedActions,
    ReportedFullDay,
    ReportedLatency,
    ReportedRate,
)
from advisor.history.levels import Levels, read_levels
from advisor.models import DemandOutlook, Policy, PredictionScore, Resource
from advisor.queries.report_subject import Reported, ReportSubject

MOST_TOGETHER = 50
"""Datastores whose windows are held at once, 4 bytes each."""
MOST_ACTIONS = 30
MOST_RATES = 3
"""Of the workloads of a policy, those that changed most."""
P95, P99 = 95, 99
RESTORED = "what was in force before was restored"
NOT_NAMED = "the policy of what they share was changed"
"""Of a team or a tag; what is advised names workloads of others."""
NOT_SCORED = "not scored yet"


def reported_resources(subject: ReportSubject, reported: Reported) -> list[Resource]:
    """Those that its workloads use, or all of the organisation, in the order of their names."""
    rows = Resource.objects.filter(organisation=subject.organisation)
    if not subject.is_whole:
        rows = rows.filter(pk__in={one.resource_id for one in reported.allocations})
    return sorted(rows, key=lambda one: natural_key(one.name))


def read_latencies(resources: Sequence[Resource], period: Period) -> Iterator[ReportedLatency]:
    """Of each datastore on which there was I/O."""
    stores = [one for one in resources if not one.traits.latency_gap]
    for begin in range(0, len(stores), MOST_TOGETHER):
        part = stores[begin : begin + MOST_TOGETHER]
        values: dict[int, list[npt.NDArray[np.float32]]] = {one.pk: [] for one in part}
        newest: dict[int, float] = {}
        since = period.since
        while since < period.until:
            until = min(since + DAY, period.until)
            for key, levels in read_levels(part, since=since, until=until).items():
                _add(key, levels, values, newest)
            since = until
        for one in part:
            found = _latency(one, np.concatenate(values[one.pk] or [NONE]), newest.get(one.pk))
            if found is not None:
                yield found


NONE = np.zeros(0, dtype=np.float32)


def _add(
    key: int,
    levels: Levels,
    values: Mapping[int, list[npt.NDArray[np.float32]]],
    newest: dict[int, float],
) -> None:
    values[key].append(levels.value[~np.isnan(levels.value)].astype(np.float32))
    thresholds = levels.threshold[~np.isnan(levels.threshold)]
    if len(thresholds):
        newest[key] = float(thresholds[-1])


def _latency(
    resource: Resource, values: npt.NDArray[np.float32], threshold: float | None
) -> ReportedLatency | None:
    if not len(values):
        return None
    # As PostgreSQL's percentile_disc: a value that was measured.
    p95, p99 = np.percentile(values, [P95, P99], method="inverted_cdf")
    return ReportedLatency(
        resource=resource.name,
        p95_ms=float(p95),
        p99_ms=float(p99),
        threshold_ms=threshold,
        windows=len(values),
    )


def read_actions(
    subject: ReportSubject, reported: Reported, resources: Collection[Resource], period: Period
) -> ReportedActions:
    """The policies that were published in the period, the newest first; three statements."""
    rows = Policy.objects.filter(
        organisation=subject.organisation,
        resource__in=[one.pk for one in resources],
        created_at__gte=period.since,
        created_at__lt=period.until,
    )
    newest = rows.select_related("resource", "recommendation__prediction_score").defer(
        "allocations", "pools", "recommendation__inputs", "recommendation__answer"
    )
    shown = newest.order_by("-created_at", "-pk")[:MOST_ACTIONS]
    total = _scores(rows).aggregate(
        scored=Count("pk"), kept=Count("pk", filter=Q(held=True)), error=Avg("error_ratio")
    )
    return ReportedActions(
        rows=tuple(_action(row, subject, reported) for row in shown),
        count=rows.count(),
        scored=total["scored"],
        held=total["kept"],
        error_ratio=total["error"],
    )


def _scores(policies: QuerySet[Policy]) -> QuerySet[PredictionScore]:
    advised = policies.order_by().values("recommendation")
    return PredictionScore.objects.filter(recommendation__in=advised)


def _action(row: Policy, subject: ReportSubject, reported: Reported) -> ReportedAction:
    advice = row.recommendation
    score: PredictionScore | None = getattr(advice, "prediction_score", None)
    summary = RESTORED if advice is None else advice.summary
    gap = "" if advice is None else advice.score_gap or NOT_SCORED
    return ReportedAction(
        resource=row.resource.name,
        at=row.created_at,
        summary=summary if subject.is_whole else NOT_NAMED,
        rates=() if score is None else _rates(row, score, subject, reported),
        held=None if score is None else score.held,
        error_ratio=None if score is None else score.error_ratio,
        gap="" if score is not None else gap,
    )


def _rates(
    row: Policy, score: PredictionScore, subject: ReportSubject, reported: Reported
) -> tuple[ReportedRate, ...]:
    own = [
        one
        for one in score.rates
        if one.get("predicted") is not None
        and "workload" in one
        and (subject.is_whole or reported.named(one["workload"], at=row.created_at) is not None)
    ]
    return tuple(
        ReportedRate(
            workload=one["workload"],
            unit=row.resource.unit,
            before=one.get("before"),
            predicted=one["predicted"],
            measured=one["measured"],
        )
        for one in sorted(own, key=_change, reverse=True)[:MOST_RATES]
    )


def _change(rate: Mapping[str, Any]) -> float:
    return abs(float(rate["measured"]) - float(rate.get("before") or 0.0))


def read_full_days(resources: Collection[Resource]) -> Iterator[ReportedFullDay]:
    """Of resources and pools of which a day is foretold, the soonest first; one statement."""
    rows = DemandOutlook.objects.filter(
        resource__in=[one.pk for one in resources], soonest_day__isnull=False
    )
    for row in rows.select_related("resource", "pool").order_by("soonest_day", "resource", "pk"):
        assert row.soonest_day is not None
        name = row.resource.name
        yield ReportedFullDay(
            subject=f"pool {row.pool.name} of {name}" if row.pool else name,
            soonest=row.soonest_day,
            median=row.median_day,
            latest=row.latest_day,
            until=row.until_day,
        )
