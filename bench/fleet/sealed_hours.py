"""Writes the history of a fleet as the product leaves it: chunks, quarters and days.

Sealing reads the rows of an hour, and most hours of the fleet never have any. So the same chunks
are packed from the arrays that rows would be made of, by processes beside this one; tracks and
their places are those that the product gives. A test compares the two.
"""

from __future__ import annotations

import multiprocessing
import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
import psycopg

from accounts.models import Organisation
from advisor.core.chunk import pack
from advisor.core.stored_hour import QUARTER_S, QUARTERS, STEPS_OF_SUMS
from advisor.history.stored.partitions import Level, ensure_partitions
from advisor.history.stored.places import Homes, places_of
from advisor.history.stored.tracks import tracks_with_samples
from advisor.models import Shard
from bench.fleet.copy_history import chunk_row, day_rows, quarter_rows
from bench.fleet.copy_rows import EPOCH_2000_S, HEAD, TAIL, Integers, timestamps
from bench.fleet.inventory import subjects_of
from bench.fleet.sample_writer import connected, server_facts
from bench.fleet.sealed_figures import (
    HourOfFigure,
    day_of_counter,
    day_of_gauge,
    hour_of_counter,
    hour_of_cover,
    hour_of_gauge,
)
from bench.fleet.shape import WINDOW_S, FleetShape
from bench.fleet.traffic import Growth
from ingest.core.canonical_figures import FIGURES
from ingest.core.figures import CGROUP_IO, DISK, INTERFACE, PRESSURE, TCP, FigureKind
from ingest.models import Host

HOUR_S, DAY_S = 3600, 86_400
KINDS: Mapping[FigureKind[Any], tuple[str, ...]] = {
    CGROUP_IO: ("cgroup",),
    PRESSURE: ("pressure",),
    INTERFACE: ("vnic", "uplink"),
    DISK: ("disk",),
    TCP: ("tcp",),
}
"""Each kind with the attributes of `Growth` whose series follow one another as its subjects."""
MOST_WAITING = 4
"""So many hours wait to be written, at most."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KindPlan:
    """Where what is known of one kind is stored; subjects in the order of `KINDS`."""

    organisation: int
    tracks: Integers
    shards: Mapping[int, Integers]
    """By shard the subjects of its columns."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Stretch:
    """Growth of some steps: (series, steps, columns) by kind, and the gauges `before` them."""

    begin_s: int
    step_s: int
    growth: Mapping[str, Integers]
    before: Mapping[str, Integers]


class SealedHours:
    """Takes growth in the order of time and writes each hour, and each day of coarse steps.

    The first hour is left out: what its first reading grew from is not known. Days with windows
    of their own are left to the product.
    """

    def __init__(
        self, organisation: Organisation, shape: FleetShape, *, since: datetime, until: datetime
    ) -> None:
        first = since + timedelta(hours=1)
        days = {first.date() + timedelta(days=day) for day in range((until - first).days + 2)}
        ensure_partitions(organisation.pk, sorted(days), Level)
        self._since_s, self._until_s = int(first.timestamp()), int(until.timestamp())
        self._plans = _plans(organisation, shape, first)
        self._hour: _Open | None = None
        self._day: _Open | None = None
        self._left: set[date] = set()
        self._newest: Mapping[str, Integers] = {}
        fork = multiprocessing.get_context("fork")
        self._pool = ProcessPoolExecutor(
            os.cpu_count(), fork, initializer=_begin, initargs=(server_facts(), self._plans)
        )
        # They start before there are threads here.
        self._waiting: list[Future[None]] = [self._pool.submit(_nothing)]

    def note(self, ends_s: Integers, step_s: int, grown: Growth) -> None:
        """Write the hours and days that are whole with these steps."""
        found = {kind.name: _joined(kind, grown) for kind in KINDS}
        begins_s = (ends_s - 1) // HOUR_S * HOUR_S
        for begin_s in np.unique(begins_s).tolist():
            own = begins_s == begin_s
            growth = {name: values[:, own] for name, values in found.items()}
            if self._since_s <= begin_s < self._until_s:
                self._add(begin_s, step_s, growth)
            self._newest = {name: values[:, -1, -1] for name, values in growth.items()}

    def close(self) -> set[date]:
        """Wait until all is written; the days that are over and have no rows."""
        self._wait(0)
        self._pool.shutdown()
        newest = datetime.fromtimestamp(self._until_s - HOUR_S, UTC)
        shards = {shard for plan in self._plans.values() for shard in plan.shards}
        Shard.objects.filter(pk__in=shards).update(newest_hour=newest)
        return self._left - {newest.date()}

    def _add(self, begin_s: int, step_s: int, growth: Mapping[str, Integers]) -> None:
        self._hour = self._hour or _Open(begin_s, self._newest)
        self._hour.add(step_s, growth)
        if self._hour.length_s == HOUR_S:
            hour, self._hour = self._hour.stretch(step_s), None
            self._submit(_write_hour, hour)
            self._add_to_day(hour)

    def _add_to_day(self, hour: Stretch) -> None:
        day = datetime.fromtimestamp(hour.begin_s, UTC).date()
        if hour.step_s == WINDOW_S:
            self._day = None
            self._left.add(day)
            return
        self._day = self._day or _Open(hour.begin_s // DAY_S * DAY_S, hour.before)
        self._day.add(hour.step_s, hour.growth)
        if (hour.begin_s + HOUR_S) % DAY_S == 0:
            self._submit(_write_day, self._day.stretch(hour.step_s))
            self._day = None

    def _submit(self, work: Callable[[Stretch], None], stretch: Stretch) -> None:
        self._wait(MOST_WAITING)
        self._waiting.append(self._pool.submit(work, stretch))

    def _wait(self, most: int) -> None:
        while len(self._waiting) > most:
            self._waiting.pop(0).result()


class _Open:
    """A stretch that is not over yet."""

    def __init__(self, begin_s: int, before: Mapping[str, Integers]) -> None:
        self.length_s = 0
        self._begin_s = begin_s
        self._before = before
        self._parts: list[Mapping[str, Integers]] = []

    def add(self, step_s: int, growth: Mapping[str, Integers]) -> None:
        self._parts.append(growth)
        self.length_s += step_s * next(iter(growth.values())).shape[1]

    def stretch(self, step_s: int) -> Stretch:
        growth = {
            name: np.concatenate([part[name] for part in self._parts], axis=1)
            for name in self._parts[0]
        }
        return Stretch(begin_s=self._begin_s, step_s=step_s, growth=growth, before=self._before)


def _joined(kind: FigureKind[Any], grown: Growth) -> Integers:
    """(series, steps, columns) with the columns of the kind."""
    names = [field.name for field in kind.measurement.fields]
    columns = [names.index(name) for name in kind.columns]
    parts: list[Integers] = [getattr(grown, name)[..., columns] for name in KINDS[kind]]
    return np.concatenate(parts, axis=1).swapaxes(0, 1)


def _plans(
    organisation: Organisation, shape: FleetShape, hour: datetime
) -> dict[FigureKind[Any], KindPlan]:
    """Tracks and places as sealing this hour would make them."""
    hosts = dict(Host.objects.filter(organisation=organisation).values_list("name", "pk"))
    homes = Homes(organisation)
    found = {}
    for kind, known in tracks_with_samples(organisation, list(hosts.values()), hour).items():
        track = {one.subject: one.track for one in known}
        tracks = [track[one] for one in subjects_of(kind, shape, hosts)]
        places = places_of(organisation, kind.name, known, hour, homes)
        columns: dict[int, dict[int, int]] = defaultdict(dict)
        for own, key in enumerate(tracks):
            columns[places[key].shard][places[key].column] = own
        found[kind] = KindPlan(
            organisation=organisation.pk,
            tracks=np.array(tracks, np.int64),
            shards={
                shard: np.array([own[column] for column in range(len(own))], np.int64)
                for shard, own in columns.items()
            },
        )
    return found


# --- In the processes that write

_server: psycopg.Connection[tuple[object, ...]]
_plans_here: Mapping[FigureKind[Any], KindPlan]


def _begin(server: Mapping[str, str], plans: Mapping[FigureKind[Any], KindPlan]) -> None:
    global _server, _plans_here
    _server, _plans_here = connected(server), plans


def _nothing() -> None:
    """Make the processes start."""


def _write_hour(hour: Stretch) -> None:
    at_us = int(timestamps(np.array(hour.begin_s)))
    starts_us = at_us + np.arange(QUARTERS) * QUARTER_S * 1_000_000
    chunks, quarters = [], []
    for kind, plan in _plans_here.items():
        found = _figures_of_hour(kind, hour)
        for shard, own in plan.shards.items():
            for number, data in _chunks(kind, found, own):
                chunks.append(chunk_row(plan.organisation, shard, number, at_us, data))
        means, maxima = (
            np.stack([getattr(one, name) for one in found[:-1]]) for name in ("means", "maxima")
        )
        quarters.append(quarter_rows(plan.organisation, plan.tracks, starts_us, means, maxima))
    _copy(Level.EXACT, chunks)
    _copy(Level.QUARTER, quarters)


def _figures_of_hour(kind: FigureKind[Any], hour: Stretch) -> list[HourOfFigure]:
    growth, before = hour.growth[kind.name], hour.before[kind.name]
    count = len(kind.counters)
    return [
        *(hour_of_counter(growth[..., column], hour.step_s) for column in range(count)),
        *(hour_of_gauge(growth[..., count], before, hour.step_s) for _ in kind.gauges),
        hour_of_cover(len(growth)),
    ]


def _chunks(
    kind: FigureKind[Any], found: Sequence[HourOfFigure], own: Integers
) -> Iterator[tuple[int, bytes]]:
    """The chunks of a shard with the numbers of their figures."""
    for figure, one in zip(FIGURES[kind.name], found, strict=True):
        yield figure.number, pack(one.windows[own].T)
    for number in STEPS_OF_SUMS:
        yield number, pack(np.concatenate([one.sums[number][own].T for one in found]))


def _write_day(day: Stretch) -> None:
    number = (day.begin_s - EPOCH_2000_S) // DAY_S
    rows = []
    for kind, plan in _plans_here.items():
        growth, before = day.growth[kind.name], day.before[kind.name]
        count = len(kind.counters)
        found = [day_of_counter(growth[..., column], day.step_s) for column in range(count)]
        found += [day_of_gauge(growth[..., count], before, day.step_s) for _ in kind.gauges]
        numbers = [figure.number for figure in FIGURES[kind.name][:-1]]
        figures = dict(zip(numbers, found, strict=True))
        rows.append(day_rows(plan.organisation, plan.tracks, number, figures))
    _copy(Level.DAY, rows)


def _copy(level: Level, rows: Sequence[bytes]) -> None:
    statement = f"COPY {level.value} FROM STDIN (FORMAT binary)"
    with _server.cursor() as cursor, cursor.copy(statement) as copy:
        copy.write(HEAD + b"".join(rows) + TAIL)
