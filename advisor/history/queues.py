"""The kernel queue of each allocation from agents' reports, window by window."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models import DateTimeField, DurationField, F, Func, Max, Sum, Value

from advisor.core.compliance import Measured, wants_more
from advisor.history.windows import Span
from advisor.models import Allocation, ComplianceRecord
from advisor.models.workload import allocation_id

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
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


def queue_reports(
    allocations: Collection[Allocation], *, span: Span
) -> dict[int, list[QueueReport]]:
    """By allocation what its agent reported about the span, oldest first, about one per window."""
    found: dict[int, list[QueueReport]] = {allocation.pk: [] for allocation in allocations}
    if not allocations:
        return found
    names = {
        (allocation.host_id, allocation_id(allocation)): allocation.pk
        for allocation in allocations
    }
    rows = (
        ComplianceRecord.objects.filter(
            host__in={host for host, _ in names},
            allocation__in=[name for _, name in names],
            reported_at__gt=span.since - LONGEST_REPORT,
            reported_at__lte=span.until + LONGEST_REPORT,
            sample_count__gt=0,
            window_s__gt=0,
        )
        .order_by()
        # Long windows hold many reports; adding them up is the database's work.
        .values("host_id", "allocation", window=_window_start(span))
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
    for row in rows:
        allocation = names.get((row["host_id"], row["allocation"]))
        if allocation is not None:
            found[allocation].append(_report(row))
    return found


def _window_start(span: Span) -> Func:
    length = Value(timedelta(seconds=span.window_s), output_field=DurationField())
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
