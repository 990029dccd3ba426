"""The rows behind `advisor.history.levels`: runs of states, and packed records."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from django.db import connection

from advisor.core.detection.worst_levels import has_value
from advisor.core.level_records import HOUR_US, Run, hour_of
from ingest.core.grid import microseconds, moment

# The status of a resource knows the end of its newest judged window.
_RUN = """
       run.resource_id, run.state, run.since, run.first_at,
       CASE WHEN run.is_open THEN GREATEST(run.until, status.last_window_at) ELSE run.until END,
       run.window_s, run.reason
"""
_STATUS = """
  LEFT JOIN advisor_resourcestatus AS status
    ON run.is_open AND status.resource_id = run.resource_id
"""
_RUNS = """
SELECT {RUN} FROM advisor_staterun AS run {STATUS}
 WHERE run.resource_id = ANY(%s) AND run.first_at <= %s AND (run.is_open OR run.until > %s)
 ORDER BY run.resource_id, run.first_at
"""
_NEWEST = """
SELECT {RUN}, run.until, run.is_open
  FROM unnest(%s::bigint[]) AS wanted
 CROSS JOIN LATERAL (
       SELECT * FROM advisor_staterun WHERE resource_id = wanted ORDER BY first_at DESC LIMIT 1
       ) AS run {STATUS}
"""


class PackedPart(NamedTuple):
    """A row of records: of five minutes from `at_us` on, or of an hour."""

    at_us: int
    data: bytes
    worst: bytes


class NewestRun(NamedTuple):
    """The newest run as it is, the end of it that is stored, and whether it may get longer."""

    run: Run
    stored_until_us: int
    is_open: bool


def read_runs(
    resources: Collection[int], *, since: datetime, until: datetime
) -> dict[int, list[Run]]:
    """The runs of each resource with windows in (since, until], in order."""
    rows = _fetched(_with_status(_RUNS), [list(resources), until, since])
    found: dict[int, list[Run]] = {key: [] for key in resources}
    for row in rows:
        found[row[0]].append(_run(row))
    return found


def newest_runs(resources: Collection[int]) -> dict[int, NewestRun]:
    """The newest run of each resource that was ever judged."""
    rows = _fetched(_with_status(_NEWEST), [list(resources)])
    return {row[0]: NewestRun(_run(row), microseconds(row[7]), row[8]) for row in rows}


def _with_status(statement: str) -> str:
    return statement.replace("{RUN}", _RUN).replace("{STATUS}", _STATUS)


def _run(row: Sequence[Any]) -> Run:
    _, state, since, first_at, ends, window_s, reason = row[:7]
    return Run(
        state=state,
        since_us=microseconds(since),
        first_us=microseconds(first_at),
        until_us=microseconds(ends),
        step_us=round(window_s * 1e6),
        reason=reason,
    )


def read_parts(
    resources: Collection[int], *, since: datetime, until: datetime
) -> dict[int, list[bytes]]:
    """The records of each resource that say something of windows in (since, until], in order."""
    rows = _fetched(
        "SELECT resource_id, data FROM advisor_levelrecords"
        " WHERE resource_id = ANY(%s) AND at >= %s AND at < %s ORDER BY resource_id, at",
        [list(resources), _hour_at(since), until],
    )
    found: dict[int, list[bytes]] = defaultdict(list)
    for resource, data in rows:
        found[resource].append(bytes(data))
    return found


def read_worst(
    resources: Collection[int], *, since: datetime, until: datetime
) -> dict[int, bytes]:
    """The entries of each resource from the hour of `since` on, as one."""
    rows = _fetched(
        "SELECT resource_id, string_agg(worst, ''::bytea ORDER BY at) FROM advisor_levelrecords"
        " WHERE resource_id = ANY(%s) AND at >= %s AND at < %s GROUP BY resource_id",
        [list(resources), _hour_at(since), until],
    )
    return {resource: bytes(worst) for resource, worst in rows}


def newest_parts(resources: Collection[int], *, since: datetime) -> dict[int, PackedPart]:
    """The newest row of each resource from the hour of `since` on."""
    rows = _fetched(
        "SELECT DISTINCT ON (resource_id) resource_id, at, data, worst"
        " FROM advisor_levelrecords WHERE resource_id = ANY(%s) AND at >= %s"
        " ORDER BY resource_id, at DESC",
        [list(resources), _hour_at(since)],
    )
    return {
        resource: PackedPart(at_us=microseconds(at), data=bytes(data), worst=bytes(worst))
        for resource, at, data, worst in rows
    }


def write_runs(rows: Sequence[tuple[int, Run, bool]]) -> None:
    """Write runs of resources, each with whether it is open; closed ones come first."""
    # A resource has one open run at any time.
    for is_open in (False, True):
        own = [(resource, run) for resource, run, one in rows if one is is_open]
        if own:
            _write_runs(own, is_open=is_open)


def _write_runs(rows: Sequence[tuple[int, Run]], *, is_open: bool) -> None:
    runs = [run for _, run in rows]
    _execute(
        "INSERT INTO advisor_staterun"
        " (resource_id, state, since, first_at, until, window_s, reason, is_open)"
        " SELECT *, %s FROM unnest(%s::bigint[], %s::text[], %s::timestamptz[],"
        " %s::timestamptz[], %s::timestamptz[], %s::float8[], %s::text[])"
        " ON CONFLICT (resource_id, first_at) DO UPDATE SET until = excluded.until,"
        " window_s = excluded.window_s, is_open = excluded.is_open",
        [
            is_open,
            [resource for resource, _ in rows],
            [run.state for run in runs],
            [moment(run.since_us) for run in runs],
            [moment(run.first_us) for run in runs],
            [moment(run.until_us) for run in runs],
            [run.step_us / 1e6 for run in runs],
            [run.reason for run in runs],
        ],
    )


def write_parts(rows: Sequence[tuple[int, PackedPart]], *, is_hour: bool) -> None:
    """Write rows of records by resource; what was in such a row is replaced."""
    if not rows:
        return
    _execute(
        "INSERT INTO advisor_levelrecords (resource_id, at, has_value, data, worst, is_hour)"
        " SELECT *, %s FROM unnest("
        " %s::bigint[], %s::timestamptz[], %s::boolean[], %s::bytea[], %s::bytea[])"
        " ON CONFLICT (resource_id, at) DO UPDATE SET has_value = excluded.has_value,"
        " data = excluded.data, worst = excluded.worst, is_hour = excluded.is_hour",
        [
            is_hour,
            [resource for resource, _ in rows],
            [moment(part.at_us) for _, part in rows],
            [has_value(part.worst) for _, part in rows],
            [part.data for _, part in rows],
            [part.worst for _, part in rows],
        ],
    )


class Cut(NamedTuple):
    """What is left of runs around hours that were taken out: before them, and after them."""

    before: Run | None
    after: Run | None
    is_open: bool
    """Whether the last run that is then left may get longer: no other one comes after it."""


def cut_out(resource: int, *, begin_us: int, end_us: int) -> Cut:
    """Delete all of the resource in these whole hours; the rest of runs is still to be written."""
    begin, end = moment(begin_us), moment(end_us)
    newest = newest_runs([resource]).get(resource)
    runs = read_runs([resource], since=moment(begin_us - 1), until=end)[resource]
    _execute(
        "DELETE FROM advisor_levelrecords WHERE resource_id = %s AND at >= %s AND at < %s",
        [resource, begin, end],
    )
    _execute(
        "DELETE FROM advisor_staterun WHERE resource_id = %s AND first_at > %s AND first_at <= %s",
        [resource, begin, end],
    )
    before = next((run.up_to(begin_us) for run in runs if run.first_us <= begin_us), None)
    after = next((run.beyond(end_us) for run in runs if run.until_us > end_us), None)
    return Cut(
        before=before,
        after=after,
        is_open=newest is not None and newest.is_open and newest.run.first_us <= end_us,
    )


def write_ends(resource: int, until: datetime | None) -> None:
    """Write down that the open run lasts until then, which the status will not say any more."""
    _execute(
        "UPDATE advisor_staterun SET until = GREATEST(until, %s)"
        " WHERE resource_id = %s AND is_open",
        [until, resource],
    )


def delete_before(at: datetime) -> int:
    """Delete the records and runs of all resources that end before, but open runs."""
    hour = moment(hour_of(microseconds(at)) - HOUR_US)
    return _execute("DELETE FROM advisor_levelrecords WHERE at <= %s", [hour]) + _execute(
        "DELETE FROM advisor_staterun WHERE until < %s AND NOT is_open", [at]
    )


def _hour_at(since: datetime) -> datetime:
    """The begin of the hour of the first window that ends after `since`."""
    return moment(microseconds(since) // HOUR_US * HOUR_US)


def _fetched(statement: str, values: Iterable[Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, list(values))
        rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows


def _execute(statement: str, values: Iterable[Any]) -> int:
    with connection.cursor() as cursor:
        cursor.execute(statement, list(values))
        return int(cursor.rowcount)
