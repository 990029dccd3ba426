"""What was judged of each window of a resource: the one place that reads it."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from django.db import connection

from accounts.models import Organisation
from advisor.core.canonical import from_plain
from advisor.core.detection.congestion import CongestionState, StatePoint
from advisor.core.detection.nic_signals import NicEvidence
from advisor.core.detection.worst_levels import (
    ENTRY,
    VERSION,
    DamagedEntriesError,
    WorstWindows,
    worst_windows,
)
from advisor.core.level_records import (
    FIGURES,
    HOUR_US,
    PART_US,
    Records,
    Run,
    Window,
    joined,
    records_of,
    unpack,
)
from advisor.models import Resource, State, StateRun
from ingest.core.grid import Flags, Floats, Grid, Integers, microseconds, moment

States = npt.NDArray[np.object_]

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
_OF_RUNS = """
  FROM advisor_staterun AS run {STATUS}
 WHERE run.resource_id = ANY(%s) AND run.first_at <= %s AND (run.is_open OR run.until > %s)
"""
_RUNS = f"SELECT {{RUN}} {_OF_RUNS} ORDER BY run.resource_id, run.first_at"
_RUNS_AND_PARTS = f"""
SELECT {{RUN}}, NULL::bytea {_OF_RUNS}
 UNION ALL
SELECT resource_id, NULL, NULL, at, NULL, NULL, NULL, data FROM advisor_levelrecords
 WHERE resource_id = ANY(%s) AND at >= %s AND at < %s
 ORDER BY resource_id, first_at
"""  # noqa: S608  # of this file
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Levels:
    """The judged windows, in order: each column (judged).

    `at_us` are their ends, `state` is that of the detector; NaN is absent.
    """

    at_us: Integers
    state: States
    value: Floats
    threshold: Floats
    load: Floats
    device_load: Floats

    def places(self, grid: Grid) -> Integers:
        """The window of the grid that each judged window lies in; -1 is outside."""
        # A judged window lies in the window that has its end.
        found = -((grid.since_us - self.at_us) // grid.window_us) - 1
        return np.where((found >= 0) & (found < grid.count), found, -1)

    def is_state(self, *states: State) -> Flags:
        """(judged)."""
        return np.isin(self.state, [state.value for state in states])


def mean_levels(levels: Levels, grid: Grid) -> Floats:
    """The mean level of each window at its own I/O size, NaN is unknown; (windows)."""
    places, values = levels.places(grid), _as_measured(levels)
    known = (places >= 0) & ~np.isnan(values)
    return _means(values[known], np.bincount(places[known], minlength=grid.count))


def _as_measured(levels: Levels) -> Floats:
    """The latency at the windows' own I/O size; the stored one is at the reference size."""
    known = (levels.load > 0) & (levels.device_load > 0)
    factor = np.where(known, levels.device_load / np.where(known, levels.load, 1.0), 1.0)
    result: Floats = levels.value * factor
    return result


def _means(values: Floats, counts: Integers) -> Floats:
    """Of groups of so many values each, one group after the other; NaN of none. (groups)"""
    means, begins = np.full(len(counts), np.nan), np.cumsum(counts) - counts
    for count in np.unique(counts[counts > 0]).tolist():
        alike = np.flatnonzero(counts == count)
        means[alike] = values[begins[alike][:, None] + np.arange(count)].mean(axis=1)
    return means


def read_levels(
    resources: Collection[Resource], *, since: datetime, until: datetime
) -> dict[int, Levels]:
    """What was judged of each resource, by its key, in the windows that end in (since, until]."""
    keys = [resource.pk for resource in resources]
    judged = _read(keys, since=since, until=until)
    return {key: _levels(judged[key]) for key in keys}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Judged:
    """The ends of judged windows, and for each the place of the record that it repeats."""

    at_us: Integers
    places: Integers
    records: Records


_NONE = _Judged(at_us=np.zeros(0, np.int64), places=np.zeros(0, np.int64), records=records_of(()))


def _read(keys: Collection[int], *, since: datetime, until: datetime) -> dict[int, _Judged]:
    since_us = microseconds(since)
    found = dict.fromkeys(keys, _NONE)
    for key, (runs, parts) in _read_runs_and_parts(keys, since=since, until=until).items():
        # Of open runs some have no window after `since`: nothing is unpacked for them.
        inside = [run for run in runs if run.until_us > since_us]
        if inside and parts:
            records = joined([unpack(data) for data in parts])
            found[key] = _judged(inside, records, since_us, microseconds(until))
    return found


def _judged(runs: Sequence[Run], records: Records, since_us: int, until_us: int) -> _Judged:
    """The windows of the runs that end in (since_us, until_us]."""
    at_us = np.concatenate([run.ends(since_us, until_us) for run in runs])
    places = np.searchsorted(records.at_us, at_us, side="right") - 1
    known = places >= 0
    return _Judged(at_us=at_us[known], places=places[known], records=records)


def _levels(judged: _Judged) -> Levels:
    places, records = judged.places, judged.records
    states = np.array([one.state for one in records.sayings], dtype=np.object_)
    figures = dict(zip(FIGURES, records.figures[:, places], strict=True))
    return Levels(at_us=judged.at_us, state=states[records.said[places]], **figures)


NO_LEVELS = _levels(_NONE)
"""Of windows that were not judged."""


def read_windows(resource: int, *, since: datetime, until: datetime | None = None) -> list[Window]:
    """The windows of one resource that end in (since, until], or after `since`."""
    if until is None:
        until = newest_ends([resource]).get(resource, since)
    judged = _read([resource], since=since, until=until)[resource]
    said = [judged.records.window(place) for place in range(len(judged.records.at_us))]
    return [
        said[place]._replace(at_us=at_us)
        for at_us, place in zip(judged.at_us.tolist(), judged.places.tolist(), strict=True)
    ]


def read_points(
    resource: Resource, *, since: datetime, until: datetime | None = None
) -> list[StatePoint]:
    """The windows of one resource that end in (since, until], with reasons and signals."""
    return [_point(window) for window in read_windows(resource.pk, since=since, until=until)]


def _point(window: Window) -> StatePoint:
    saying = window.saying
    signals = json.loads(saying.signals) if saying.signals else ()
    figures = dict(zip(FIGURES, window.figures, strict=True))
    return StatePoint(
        at=moment(window.at_us),
        since=moment(saying.since_us),
        state=CongestionState(saying.state),
        reason=saying.reason,
        signals=tuple(from_plain(NicEvidence, one) for one in signals),
        **figures,
    )


def read_worst_windows(
    resources: Sequence[int], *, since: datetime, until: datetime
) -> WorstWindows:
    """Of the windows that end in (since, until], in columns of five minutes from `since` on.

    Both are multiples of five minutes. A window belongs to the column that it ends in, and one
    that ends with a column to that.
    """
    runs = read_runs(resources, since=since, until=until)
    worst = read_worst(resources, since=since, until=until)
    return worst_windows(
        [worst.get(key, b"") for key in resources],
        [runs[key] for key in resources],
        since_us=microseconds(since),
        columns=(microseconds(until) - microseconds(since)) // PART_US,
    )


def newest_loads(resources: Collection[int], *, since: datetime) -> dict[int, float]:
    """The load of the newest window of each resource, if it ends after `since` and has one."""
    ends = newest_ends(resources)
    recent = [key for key in resources if key in ends and ends[key] > since]
    loads = {
        key: unpack(part.data).figures[FIGURES.index("load"), -1]
        for key, part in newest_parts(recent, since=since).items()
    }
    return {key: float(load) for key, load in loads.items() if load == load}


def newest_ends(resources: Collection[int]) -> dict[int, datetime]:
    """The end of the newest window of each resource that was ever judged."""
    return {key: moment(one.run.until_us) for key, one in newest_runs(resources).items()}


def was_ever_judged(organisation: Organisation) -> bool:
    """Whether the state of some window of the organisation was known."""
    judged = StateRun.objects.filter(resource__organisation=organisation)
    return judged.exclude(state=State.UNKNOWN).exists()


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


def _read_runs_and_parts(
    resources: Collection[int], *, since: datetime, until: datetime
) -> dict[int, tuple[list[Run], list[bytes]]]:
    """The runs of each resource with windows in (since, until], and the records that say
    something of those, both in order.
    """
    keys = list(resources)
    rows = _fetched(
        _with_status(_RUNS_AND_PARTS), [keys, until, since, keys, _hour_at(since), until]
    )
    found: dict[int, tuple[list[Run], list[bytes]]] = {key: ([], []) for key in keys}
    for row in rows:
        runs, parts = found[row[0]]
        if row[7] is None:
            runs.append(_run(row))
        else:
            parts.append(bytes(row[7]))
    return found


def read_worst(
    resources: Collection[int], *, since: datetime, until: datetime
) -> dict[int, bytes]:
    """The entries of each resource from the hour of `since` on, as one, without their version.

    Raises `DamagedEntriesError`.
    """
    rows = _fetched(_WORST, [ENTRY.itemsize, VERSION, list(resources), _hour_at(since), until])
    for resource, _, is_known in rows:
        if not is_known:
            raise DamagedEntriesError(
                f"worst windows of resource {resource} are damaged or of a later version:"
                " `sluice history verify` names them"
            )
    return {resource: bytes(worst) for resource, worst, _ in rows}


_WORST = """
SELECT resource_id, string_agg(substr(worst, 1 + begin), ''::bytea ORDER BY at),
       -- Those of before there was a version have none.
       bool_and(begin = 0 OR begin = 1 AND get_byte(worst, 0) = version)
  FROM (SELECT resource_id, at, worst, length(worst) %% %s AS begin, %s AS version
          FROM advisor_levelrecords
         WHERE resource_id = ANY(%s) AND at >= %s AND at < %s) AS row
 GROUP BY resource_id
"""


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


def _hour_at(since: datetime) -> datetime:
    """The begin of the hour of the first window that ends after `since`."""
    return moment(microseconds(since) // HOUR_US * HOUR_US)


def _fetched(statement: str, values: Iterable[Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, list(values))
        rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows
