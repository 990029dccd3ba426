"""What was judged of each window of a resource: the one place that stores it."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db import connection

from advisor.core.canonical import to_plain
from advisor.core.detection.congestion import StatePoint
from advisor.core.detection.worst_levels import entry_of, has_value
from advisor.core.level_records import (
    HOUR_US,
    Kept,
    Record,
    Records,
    Run,
    Saying,
    Window,
    hour_of,
    joined,
    keep,
    pack,
    part_of,
    records_of,
    unpack,
)
from advisor.history.lately import Lately
from advisor.history.levels import (
    NewestRun,
    PackedPart,
    newest_ends,
    newest_parts,
    newest_runs,
    read_runs,
    read_windows,
)
from advisor.history.recordset import write_rows
from advisor.models import LevelRecords, Resource, StateRun
from ingest.core.grid import microseconds, moment

KEPT_FOR = timedelta(days=30)
"""Judged windows are kept as long as their samples."""
_records: Lately[bytes, Records] = Lately(unpack, most=10_000)


def save_points(
    points: Mapping[Resource, Sequence[StatePoint]], *, with_status: bool = False
) -> None:
    """Store the windows that were judged of each resource, in order of time.

    A window that is judged again is replaced. `with_status` says that the caller stores the end
    of the newest window with the status of the resource; then nothing is written for a window that
    says the same as the one before it.
    """
    new = {one: [_window(point) for point in own] for one, own in points.items() if own}
    runs = newest_runs([resource.pk for resource in new])
    again = [
        one
        for one, windows in new.items()
        if one.pk in runs and windows[0].at_us <= runs[one.pk].run.until_us
    ]
    for resource in again:
        _rewrite(resource, new.pop(resource))
    if new:
        _append(new, runs, with_status=with_status)


def forget_points(resource: Resource, *, since: datetime, until: datetime | None = None) -> None:
    """The windows that end in (since, until], or after `since`, were never judged."""
    newest = newest_ends([resource.pk]).get(resource.pk)
    if newest is None or newest <= since:
        return
    last = newest if until is None else min(until, newest)
    begin_us = microseconds(since) // HOUR_US * HOUR_US
    end_us = hour_of(microseconds(last)) + HOUR_US
    stored = read_windows(resource.pk, since=moment(begin_us), until=moment(end_us))
    gone = range(microseconds(since) + 1, microseconds(last) + 1)
    _replace(resource, [one for one in stored if one.at_us not in gone], begin_us, end_us)
    if last == newest:
        # The status of the resource may still know of later windows.
        StateRun.objects.filter(resource=resource, is_open=True).update(is_open=False)


def drop_points(*, before: datetime) -> int:
    """Delete what is known of windows that end before; the number of rows.

    In one statement a table: a resource has 24 rows a day, and partitions would be more work than
    these.
    """
    hour = moment(hour_of(microseconds(before)) - HOUR_US)
    # Open runs stay.
    return _execute("DELETE FROM advisor_levelrecords WHERE at <= %s", [hour]) + _execute(
        "DELETE FROM advisor_staterun WHERE until < %s AND NOT is_open", [before]
    )


def stored_rows() -> int:
    """Rows that say in which state some resource was."""
    return StateRun.objects.count() + LevelRecords.objects.count()


def _window(point: StatePoint) -> Window:
    signals = [to_plain(one) for one in point.signals]
    return Window(
        at_us=microseconds(point.at),
        saying=Saying(
            state=point.state.value,
            since_us=microseconds(point.since),
            reason=point.reason,
            signals=json.dumps(signals, separators=(",", ":")) if signals else "",
        ),
        figures=(point.value, point.threshold, point.load, point.device_load),
    )


def _append(
    new: Mapping[Resource, Sequence[Window]],
    runs: Mapping[int, NewestRun],
    *,
    with_status: bool,
) -> None:
    """Store windows that follow those that are stored."""
    first_us = min(windows[0].at_us for windows in new.values())
    newest = newest_parts([one.pk for one in new], since=moment(hour_of(first_us)))
    parts: list[tuple[int, PackedPart]] = []
    changed: list[tuple[int, Run, bool]] = []
    for resource, windows in new.items():
        stored, part = runs.get(resource.pk), newest.get(resource.pk)
        kept = keep(
            windows,
            run=None if stored is None else stored.run,
            last=None if part is None else _records.value_of(part.data).window(-1),
            step_us=round(resource.window_s * 1e6),
        )
        changed += _changed(resource.pk, kept, stored, is_lazy=with_status)
        parts += [(resource.pk, one) for one in _parts(kept.records, part)]
    write_parts(parts, is_hour=False)
    write_runs(changed)


def _changed(
    resource: int, kept: Kept, stored: NewestRun | None, *, is_lazy: bool
) -> list[tuple[int, Run, bool]]:
    """The runs that are written. The end of an open one may lag, by less than an hour."""
    rows = [(resource, run, run is kept.runs[-1]) for run in kept.runs]
    if stored is not None and stored.is_open and len(rows) == 1 and is_lazy:
        was, now = stored.run, kept.runs[0]
        lags = hour_of(stored.stored_until_us) == hour_of(now.until_us)
        if lags and was.step_us == now.step_us:
            return []
    return rows


def _parts(records: Sequence[Record], newest: PackedPart | None) -> list[PackedPart]:
    """The rows of new records; those of the newest row are added to it."""
    by_part: dict[int, list[Record]] = defaultdict(list)
    for record in records:
        by_part[part_of(record.window.at_us)].append(record)
    found = []
    for at_us, own in by_part.items():
        packed = records_of([record.window for record in own])
        before = b""
        if newest is not None and newest.at_us == at_us:
            packed, before = joined([_records.value_of(newest.data), packed]), newest.worst
        data = pack(packed)
        _records.note(data, packed)
        found.append(PackedPart(at_us=at_us, data=data, worst=entry_of(own, before=before)))
    return found


def _rewrite(resource: Resource, new: Sequence[Window]) -> None:
    """Store windows of which some are judged again."""
    begin_us, end_us = hour_of(new[0].at_us), hour_of(new[-1].at_us) + HOUR_US
    stored = read_windows(resource.pk, since=moment(begin_us), until=moment(end_us))
    windows = {one.at_us: one for one in (*stored, *new)}
    _replace(resource, [windows[at_us] for at_us in sorted(windows)], begin_us, end_us)


def _replace(resource: Resource, windows: Sequence[Window], begin_us: int, end_us: int) -> None:
    """In these whole hours nothing but these windows was judged."""
    cut = cut_out(resource.pk, begin_us=begin_us, end_us=end_us)
    kept = keep(windows, run=cut.before, last=None, step_us=round(resource.window_s * 1e6))
    runs = kept.runs
    if cut.after is not None and runs and runs[-1].goes_on_with(cut.after):
        runs[-1] = runs[-1]._replace(until_us=cut.after.until_us)
    elif cut.after is not None:
        runs.append(cut.after)
    write_parts([(resource.pk, one) for one in _parts(kept.records, None)], is_hour=False)
    write_runs([(resource.pk, run, cut.is_open and run is runs[-1]) for run in runs])


def write_runs(rows: Sequence[tuple[int, Run, bool]]) -> None:
    """Write runs of resources, each with whether it is open; closed ones come first."""
    # A resource has one open run at any time.
    for is_open in (False, True):
        own = [(resource, run) for resource, run, one in rows if one is is_open]
        if own:
            _write_runs(own, is_open=is_open)


_RUN_COLUMNS = {
    "resource_id": "bigint",
    "state": "text",
    "since": "timestamptz",
    "first_at": "timestamptz",
    "until": "timestamptz",
    "window_s": "float8",
    "reason": "text",
}
_PART_COLUMNS = {
    "resource_id": "bigint",
    "at": "timestamptz",
    "has_value": "boolean",
    "data": "bytea",
    "worst": "bytea",
}


def _write_runs(rows: Sequence[tuple[int, Run]], *, is_open: bool) -> None:
    values = [
        (
            resource,
            run.state,
            moment(run.since_us),
            moment(run.first_us),
            moment(run.until_us),
            run.step_us / 1e6,
            run.reason,
        )
        for resource, run in rows
    ]
    write_rows(
        f"INSERT INTO advisor_staterun ({', '.join(_RUN_COLUMNS)}, is_open)"  # noqa: S608  # of this file
        " SELECT {names}, %s FROM {rows}"
        " ON CONFLICT (resource_id, first_at) DO UPDATE SET until = excluded.until,"
        " window_s = excluded.window_s, is_open = excluded.is_open",
        _RUN_COLUMNS,
        values,
        is_open,
    )


def write_parts(rows: Sequence[tuple[int, PackedPart]], *, is_hour: bool) -> None:
    """Write rows of records by resource; what was in such a row is replaced."""
    if not rows:
        return
    values = [
        (resource, moment(part.at_us), has_value(part.worst), part.data, part.worst)
        for resource, part in rows
    ]
    write_rows(
        f"INSERT INTO advisor_levelrecords ({', '.join(_PART_COLUMNS)}, is_hour)"  # noqa: S608  # of this file
        " SELECT {names}, %s FROM {rows}"
        " ON CONFLICT (resource_id, at) DO UPDATE SET has_value = excluded.has_value,"
        " data = excluded.data, worst = excluded.worst, is_hour = excluded.is_hour",
        _PART_COLUMNS,
        values,
        is_hour,
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


def _execute(statement: str, values: Iterable[Any]) -> int:
    with connection.cursor() as cursor:
        cursor.execute(statement, list(values))
        return int(cursor.rowcount)
