"""Write a fleet with its history: the product's rows, and samples by COPY."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta

import numpy as np
from django.db import connection, transaction

from accounts.models import Organisation
from advisor.history.level_merge import merge_hours
from advisor.history.stored.days import make_days
from advisor.history.stored.level_quarters import write_level_quarters
from advisor.models import StaleDay
from bench.fleet.copy_rows import Integers
from bench.fleet.inventory import (
    SeriesIds,
    make_organisation,
    make_resources,
    make_series,
    note_times,
)
from bench.fleet.past_states import PastStates
from bench.fleet.sample_writer import TableWriter, own_connection, parts_of
from bench.fleet.sealed_hours import SealedHours
from bench.fleet.shape import COARSE_S, END, WINDOW_S, FleetShape, History
from bench.fleet.traffic import Growth, Traffic
from ingest.core.catalogue import CGROUP, CGROUP_PRESSURE, DISKIO, NET, NSTAT, Measurement
from ingest.kept_rows import note_dropped
from ingest.partitions import ensure_partitions

BLOCK = 90
"""Steps that are computed at a time."""
SPEED = len(NET.fields) - 1


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
        note_times(
            organisation,
            first_at=history.first_at,
            last_at=END,
            open_since=history.sealed_until if history.rows_s else None,
        )
    fine_since = END - timedelta(seconds=history.fine_s)
    first = fine_since if history.rows_s else history.first_at
    days = (END.date() - first.date()).days + 2
    ensure_partitions(first.date() + timedelta(days=day) for day in range(days))
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO ingest_block_device_sample (series_id, time, major, minor)"
            " VALUES (%s, %s, 8, 16)",
            [(one, END) for one in series.disk_number],
        )
    sealed = None
    if history.rows_s:
        note_dropped(history.rows_since)
        sealed = SealedHours(
            organisation, shape, since=history.first_at, until=history.sealed_until
        )
    _fill_samples(shape, history, series, sealed)
    if sealed is not None:
        _finish_history(organisation, sealed.close(), history)
    with own_connection() as one:
        # The product's connections end a statement that takes so long.
        one.execute("ANALYZE")


def _finish_history(organisation: Organisation, days: Iterable[date], history: History) -> None:
    """What the product makes of sealed hours: the days that are left, and quarters of states."""
    StaleDay.objects.bulk_create(StaleDay(organisation=organisation, day=day) for day in days)
    make_days(organisation=organisation, now=END, limit_s=3600.0)
    hour = history.first_at
    while hour < history.sealed_until:
        write_level_quarters(organisation, hour)
        hour += timedelta(hours=1)
    merge_hours(organisation=organisation, now=END)


def blocks(history: History) -> Iterator[Block]:
    """The steps of a history: the coarse part, then the windows; each in one partition."""
    fine_since = int(END.timestamp()) - history.fine_s
    parts = (
        (fine_since - history.coarse_s, fine_since, COARSE_S),
        (fine_since, int(END.timestamp()), WINDOW_S),
    )
    for since, until, step_s in parts:
        for ends_s in parts_of(np.arange(since + step_s, until + 1, step_s, dtype=np.int64)):
            for first in range(0, len(ends_s), BLOCK):
                yield Block(ends_s=ends_s[first : first + BLOCK], step_s=step_s)


def _fill_samples(
    shape: FleetShape, history: History, series: SeriesIds, sealed: SealedHours | None
) -> None:
    traffic = Traffic(shape)
    states = PastStates(shape, history)
    calm_until = history.calm_until.timestamp()
    measurements = (CGROUP, CGROUP_PRESSURE, NET, DISKIO, NSTAT)
    writers = {one.table: TableWriter(one.table) for one in measurements}
    tables = _tables(writers, series, shape, history)
    for block in blocks(history):
        grown = traffic.grow(block.ends_s, block.step_s, block.ends_s > calm_until)
        states.note(block.ends_s, grown)
        for table in tables:
            table.write(block, grown)
        if sealed is not None:
            sealed.note(block.ends_s, block.step_s, grown)
    for writer in writers.values():
        writer.close()
    states.write()


def _tables(
    writers: Mapping[str, TableWriter], series: SeriesIds, shape: FleetShape, history: History
) -> list[_Table]:
    found = [
        # A scan of a day of the first group's rows is what advice is compared with.
        _Table(writers, CGROUP, series.cgroup, "cgroup", scanned=shape.group),
        _Table(writers, CGROUP_PRESSURE, series.pressure, "pressure"),
        _Table(writers, NET, series.vnic, "vnic", width=SPEED),
        _Table(writers, DISKIO, series.disk, "disk", gauges=1),
        _Table(writers, NET, series.uplink, "uplink", constant=10_000),
        _Table(writers, NSTAT, series.tcp, "tcp"),
    ]
    for table in found:
        table.begin(history)
    return found


class _Table:
    """The series of one column of `Growth`, and how far their counters are.

    Windows of before there are rows of all series have rows of the first `scanned`.
    """

    def __init__(
        self,
        writers: Mapping[str, TableWriter],
        measurement: Measurement,
        series: list[int],
        growth: str,
        *,
        width: int | None = None,
        gauges: int = 0,
        constant: int | None = None,
        scanned: int = 0,
    ) -> None:
        self._names = [field.name for field in measurement.fields][:width]
        self._writer = writers[measurement.table]
        self._series = np.array(series, dtype=np.int64)
        self._growth = growth
        self._constant = constant
        self._scanned = scanned
        self._rows_since_s = 0.0
        self._counters = len(self._names) - gauges - (constant is not None)
        self._width = len(self._names) - (constant is not None)
        self._total = np.zeros((len(series), self._counters), np.int64)

    def begin(self, history: History) -> None:
        """The first reading of all, from which everything grows."""
        self._rows_since_s = history.rows_since.timestamp()
        if not history.rows_s:
            nothing = np.zeros((1, len(self._series), self._width), np.int64)
            self._write(np.array([int(self._rows_since_s)], np.int64), nothing)

    def write(self, block: Block, grown: Growth) -> None:
        """The readings at the ends of these steps, as far as they are stored as rows."""
        found: Integers = getattr(grown, self._growth)
        counters = np.cumsum(found[..., : self._counters], axis=0) + self._total
        self._total = counters[-1]
        values = np.concatenate([counters, found[..., self._counters :]], -1)
        if block.ends_s[0] >= self._rows_since_s:
            self._write(block.ends_s, values)
        elif block.step_s == WINDOW_S and self._scanned:
            self._write(block.ends_s, values[:, : self._scanned])

    def _write(self, ends_s: Integers, values: Integers) -> None:
        if self._constant is not None:
            same = np.full((*values.shape[:2], 1), self._constant, np.int64)
            values = np.concatenate([values, same], -1)
        series = self._series[: values.shape[1]]
        self._writer.write(self._names, ends_s, series, values)
