"""What agents saw at the queues behind the limits of allocations, one look a report."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime

import numpy as np

from advisor.core.detection.micro_burst import LimitLooks
from advisor.history.agents import queued
from advisor.models import Allocation, ComplianceRecord
from advisor.models.workload import allocation_id

_FIELDS = ("measured", "applied__limit", "backlog_bytes", "overlimits")
BITS = 8


def read_limit_looks(
    allocations: Sequence[Allocation], *, since: datetime, until: datetime
) -> dict[int, LimitLooks]:
    """Those of reports in (since, until], by allocation, oldest first, in one statement.

    An allocation without a report is left out, and one whose agent sees no queue.
    """
    asked = queued(allocations)
    names = {(row.host_id, allocation_id(row)): row.pk for row in asked.rows}
    if not names:
        return {}
    rows = ComplianceRecord.objects.filter(
        host__in=list(asked.hosts),
        allocation__in={name for _, name in names},
        reported_at__gt=since,
        reported_at__lte=until,
    ).order_by("reported_at")
    found: dict[int, list[tuple[float | None, ...]]] = defaultdict(list)
    for host, name, *look in rows.values_list("host_id", "allocation", *_FIELDS):
        if key := names.get((host, name)):
            found[key].append(tuple(look))
    return {key: _looks(own) for key, own in found.items()}


def _looks(rows: Sequence[tuple[float | None, ...]]) -> LimitLooks:
    rate, limit, backlog_bytes, held = np.array(rows, dtype=np.float64).T
    return LimitLooks(rate=rate, limit=limit, waiting_bits=backlog_bytes * BITS, held=held)
