"""Write a fleet with its history: the product's rows, and samples by COPY."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

import numpy as np
import psycopg
from django.db import connection, transaction

from bench.fleet.copy_rows import HEAD, TAIL, Integers, packed_rows, timestamps
from bench.fleet.inventory import (
    SeriesIds,
    make_organisation,
    make_resources,
    make_series,
    note_times,
)
from bench.fleet.past_states import PastStates
from bench.fleet.shape import COARSE_S, END, WINDOW_S, FleetShape, History
from bench.fleet.traffic import Growth, Traffic
from ingest.core.catalogue import CGROUP, CGROUP_PRESSURE, DISKIO, NET, NSTAT, Measurement
from ingest.partitions import ensure_partitions

BLOCK = 90
"""Steps that are computed at a time."""
SPEED = len(NET.fields) - 1
LARGE_SORT = "SET maintenance_work_mem = '512MB'"


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Times of some steps, in order, and what precedes the first of them."""

    ends_s: Integers
    step_s: int


def fill(shape: FleetShape, history: History) -> None:
    """Write the fleet with all its samples and past states."""
    with transaction.atomic():
        organisation = make_organisation()
        series = make_series(organisation, shape)
        make_resources(organisation, shape)
        note_times(organisation, first_at=history.first_at, last_at=END)
    days = (END.date() - history.first_at.date()).days + 2
    ensure_partitions(history.first_at.date() + timedelta(days=day) for day in range(days))
    with _without_keys([CGROUP, CGROUP_PRESSURE, NET]):
        _fill_samples(shape, history, series)
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO ingest_block_device_sample (series_id, time, major, minor)"
            " VALUES (%s, %s, 8, 16)",
            [(one, END) for one in series.disk_number],
        )
        # Ingest would have put the hours on the list of those that are to be sealed.
        cursor.execute(
            "INSERT INTO ingest_openhour (host_id, at) SELECT id, generate_series("
            "date_trunc('hour', %s::timestamptz), %s, interval '1 hour') FROM ingest_host",
            [history.first_at, END],
        )
    with _own_connection() as one:
        # The product's connections end a statement that takes so long.
        one.execute("ANALYZE")


def blocks(history: History) -> Iterator[Block]:
    """The steps of a history: the coarse part, then the windows."""
    fine_since = int(END.timestamp()) - history.fine_s
    parts = (
        (fine_since - history.coarse_s, fine_since, COARSE_S),
        (fine_since, int(END.timestamp()), WINDOW_S),
    )
    for since, until, step_s in parts:
        ends_s = np.arange(since + step_s, until + 1, step_s, dtype=np.int64)
        for first in range(0, len(ends_s), BLOCK):
            yield Block(ends_s=ends_s[first : first + BLOCK], step_s=step_s)


def _fill_samples(shape: FleetShape, history: History, series: SeriesIds) -> None:
    traffic = Traffic(shape)
    states = PastStates(shape, history)
    calm_until = history.calm_until.timestamp()
    with _Writer() as writer:
        tables = _tables(writer, series, first_s=int(history.first_at.timestamp()))
        for block in blocks(history):
            grown = traffic.grow(block.ends_s, block.step_s, block.ends_s > calm_until)
            states.note(block.ends_s, grown)
            for table in tables:
                table.write(block.ends_s, grown)
    states.write()


def _tables(writer: _Writer, series: SeriesIds, *, first_s: int) -> list[_Table]:
    found = [
        _Table(writer, CGROUP, series.cgroup, "cgroup"),
        _Table(writer, CGROUP_PRESSURE, series.pressure, "pressure"),
        _Table(writer, NET, series.vnic, "vnic", width=SPEED),
        _Table(writer, DISKIO, series.disk, "disk", gauges=1),
        _Table(writer, NET, series.uplink, "uplink", constant=10_000),
        _Table(writer, NSTAT, series.tcp, "tcp"),
    ]
    for table in found:
        table.begin(first_s)
    return found


class _Writer:
    """Two connections that write at the same time, each what it is given in order."""

    def __enter__(self) -> _Writer:
        self._pool = ThreadPoolExecutor(2)
        self._waiting: list[Future[None]] = []
        self._free = [_own_connection() for _ in range(2)]
        return self

    def __exit__(self, *_: object) -> None:
        self._finish(0)
        self._pool.shutdown()
        for one in self._free:
            one.close()

    def copy(self, statement: str, columns: Sequence[Integers]) -> None:
        """Write the rows soon; at most four blocks wait."""
        self._finish(3)
        self._waiting.append(self._pool.submit(self._copy, statement, columns))

    def _copy(self, statement: str, columns: Sequence[Integers]) -> None:
        one = self._free.pop()
        with one.cursor() as cursor, cursor.copy(statement) as copy:
            copy.write(HEAD + packed_rows(columns) + TAIL)
        self._free.append(one)

    def _finish(self, most: int) -> None:
        while len(self._waiting) > most:
            self._waiting.pop(0).result()


class _Table:
    """The series of one column of `Growth`, and how far their counters are."""

    def __init__(
        self,
        writer: _Writer,
        measurement: Measurement,
        series: list[int],
        growth: str,
        *,
        width: int | None = None,
        gauges: int = 0,
        constant: int | None = None,
    ) -> None:
        names = [field.name for field in measurement.fields][:width]
        quoted = ", ".join(f'"{name}"' for name in names)
        self._writer = writer
        self._statement = (
            f"COPY {measurement.table} (series_id, time, {quoted}) FROM STDIN (FORMAT binary)"
        )
        self._series = np.array(series, dtype=np.int64)
        self._growth = growth
        self._constant = constant
        self._counters = len(names) - gauges - (constant is not None)
        self._width = len(names) - (constant is not None)
        self._total = np.zeros((len(series), self._counters), np.int64)

    def begin(self, first_s: int) -> None:
        """The first reading of all, from which everything grows."""
        nothing = np.zeros((1, len(self._series), self._width), np.int64)
        self._copy(np.array([first_s], np.int64), nothing)

    def write(self, ends_s: Integers, grown: Growth) -> None:
        """The readings at the ends of these steps."""
        found: Integers = getattr(grown, self._growth)
        counters = np.cumsum(found[..., : self._counters], axis=0) + self._total
        self._total = counters[-1]
        self._copy(ends_s, np.concatenate([counters, found[..., self._counters :]], -1))

    def _copy(self, ends_s: Integers, values: Integers) -> None:
        flat = values.reshape(-1, self._width)
        columns = [
            np.tile(self._series, len(ends_s)),
            np.repeat(timestamps(ends_s), len(self._series)),
            *flat.T,
        ]
        if self._constant is not None:
            columns.append(np.full(len(flat), self._constant, np.int64))
        self._writer.copy(self._statement, columns)


@contextmanager
def _without_keys(measurements: Sequence[Measurement]) -> Iterator[None]:
    """The large tables without their keys, which are made in one go afterwards."""
    tables = [measurement.table for measurement in measurements]
    with connection.cursor() as cursor:
        for table in tables:
            cursor.execute(f"ALTER TABLE {table} DROP CONSTRAINT {table}_pkey")
    yield
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(_make_key, tables))


def _make_key(table: str) -> None:
    with _own_connection() as one:
        one.execute(LARGE_SORT)
        one.execute(f"ALTER TABLE {table} ADD PRIMARY KEY (series_id, time)")


def _own_connection() -> psycopg.Connection[tuple[object, ...]]:
    settings = connection.get_connection_params()
    wanted = ("host", "port", "user", "dbname", "password")
    given = {name: settings[name] for name in wanted if settings.get(name)}
    return psycopg.connect(**given, autocommit=True)
