"""What a web server reads of samples through a function, beside the statement of the function."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from functools import cache, partial
from importlib import import_module
from typing import Any
from unittest import mock

from django.db import connection
from psycopg import sql

from accounts.row_wall import look_at, walled
from advisor.history.inventory import inventory_of
from bench.fleet.cost import cost_of
from bench.fleet.rows import Row, at_most
from bench.fleet.shape import END
from bench.fleet.stage import Stage
from bench.pages import as_web_server
from config.database_roles import EMBEDDED_USERS, DatabaseRole
from ingest.binary_cursor import binary_cursor
from ingest.core.figures import CGROUP_IO, FigureKind
from ingest.core.grid import grid_of
from ingest.grid_reader import read_growth, read_newest
from ingest.sample_reads import Asked, Way

RATIO_ASKED = 1.1
TURNS = 25
WAYS = import_module("ingest.migrations.0023_read_samples_by_function").WAYS
SPANS = {
    "last 5 min of {} workloads": (timedelta(minutes=5), 10.0),
    "last hour of {} workloads": (timedelta(hours=1), 10.0),
    "5 h of {} workloads by 15 min": (timedelta(hours=5), 900.0),
}
_TYPES = (
    "bigint[]", "timestamptz", "timestamptz", "interval", "integer", "timestamptz", "timestamptz",
)  # fmt: skip


def reading_rows(stage: Stage) -> list[Row]:
    """A row per span of a datastore: the least of many turns each, one after the other."""
    with as_web_server(), walled() as wall:
        look_at(stage.organisation.pk)
        wall.tell()
        subjects = inventory_of(stage.stores[:1]).subjects[CGROUP_IO]
        reads: dict[str, Callable[[], object]] = {
            what.format(len(subjects)): partial(
                read_growth, CGROUP_IO, subjects, grid_of(END - length, END, window_s)
            )
            for what, (length, window_s) in SPANS.items()
        }
        reads["newest 3 of a workload"] = partial(
            read_newest, CGROUP_IO, subjects[0], most=3, since=END - timedelta(hours=1), until=END
        )
        return [_row(what, read) for what, read in reads.items()]


def _row(what: str, read: Callable[[], object]) -> Row:
    through, direct = [], []
    for _ in range(TURNS):
        through.append(cost_of(read).cpu_s)
        with _directly():
            direct.append(cost_of(read).cpu_s)
    note = f"{1000 * min(through):.2f} ms and {1000 * min(direct):.2f} ms of CPU"
    return at_most(
        f"samples through a function: {what}, CPU beside the statement alone",
        "ratio", RATIO_ASKED, min(through) / min(direct), note,
    )  # fmt: skip


@contextmanager
def _directly() -> Iterator[None]:
    """As somebody who may read the tables."""
    _execute(sql.SQL("RESET ROLE"))
    with mock.patch("ingest.fetched_readings.read_parts", _read_directly):
        yield
    _execute(sql.SQL("SET ROLE {}").format(sql.Identifier(EMBEDDED_USERS[DatabaseRole.WEB])))


def _read_directly(
    way: Way, asked: Mapping[FigureKind[Any], Asked]
) -> dict[FigureKind[Any], list[tuple[Any, ...]]]:
    """The statement of the function with its values."""
    return {kind: _rows_of(way, kind, of_kind) for kind, of_kind in asked.items()}


def _rows_of(way: Way, kind: FigureKind[Any], asked: Asked) -> list[tuple[Any, ...]]:
    reach = asked.reach or timedelta(0)
    values: list[Any] = [
        asked.series, asked.since, asked.until, asked.reach, asked.most,
        asked.since - reach, asked.until + reach / 2,
    ]  # fmt: skip
    with binary_cursor() as cursor:
        cursor.execute(
            _statement(way, kind),
            {f"value{place}": value for place, value in enumerate(values, start=1)},
        )
        found: list[tuple[Any, ...]] = cursor.fetchall()
        return found


@cache
def _statement(way: Way, kind: FigureKind[Any]) -> str:
    columns = [
        sql.SQL(" || int8send(coalesce(sample.{}, -1))").format(sql.Identifier(name))
        for name in kind.columns
    ]
    reading = sql.SQL("timestamptz_send(sample.time)") + sql.Composed(columns)
    words = WAYS[way].replace("%", "%%")
    for place, cast in enumerate(_TYPES, start=1):
        words = words.replace(f"${place}", f"%(value{place})s::{cast}")
    statement = sql.SQL(words).format(
        table=sql.Identifier(kind.measurement.table),
        reading=reading,
        row=sql.SQL("int8send(sample.series_id) || ") + reading,
    )
    return statement.as_string(None)


def _execute(statement: sql.Composable) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)
