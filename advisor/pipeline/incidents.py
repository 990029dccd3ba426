"""Incidents as rows: the open one grows or ends, new ones begin."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime, timedelta

import numpy as np

from advisor.core.allocation import ReservationMode
from advisor.core.canonical import from_plain, to_plain
from advisor.core.detection import incident as core
from advisor.core.detection.congestion import ALARMS, StatePoint
from advisor.core.detection.incident import SUMS, Folded, Parties, Sums, Tally
from advisor.core.standing import standing_columns
from advisor.history.history import History
from advisor.history.levels import read_points
from advisor.history.reader import read_history
from advisor.history.usual_rates import usual_by_workload
from advisor.models import Incident, Resource, ResourceStatus
from ingest.core.grid import grid_of

DETAIL = timedelta(hours=1)
"""After a change of allocations, victims and aggressors come from the last hour.

No window further back leads to an incident either.
"""

NEEDED = ("peak_value", "threshold", "windows", "stalled_windows", "signals")
"""The fields of an open incident's row that it needs to go on."""
STORED = (*NEEDED, "victims", "aggressors", "evidence")
"""The fields of an incident that have the same name in the core and in its row."""
GROWN = (*STORED, "tally")
"""The fields that change as an open incident goes on."""


def update_incidents(
    history: History,
    running: Incident | None,
    new_points: Sequence[StatePoint],
    *,
    judged_anew_at: datetime | None = None,
) -> list[Incident]:
    """Go on with the open incident, and begin new ones; the rows that changed.

    `history` has the windows of the new points. An incident that stays open is not saved: that is
    done by `save_grown` for those of all resources at once. `judged_anew_at` is when the past of
    the resource was judged again last.
    """
    alarms = [point for point in new_points if point.state in ALARMS]
    if not new_points or (running is None and not alarms):
        return []
    resource = history.resource
    before = None if running is None else _folded(running)
    if running is not None and before is not None:
        found = core.fold(new_points, _sums(history, judged_anew_at), before)
        _put(running, found[0])
        if running.ended_at is not None:
            # Before the next one begins: a resource has one open incident.
            running.save(update_fields=[*GROWN, "ended_at"])
        return [running, *(_save(resource, one) for one in found[1:])]
    begins = running.started_at if running else min(point.since for point in alarms)
    until = new_points[-1].at
    # The windows by which congestion was recognised were judged in an earlier run.
    if begins < history.grid.since:
        since = max(begins, history.grid.since - DETAIL)
        history = read_history(resource, grid_of(since, until, resource.window_s))
    points = read_points(resource, since=begins, until=until)
    found = core.fold(points, _sums(history, judged_anew_at))
    return [_save(resource, one) for one in found]


def restate_parties(resource: Resource) -> None:
    """Recompute the victims and aggressors of the open incident after a change of allocations.

    Its windows were evaluated with the allocations of that time.
    """
    running = Incident.objects.filter(resource=resource, ended_at=None).first()
    points = [] if running is None else read_points(resource, since=running.started_at)
    if running is None or not points:
        return
    until = points[-1].at
    since = max(running.started_at, until - DETAIL)
    history = read_history(resource, grid_of(since, until, resource.window_s))
    rewound = ResourceStatus.objects.filter(resource=resource).values_list("rewound_at", flat=True)
    judged_anew_at = rewound.first()
    for one in core.fold(points, _sums(history, judged_anew_at)):
        _save(resource, one)


def _sums(history: History, judged_anew_at: datetime | None) -> Sums:
    """The parties of windows of the history."""
    mode, unit = ReservationMode(history.resource.mode), history.cost_unit
    places = {at: place for place, at in enumerate(history.grid.ends)}
    measured = np.logical_or.reduce(history.devices.measured, axis=1)

    def sums(began_at: datetime, ends: Sequence[datetime]) -> tuple[Parties, Parties]:
        rows = [places[at] for at in ends if at in places and measured[places[at]]]
        if not rows:
            return Parties(), Parties()
        usual = usual_by_workload(
            history.resource,
            history.allocations.rows,
            before=began_at,
            judged_anew_at=judged_anew_at,
        )
        table = history.table(rows, usual)
        with_usual, without = (
            core.parties_of(standing_columns(table, mode, unit=unit, by_usual=by_usual))
            for by_usual in (True, False)
        )
        return with_usual, without

    return sums


def save_grown(rows: Sequence[Incident]) -> None:
    """Save incidents that went on, in one statement."""
    Incident.objects.bulk_create(
        rows, update_conflicts=True, unique_fields=["id"], update_fields=list(GROWN)
    )


def _save(resource: Resource, found: Folded) -> Incident:
    """Store what was found in the row of its beginning."""
    row, _ = Incident.objects.get_or_create(
        resource=resource,
        started_at=found.incident.started_at,
        defaults={"organisation": resource.organisation},
    )
    _put(row, found)
    row.save(update_fields=[*GROWN, "ended_at"])
    return row


def _put(row: Incident, found: Folded) -> None:
    """What was found, as fields of the row."""
    plain = to_plain(found.incident)
    plain["evidence"] = [row.evidence[place] for place in found.stays] + plain["evidence"]
    for name in STORED:
        setattr(row, name, plain[name])
    row.ended_at = found.incident.ended_at
    row.tally = None if row.ended_at else pack(found.tally)


def _folded(row: Incident) -> Folded | None:
    """An open incident as it was stored, to go on with; None if it cannot."""
    tally = None if row.tally is None else unpack(bytes(row.tally))
    if tally is None:
        return None
    plain = {name: getattr(row, name) for name in NEEDED}
    others: dict[str, list[object]] = {"victims": [], "aggressors": [], "evidence": []}
    times = {"started_at": row.started_at.isoformat(), "ended_at": None}
    return Folded(incident=from_plain(core.Incident, plain | others | times), tally=tally)


def pack(tally: Tally) -> bytes:
    """A tally as bytes: a line of JSON, and after it the sums as 64-bit floats."""
    head = {
        "points": tally.points,
        "alarm_at": tally.alarm_at.isoformat(),
        "stride": tally.stride,
        "kept": tally.kept,
        "values": tally.values,
        "workloads": [tally.parties.workloads, tally.plain.workloads],
    }
    sums = [getattr(one, name) for one in (tally.parties, tally.plain) for name in SUMS]
    return json.dumps(head).encode() + b"\n" + np.concatenate(sums).astype("<f8").tobytes()


def unpack(packed: bytes) -> Tally | None:
    """The tally that `pack` wrote; None if it is from before it had the values of windows."""
    line, _, rest = packed.partition(b"\n")
    head = json.loads(line)
    if "values" not in head:
        return None
    sums = np.frombuffer(rest, dtype="<f8")
    first, second = (tuple(names) for names in head["workloads"])
    split = len(SUMS) * len(first)
    return Tally(
        points=head["points"],
        alarm_at=datetime.fromisoformat(head["alarm_at"]),
        stride=head["stride"],
        kept=tuple(head["kept"]),
        values=tuple(head["values"]),
        parties=_parties(first, sums[:split]),
        plain=_parties(second, sums[split:]),
    )


def _parties(workloads: tuple[str, ...], sums: np.ndarray) -> Parties:
    columns = sums.astype(np.float64).reshape(len(SUMS), len(workloads))
    return Parties(workloads=workloads, **dict(zip(SUMS, columns, strict=True)))
