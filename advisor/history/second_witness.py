"""What stored samples say of the time that an agent's report is about.

It is read when somebody asks: at each report it would be most of what the report costs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

import numpy as np

from advisor.history.inventory import inventory_of
from advisor.history.reader import read_histories
from advisor.models import Allocation, ComplianceRecord
from advisor.models.workload import allocation_pk
from ingest.core.grid import EPOCH, grid_of, microseconds

_READ_TOGETHER = timedelta(minutes=10)


def observed_rates(records: Sequence[ComplianceRecord]) -> dict[int, float]:
    """The mean rate of each record's allocation over the agent's window, by the record's key.

    Records without a measurement, or without samples of that time, are left out. Each has its
    `resource`.
    """
    allocations = _allocations(records)
    together: dict[tuple[float, int], list[ComplianceRecord]] = defaultdict(list)
    for record in records:
        if record.window_s is not None and allocation_pk(record.allocation) in allocations:
            bucket = (record.reported_at - EPOCH) // _READ_TOGETHER
            together[record.resource.window_s, bucket].append(record)
    found: dict[int, float] = {}
    for (window_s, _), group in together.items():
        found |= _of_group(group, window_s, allocations)
    return found


def _allocations(records: Sequence[ComplianceRecord]) -> Mapping[int, Allocation]:
    keys = {pk for record in records if (pk := allocation_pk(record.allocation)) is not None}
    rows = Allocation.objects.select_related("resource", "workload", "host")
    return rows.in_bulk(keys)


def _of_group(
    records: Sequence[ComplianceRecord], window_s: float, allocations: Mapping[int, Allocation]
) -> dict[int, float]:
    spans = {record.pk: _span(record) for record in records}
    grid = grid_of(
        min(since for since, _ in spans.values()),
        max(until for _, until in spans.values()),
        window_s,
    )
    rows = [allocations[pk] for one in records if (pk := allocation_pk(one.allocation))]
    resources = list({row.resource_id: row.resource for row in rows}.values())
    inventory = inventory_of(resources, rows)
    rates = {
        row.pk: column
        for history in read_histories(resources, grid, inventory=inventory).values()
        for row, column in zip(history.allocations.rows, history.allocations.rate.T, strict=True)
    }
    found: dict[int, float] = {}
    for record in records:
        since, until = map(microseconds, spans[record.pk])
        is_within = (grid.edges_us[:-1] >= since) & (grid.edges_us[1:] <= until)
        column = rates.get(allocation_pk(record.allocation) or 0)
        known = np.empty(0) if column is None else column[is_within]
        known = known[~np.isnan(known)]
        if len(known):
            found[record.pk] = float(known.mean())
    return found


def _span(record: ComplianceRecord) -> tuple[datetime, datetime]:
    """The whole windows that the agent's own window touches."""
    assert record.window_s is not None
    grid = grid_of(
        record.reported_at - timedelta(seconds=record.window_s),
        record.reported_at,
        record.resource.window_s,
    )
    return grid.since, grid.until
