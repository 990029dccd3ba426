"""Incidents as rows: open ones go on or end, new ones begin."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import compress
from typing import Any

import numpy as np
from django.db import connection

from advisor.core.canonical import from_plain, to_plain
from advisor.core.detection import incident as core
from advisor.core.detection.congestion import ALARMS, StatePoint
from advisor.core.detection.incident import Grown, Standings, Stretch, Tally
from advisor.core.detection.nic_signals import SignalCount
from advisor.core.detection.parties import SUMS, Parties
from advisor.core.standing import AllocationTable, standing_columns
from advisor.core.waterfill import Floats
from advisor.history.history import History
from advisor.history.lately import Lately
from advisor.history.levels import read_points
from advisor.history.reader import read_history
from advisor.history.recordset import write_rows
from advisor.history.usual_rates import UsualAsked, usual_by_workload
from advisor.models import Incident, Resource, ResourceStatus
from ingest.binary_cursor import binary_cursor
from ingest.core.grid import grid_of
from ingest.grid_reader import array_of

DETAIL = timedelta(hours=1)
"""After a change of allocations, victims and aggressors come from the last hour.

No window further back leads to an incident either.
"""

COUNTED = {
    "peak_value": "float8",
    "threshold": "float8",
    "windows": "integer",
    "stalled_windows": "integer",
    "signals": "jsonb",
    "tally": "bytea",
}
"""The columns of an open incident that are written after each window."""
SHOWN = {"victims": "jsonb", "aggressors": "jsonb", "evidence": "jsonb"}
"""Those that are renewed once a minute while it is open."""
ENDED = {"ended_at": "timestamptz"}
_OPEN_COLUMNS = ("id", "organisation_id", "resource_id", "started_at", "ended_at", *COUNTED)
_OPEN = f"""
    SELECT {", ".join(_OPEN_COLUMNS)}
      FROM advisor_incident
     WHERE resource_id = ANY(%s::bigint[]) AND ended_at IS NULL AND withdrawn_at IS NULL
"""  # noqa: S608  # of this file
VERSION = 4
"""Of a stored tally."""
NUMBERS = ("points", "windows", "stalled_windows", "peak_value", "threshold", "stride")
LISTS = ("kept", "values")
TIMES = ("began_at", "last_at", "alarm_at")
"""The fields of a tally that it is stored with, beside its signals and parties."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewPoints:
    """Windows of a resource that were judged now, which its history has, and its open incident."""

    history: History
    running: Incident | None
    points: Sequence[StatePoint]


def open_incidents(resources: Collection[int]) -> dict[int, Incident]:
    """By the keys of resources the open incident, without what is shown of it."""
    with binary_cursor() as cursor:
        cursor.execute(_OPEN, [array_of(resources)])
        rows = [
            Incident.from_db(connection.alias, _OPEN_COLUMNS, row) for row in cursor.fetchall()
        ]
    return {row.resource_id: row for row in rows}


def update_incidents(new: Sequence[NewPoints]) -> None:
    """Go on with the open incidents of resources, and begin new ones."""
    queues = [_growing(one) for one in new]
    # One after the other where a resource has several: one ends before the next begins, and what
    # was usual before that depends on it.
    while queues := [queue for queue in queues if queue]:
        _grow([queue.pop(0) for queue in queues])


def restate_parties(resource: Resource) -> None:
    """Recompute the victims and aggressors of the open incident after a change of allocations.

    Its windows were evaluated with the allocations of that time. Nobody judges the resource
    meanwhile. Where windows are judged again, those that are still to come are of other incidents,
    and are judged with the new allocations anyway.
    """
    if not Incident.objects.filter(resource=resource, ended_at=None).exists():
        return
    status = ResourceStatus.objects.select_for_update().filter(resource=resource).first()
    if status is not None and status.is_rejudging:
        return
    running = Incident.objects.filter(resource=resource, ended_at=None).first()
    points = [] if running is None else read_points(resource, since=running.started_at)
    if running is None or not points:
        return
    until = points[-1].at
    since = max(running.started_at, until - DETAIL)
    history = read_history(resource, grid_of(since, until, resource.window_s))
    for stretch in core.stretches(points):
        _grow([_Growing(history=history, stretch=stretch)], at_once=True)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Stored:
    """What a row has of an open incident beside what is shown.

    `shown` are the places of the windows whose rows of evidence are shown; `waiting` are rows of
    evidence as JSON, by place, that will be shown next time.
    """

    tally: Tally
    shown: tuple[int, ...] = ()
    waiting: Mapping[int, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Growing:
    """An incident with new windows; `row` and `stored` are those of one that was open before."""

    history: History
    stretch: Stretch
    row: Incident | None = None
    stored: Stored | None = None


def _growing(new: NewPoints) -> list[_Growing]:
    """The incidents that the points say something about, in order."""
    running, points, history = new.running, new.points, new.history
    alarms = [point for point in points if point.state in ALARMS]
    if not points or (running is None and not alarms):
        return []
    stored = None
    if running is not None and running.tally is not None:
        stored = _tallies.value_of(bytes(running.tally))
    if stored is not None:
        first, *others = core.stretches(points, stored.tally)
        return [
            _Growing(history=history, stretch=first, row=running, stored=stored),
            *(_Growing(history=history, stretch=one) for one in others),
        ]
    begins = running.started_at if running else min(point.since for point in alarms)
    # The windows by which congestion was recognised were judged in an earlier run.
    if begins < history.grid.since:
        resource, run_since = history.resource, history.grid.since
        points = [*read_points(resource, since=begins, until=run_since), *points]
        grid = grid_of(max(begins, run_since - DETAIL), points[-1].at, resource.window_s)
        history = read_history(resource, grid)
    found = core.stretches([point for point in points if point.at > begins])
    return [_Growing(history=history, stretch=one) for one in found]


def _grow(growing: Sequence[_Growing], *, at_once: bool = False) -> None:
    """Add the new windows, and write what changed; one incident of each resource.

    With `at_once` people see all of it now.
    """
    rows = _rows(growing)
    found = [
        one.stretch.grown(standings, at_once=at_once)
        for one, standings in zip(growing, _standings(growing), strict=True)
    ]
    is_renewed = [grown.shown is not None for grown in found]
    evidence = _evidence(
        [
            row
            for row, one, is_new in zip(rows, growing, is_renewed, strict=True)
            if is_new and one.stored is not None
        ]
    )
    for row, one, grown in zip(rows, growing, found, strict=True):
        _put(row, one.stored, grown, evidence.get(row.pk, []))
    _write(list(compress(rows, is_renewed)), COUNTED | SHOWN | ENDED)
    _write([row for row, is_new in zip(rows, is_renewed, strict=True) if not is_new], COUNTED)


def _standings(growing: Sequence[_Growing]) -> list[Standings]:
    """What allocations got in the windows that count, by incident; all solved at once."""
    ends = [_measured(one) for one in growing]
    usual = _usual([one for one, own in zip(growing, ends, strict=True) if own])
    tables: list[AllocationTable] = []
    for one, own in zip(growing, ends, strict=True):
        if own:
            tables.append(one.history.table(list(own.values()), usual[one.history.resource.pk]))
    found = iter(standing_columns(tables))
    standings: list[Standings] = []
    for own in ends:
        columns = next(found) if own else None
        standings.append(
            {} if columns is None else {at: (columns, row) for row, at in enumerate(own)}
        )
    return standings


def _measured(one: _Growing) -> dict[datetime, int]:
    """The windows that count and were measured, with their places in the history."""
    measured = one.history.measured
    places = {at: place for place, at in enumerate(one.history.grid.ends)}
    return {at: places[at] for at in one.stretch.ends if at in places and measured[places[at]]}


def _usual(growing: Sequence[_Growing]) -> dict[int, Floats]:
    """The usual rates of allocations from before each incident, by resource.

    They are read when it begins, and kept with its sums.
    """
    found: dict[int, Floats] = {}
    asked: list[UsualAsked] = []
    workloads = {one.history.resource.pk: one.history.allocations.workloads for one in growing}
    for one in growing:
        resource, before = one.history.resource, one.stretch.began_at
        parties = Parties() if one.stored is None else one.stored.tally.parties
        known = parties.usual_of(workloads[resource.pk])
        if known is None:
            rows = one.history.allocations.rows
            asked.append(UsualAsked(resource=resource, allocations=rows, before=before))
        else:
            found[resource.pk] = known
    for key, usual in usual_by_workload(asked).items():
        rates = [usual.get(name) for name in workloads[key]]
        found[key] = np.array(rates, dtype=np.float64)
    return found


def _rows(growing: Sequence[_Growing]) -> list[Incident]:
    """The row of each; those that begin have that of their beginning, which may be new."""
    begun = [one for one in growing if one.row is None]
    times = {one.history.resource.pk: one.stretch.began_at for one in begun}
    known: dict[int, Incident] = {}
    if begun:
        rows = Incident.objects.filter(resource__in=times, started_at__in=set(times.values()))
        known = {row.resource_id: row for row in rows if row.started_at == times[row.resource_id]}
    new = [
        Incident(
            resource=one.history.resource,
            organisation_id=one.history.resource.organisation_id,
            started_at=one.stretch.began_at,
        )
        for one in begun
        if one.history.resource.pk not in known
    ]
    known |= {row.resource_id: row for row in Incident.objects.bulk_create(new)}
    return [one.row or known[one.history.resource.pk] for one in growing]


def _evidence(rows: Sequence[Incident]) -> dict[int, list[Any]]:
    """The rows of evidence that are shown of each, by its key."""
    keys = [row.pk for row in rows]
    return dict(Incident.objects.filter(pk__in=keys).values_list("pk", "evidence")) if keys else {}


def _put(row: Incident, stored: Stored | None, grown: Grown, evidence: Sequence[Any]) -> None:
    """What was found, as fields of the row; `evidence` are its rows that are shown."""
    shown = () if stored is None else stored.shown
    waiting = {} if stored is None else dict(stored.waiting)
    waiting |= {place: to_plain(one) for place, one in grown.rows.items()}
    if grown.shown is not None:
        by_place = dict(zip(shown, evidence, strict=True)) | waiting
        shown = grown.shown.kept
        victims, aggressors = core.parties_of(grown.shown)
        row.victims, row.aggressors = to_plain(victims), to_plain(aggressors)
        row.evidence = [by_place[place] for place in shown]
    tally = grown.tally
    row.peak_value, row.threshold = tally.peak_value, tally.threshold
    row.windows, row.stalled_windows = tally.windows, tally.stalled_windows
    row.signals = [to_plain(one) for one in tally.signals]
    row.ended_at, row.tally = grown.ended_at, None
    if grown.ended_at is None:
        later = set(tally.kept).difference(shown)
        waiting = {place: one for place, one in waiting.items() if place in later}
        now_stored = Stored(tally=tally, shown=shown, waiting=waiting)
        row.tally = pack(now_stored)
        _tallies.note(row.tally, now_stored)


def _write(rows: Sequence[Incident], columns: Mapping[str, str]) -> None:
    """Write these columns of the rows, in one statement."""
    if not rows:
        return
    changes = ", ".join(f"{name} = new.{name}" for name in columns)
    kinds = {"id": "bigint", **columns}
    write_rows(
        f"UPDATE advisor_incident AS incident SET {changes}"  # noqa: S608  # of this file
        " FROM {rows} WHERE incident.id = new.id",
        kinds,
        [[getattr(row, name) for name in kinds] for row in rows],
    )


def pack(stored: Stored) -> bytes:
    """A tally as bytes: a line of JSON, and after it columns of workloads as 64-bit floats."""
    tally = stored.tally
    parties = tally.parties
    head = {
        "version": VERSION,
        **{name: getattr(tally, name) for name in (*NUMBERS, *LISTS)},
        **{name: getattr(tally, name).isoformat() for name in TIMES},
        "signals": [to_plain(one) for one in tally.signals],
        "workloads": parties.workloads,
        "shown": stored.shown,
        "waiting": list(stored.waiting.items()),
    }
    columns = np.concatenate([*parties.sums, parties.reservation, parties.usual_rate])
    return json.dumps(head).encode() + b"\n" + columns.astype("<f8").tobytes()


def unpack(packed: bytes) -> Stored | None:
    """What `pack` wrote; None if an earlier version of it did."""
    line, _, rest = packed.partition(b"\n")
    head = json.loads(line)
    if head.get("version") != VERSION:
        return None
    workloads = tuple(head["workloads"])
    numbers = np.frombuffer(rest, dtype="<f8").astype(np.float64)
    columns = numbers.reshape(len(SUMS) + 2, len(workloads))
    values: dict[str, Any] = {name: head[name] for name in NUMBERS}
    values |= {name: tuple(head[name]) for name in LISTS}
    values |= {name: datetime.fromisoformat(head[name]) for name in TIMES}
    tally = Tally(
        **values,
        signals=tuple(from_plain(SignalCount, one) for one in head["signals"]),
        parties=Parties(
            workloads=workloads,
            sums=columns[: len(SUMS)],
            reservation=columns[len(SUMS)],
            usual_rate=columns[len(SUMS) + 1],
        ),
    )
    return Stored(tally=tally, shown=tuple(head["shown"]), waiting=dict(head["waiting"]))


_tallies: Lately[bytes, Stored | None] = Lately(unpack, most=500)
"""As many as two groups of congested resources have; those of 100 workloads take 35 kB each."""
