"""What agents saw of allocations at their limits, from their reports."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime

import numpy as np

from advisor.core.detection.micro_burst import LimitLooks, looks_at_queue
from advisor.core.resource import Unit
from advisor.history.agents import is_queued
from advisor.models import Allocation, ComplianceRecord
from advisor.models.workload import allocation_id
from enforcers.contract import IoCount

_FIELDS = (
    "measured",
    "applied__limit",
    "backlog_bytes",
    "overlimits",
    "short_looks",
    "full_looks",
)
BITS = 8


def read_limit_looks(
    allocations: Sequence[Allocation], *, since: datetime, until: datetime
) -> dict[int, LimitLooks]:
    """Those of reports in (since, until], by allocation, oldest first, in one statement.

    An allocation without a report is left out, and one whose limit counts otherwise than its
    rate.
    """
    asked = [row for row in allocations if row.io_count == IoCount.PLAIN]
    names = {(row.host_id, allocation_id(row)): row for row in asked}
    if not names:
        return {}
    rows = ComplianceRecord.objects.filter(
        host__in={host for host, _ in names},
        allocation__in={name for _, name in names},
        reported_at__gt=since,
        reported_at__lte=until,
    ).order_by("reported_at")
    found: dict[Allocation, list[tuple[float | None, ...]]] = defaultdict(list)
    for host, name, *report in rows.values_list("host_id", "allocation", *_FIELDS):
        if row := names.get((host, name)):
            found[row].append(tuple(report))
    return {row.pk: _looks(row, reports) for row, reports in found.items()}


def _looks(row: Allocation, reports: Sequence[tuple[float | None, ...]]) -> LimitLooks:
    rate, limit, backlog_bytes, held, looks, full = np.array(reports, dtype=np.float64).T
    if is_queued(row):
        return looks_at_queue(rate=rate, limit=limit, waiting_bits=backlog_bytes * BITS, held=held)
    return LimitLooks(
        unit=Unit(row.resource.unit),
        rate=rate,
        limit=limit,
        looks=looks,
        full=full,
        wait_s=np.zeros(len(reports)),
    )
