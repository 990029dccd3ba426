"""What agents did and saw, window by window: limits in force, and the queues of allocations."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import numpy as np
from django.db import connection

from advisor.core.compliance import Measured, wants_more
from advisor.models import AdapterKind, Allocation
from advisor.models.workload import allocation_id
from ingest.core.grid import EPOCH, Floats, Grid, Integers, microseconds
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class QueueColumns:
    """The queue of one allocation in each window, columns (windows); NaN is unknown.

    `backlogged` is 1 where it wanted more. `drops` are packets of the window.
    """

    backlogged: Floats
    backlog_bytes: Floats
    drops: Floats


class Queued(NamedTuple):
    """Allocations of a kind whose agents see queues, and the hosts that report on them."""

    rows: Sequence[Allocation]
    hosts: Collection[int]


def queued(allocations: Iterable[Allocation]) -> Queued:
    """Those of these allocations."""
    rows = [row for row in allocations if is_queued(row)]
    return Queued(rows=rows, hosts={row.host_id for row in rows})


def is_queued(row: Allocation) -> bool:
    """Whether its agent sees a queue."""
    return row.adapter_kind == AdapterKind.VNIC


def queue_columns(asked: Queued, grid: Grid) -> dict[int, QueueColumns]:
    """By allocation what its agent reported; an allocation without a report is left out."""
    reports = _queue_reports(asked, grid)
    return {key: _columns(found, grid) for key, found in reports.items()}


def _columns(reports: Sequence[QueueReport], grid: Grid) -> QueueColumns:
    places = report_places(reports, grid)
    told = places >= 0
    found = np.full((3, grid.count), np.nan)
    found[:, told] = np.array([_figures(one) for one in reports]).T[:, places[told]]
    return QueueColumns(
        backlogged=found[0], backlog_bytes=found[1], drops=found[2] * grid.window_s
    )


def _figures(queue: QueueReport) -> tuple[float, float, float]:
    # Bytes that waited only once are not a standing queue.
    waits = queue.backlog_bytes if queue.backlogged else 0.0
    figures = (queue.backlogged, waits, queue.drops_per_s)
    backlogged, backlog_bytes, drops_per_s = (np.nan if one is None else one for one in figures)
    return backlogged, backlog_bytes, drops_per_s


def _queue_reports(asked: Queued, grid: Grid) -> dict[int, list[QueueReport]]:
    """By allocation what its agent reported, oldest first, about one report per window."""
    found: dict[int, list[QueueReport]] = defaultdict(list)
    if not asked.hosts:
        return found
    parameters: dict[str, Any] = {
        "hosts": array_of(asked.hosts),
        "since": grid.since - LONGEST_REPORT,
        "until": grid.until + LONGEST_REPORT,
        "length": timedelta(microseconds=grid.window_us),
        "origin": EPOCH,
    }
    with connection.cursor() as cursor:
        cursor.execute(_REPORTS, parameters)
        rows = cursor.fetchall()
    if not rows:
        return found
    names = {(row.host_id, allocation_id(row)): row.pk for row in asked.rows}
    for host, name, *reported in rows:
        allocation = names.get((host, name))
        if allocation is not None:
            found[allocation].append(_report(reported))
    return found


_REPORTS = """
    SELECT host_id, allocation, max(reported_at) AS at, sum(window_s), sum(sample_count),
           sum(backlogged_samples), max(backlog_bytes), sum(drops)::bigint
      FROM advisor_compliancerecord
     WHERE host_id = ANY(%(hosts)s::bigint[]) AND sample_count > 0 AND window_s > 0
       AND reported_at > %(since)s AND reported_at <= %(until)s
     GROUP BY host_id, allocation, date_bin(%(length)s, reported_at, %(origin)s)
     ORDER BY at
"""
"""Long windows hold many reports; adding them up is the database's work."""


def _report(row: Sequence[Any]) -> QueueReport:
    at, seconds, samples, backlogged, waiting, dropped = row
    measured = Measured(rate=None, sample_count=samples, backlogged_samples=backlogged)
    return QueueReport(
        at=at,
        seconds=seconds,
        backlogged=wants_more(measured),
        backlog_bytes=waiting,
        drops_per_s=None if dropped is None else dropped / seconds,
    )


def report_places(reports: Sequence[QueueReport], grid: Grid) -> Integers:
    """For each window the place of its report among these, oldest first; -1 is none.

    It is the one that overlaps most; if the agent has not reported yet, the last one, unless more
    than its own length has passed since.
    """
    at_us = np.array([microseconds(one.at) for one in reports], dtype=np.int64)
    length_us = np.array([one.seconds * 1e6 for one in reports]).round().astype(np.int64)
    began_us, ends_us = at_us - length_us, grid.ends_us
    begins_us = ends_us - grid.window_us
    first = np.searchsorted(at_us, begins_us, side="right")
    best, most_us = np.full(grid.count, -1), np.zeros(grid.count, dtype=np.int64)
    # A report a turn, and few end in one window: those that begin in it are looked at in order.
    windows, place = np.arange(grid.count), first
    while True:
        inside = place < len(at_us)
        inside[inside] = began_us[place[inside]] < ends_us[windows[inside]]
        windows, place = windows[inside], place[inside]
        if not len(windows):
            break
        shared_us = np.minimum(at_us[place], ends_us[windows]) - np.maximum(
            began_us[place], begins_us[windows]
        )
        is_more = shared_us > most_us[windows]
        best[windows[is_more]], most_us[windows[is_more]] = place[is_more], shared_us[is_more]
        place = place + 1
    last = first - 1
    late = (best < 0) & (last >= 0)
    late[late] = begins_us[late] - at_us[last[late]] <= length_us[last[late]]
    return np.where(late, last, best)


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
    with connection.cursor() as cursor:
        cursor.execute(
            _VERSIONS,
            {"since": grid.since, "until": grid.until, "resources": array_of(allocations)},
        )
        versions = cursor.fetchall()
    for resource, created_at, granted in versions:
        begin = int(np.searchsorted(grid.ends_us, microseconds(created_at), side="right"))
        found[resource][begin:] = _limits(json.loads(granted), allocations[resource])
    return found


_VERSIONS = """
    SELECT resource_id, created_at, allocations::text FROM advisor_policy AS policy
     WHERE resource_id = ANY(%(resources)s::bigint[]) AND created_at < %(until)s
       AND (created_at > %(since)s OR version = (
           SELECT max(version) FROM advisor_policy
            WHERE resource_id = policy.resource_id AND created_at <= %(since)s))
     ORDER BY version
"""
"""The one that is in force as the grid begins, and the later ones."""


def _limits(granted: Sequence[Mapping[str, Any]], rows: Sequence[Allocation]) -> Floats:
    by_allocation = {item["allocation"]: item["limit"] for item in granted}
    return np.array([by_allocation.get(row.pk) for row in rows], dtype=np.float64)
