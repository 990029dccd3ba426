"""What agents did and saw, window by window: limits in force, and the queues of allocations."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from django.db.models import (
    DateTimeField,
    DurationField,
    F,
    Func,
    Max,
    OuterRef,
    Q,
    Subquery,
    Sum,
    Value,
)
from django.db.models.expressions import RawSQL

from advisor.core.compliance import Measured, wants_more
from advisor.models import AdapterKind, Allocation, ComplianceRecord, Policy
from advisor.models.workload import allocation_id
from ingest.core.grid import EPOCH, Floats, Grid, microseconds
from ingest.grid_reader import array_of

LONGEST_REPORT = timedelta(minutes=5)
"""Reports over a longer time do not describe one window."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueReport:
    """The queue of one allocation over the `seconds` before `at`.

    `backlogged` says whether it wanted more, None means only at times. `backlog_bytes` waited at
    the end; `drops_per_s` packets were dropped. None is what the mechanism cannot measure.
    """

    at: datetime
    seconds: float
    backlogged: bool | None
    backlog_bytes: float | None
    drops_per_s: float | None

    @property
    def began_at(self) -> datetime:
        """The beginning of the reported time."""
        return self.at - timedelta(seconds=self.seconds)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class QueueColumns:
    """The queue of one allocation in each window, columns (windows); NaN is unknown.

    `backlogged` is 1 where it wanted more. `drops` are packets of the window.
    """

    backlogged: Floats
    backlog_bytes: Floats
    drops: Floats


def queue_columns(
    allocations: Mapping[int, Sequence[Allocation]], grid: Grid
) -> dict[int, QueueColumns]:
    """By allocation what its agent reported; an allocation without a report is left out.

    `allocations` are by resource; only those on kinds whose agents see queues count.
    """
    asked = [
        row
        for rows in allocations.values()
        for row in rows
        if row.adapter_kind == AdapterKind.VNIC
    ]
    reports = _queue_reports(asked, grid)
    return {key: _columns(found, grid) for key, found in reports.items()}


def _columns(reports: Sequence[QueueReport], grid: Grid) -> QueueColumns:
    found = np.full((3, grid.count), np.nan)
    for place, at in enumerate(grid.ends):
        queue = report_at(reports, at=at, window_s=grid.window_s)
        if queue is None:
            continue
        if queue.backlogged is not None:
            found[0, place] = queue.backlogged
        # Bytes that waited only once are not a standing queue.
        waits = queue.backlog_bytes if queue.backlogged else 0.0
        found[1, place] = np.nan if waits is None else waits
        if queue.drops_per_s is not None:
            found[2, place] = queue.drops_per_s * grid.window_s
    return QueueColumns(backlogged=found[0], backlog_bytes=found[1], drops=found[2])


def _queue_reports(
    allocations: Collection[Allocation], grid: Grid
) -> dict[int, list[QueueReport]]:
    """By allocation what its agent reported, oldest first, about one report per window."""
    found: dict[int, list[QueueReport]] = defaultdict(list)
    hosts = {allocation.host_id for allocation in allocations}
    if not hosts:
        return found
    rows = (
        ComplianceRecord.objects.filter(
            # A list: thousands of parameters of a statement cost more than its answer.
            host__in=RawSQL("SELECT unnest(%s::bigint[])", [array_of(hosts)]),
            reported_at__gt=grid.since - LONGEST_REPORT,
            reported_at__lte=grid.until + LONGEST_REPORT,
            sample_count__gt=0,
            window_s__gt=0,
        )
        .order_by()
        # Long windows hold many reports; adding them up is the database's work.
        .values("host_id", "allocation", window=_window_start(grid))
        .annotate(
            at=Max("reported_at"),
            seconds=Sum("window_s"),
            samples=Sum("sample_count"),
            backlogged=Sum("backlogged_samples"),
            waiting=Max("backlog_bytes"),
            dropped=Sum("drops"),
        )
        .order_by("at")
    )
    if not rows:
        return found
    names = {(row.host_id, allocation_id(row)): row.pk for row in allocations}
    for row in rows:
        allocation = names.get((row["host_id"], row["allocation"]))
        if allocation is not None:
            found[allocation].append(_report(row))
    return found


def _window_start(grid: Grid) -> Func:
    length = Value(timedelta(microseconds=grid.window_us), output_field=DurationField())
    return Func(
        length, F("reported_at"), Value(EPOCH), function="date_bin", output_field=DateTimeField()
    )


def _report(row: Mapping[str, Any]) -> QueueReport:
    measured = Measured(
        rate=None, sample_count=row["samples"], backlogged_samples=row["backlogged"]
    )
    return QueueReport(
        at=row["at"],
        seconds=row["seconds"],
        backlogged=wants_more(measured),
        backlog_bytes=row["waiting"],
        drops_per_s=None if row["dropped"] is None else row["dropped"] / row["seconds"],
    )


def report_at(
    reports: Sequence[QueueReport], *, at: datetime, window_s: float
) -> QueueReport | None:
    """The report for the window ending at `at`.

    It is the one that overlaps most; if the agent has not reported yet, the last one, unless more
    than its own length has passed since.
    """
    began_at = at - timedelta(seconds=window_s)
    place = bisect_right(reports, began_at, key=lambda one: one.at)
    best, most = None, timedelta(0)
    for one in reports[place:]:
        if one.began_at >= at:
            break
        shared = min(one.at, at) - max(one.began_at, began_at)
        if shared > most:
            best, most = one, shared
    if best is None and place > 0:
        last = reports[place - 1]
        best = last if began_at - last.at <= timedelta(seconds=last.seconds) else None
    return best


def limits_in_force(
    allocations: Mapping[int, Sequence[Allocation]], grid: Grid
) -> dict[int, Floats]:
    """By resource the limit of each of its allocations, (windows, allocations); NaN is none.

    A policy version is in force in the windows that end after it was created.
    """
    found = {
        resource: np.full((grid.count, len(rows)), np.nan)
        for resource, rows in allocations.items()
    }
    older = Policy.objects.filter(created_at__lte=grid.since, resource=OuterRef("resource"))
    versions = Policy.objects.filter(
        # The one that is in force as the grid begins, and the later ones.
        Q(created_at__gt=grid.since)
        | Q(version=Subquery(older.order_by("-version").values("version")[:1])),
        resource__in=list(allocations),
        created_at__lt=grid.until,
    )
    fields = ("resource_id", "created_at", "allocations")
    for resource, created_at, granted in versions.order_by("version").values_list(*fields):
        begin = int(np.searchsorted(grid.ends_us, microseconds(created_at), side="right"))
        found[resource][begin:] = _limits(granted, allocations[resource])
    return found


def _limits(granted: Sequence[Mapping[str, Any]], rows: Sequence[Allocation]) -> Floats:
    by_allocation = {item["allocation"]: item["limit"] for item in granted}
    return np.array([by_allocation.get(row.pk) for row in rows], dtype=np.float64)
