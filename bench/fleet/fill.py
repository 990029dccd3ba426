"""Write a fleet with its history: the product's rows, and samples by COPY."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta

import numpy as np
from django.db import connection, transaction

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
from bench.fleet.shape import COARSE_S, END, WINDOW_S, FleetShape, History
from bench.fleet.traffic import Growth, Traffic
from ingest.core.catalogue import CGROUP, CGROUP_PRESSURE, DISKIO, NET, NSTAT, Measurement
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
        note_times(organisation, first_at=history.first_at, last_at=END)
    days = (END.date() - history.first_at.date()).days + 2
    ensure_partitions(history.first_at.date() + timedelta(days=day) for day in range(days))
    _fill_samples(shape, history, series)
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO ingest_block_device_sample (series_id, time, major, minor)"
            " VALUES (%s, %s, 8, 16)",
            [(one, END) for one in series.disk_number],
        )
    with own_connection() as one:
        # The product's connections end a statement that takes so long.
        one.execute("ANALYZE")


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


def _fill_samples(shape: FleetShape, history: History, series: SeriesIds) -> None:
    traffic = Traffic(shape)
    states = PastStates(shape, history)
    calm_until = history.calm_until.timestamp()
    measurements = (CGROUP, CGROUP_PRESSURE, NET, DISKIO, NSTAT)
    writers = {one.table: TableWriter(one.table) for one in measurements}
    tables = _tables(writers, series, first_s=int(history.first_at.timestamp()))
    for block in blocks(history):
        grown = traffic.grow(block.ends_s, block.step_s, block.ends_s > calm_until)
        states.note(block.ends_s, grown)
        for table in tables:
            table.write(block.ends_s, grown)
    for writer in writers.values():
        writer.close()
    states.write()


def _tables(
    writers: Mapping[str, TableWriter], series: SeriesIds, *, first_s: int
) -> list[_Table]:
    found = [
        _Table(writers, CGROUP, series.cgroup, "cgroup"),
        _Table(writers, CGROUP_PRESSURE, series.pressure, "pressure"),
        _Table(writers, NET, series.vnic, "vnic", width=SPEED),
        _Table(writers, DISKIO, series.disk, "disk", gauges=1),
        _Table(writers, NET, series.uplink, "uplink", constant=10_000),
        _Table(writers, NSTAT, series.tcp, "tcp"),
    ]
    for table in found:
        table.begin(first_s)
    return found


class _Table:
    """The series of one column of `Growth`, and how far their counters are."""

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
    ) -> None:
        self._names = [field.name for field in measurement.fields][:width]
        self._writer = writers[measurement.table]
        self._series = np.array(series, dtype=np.int64)
        self._growth = growth
        self._constant = constant
        self._counters = len(self._names) - gauges - (constant is not None)
        self._width = len(self._names) - (constant is not None)
        self._total = np.zeros((len(series), self._counters), np.int64)

    def begin(self, first_s: int) -> None:
        """The first reading of all, from which everything grows."""
        nothing = np.zeros((1, len(self._series), self._width), np.int64)
        self._write(np.array([first_s], np.int64), nothing)

    def write(self, ends_s: Integers, grown: Growth) -> None:
        """The readings at the ends of these steps."""
        found: Integers = getattr(grown, self._growth)
        counters = np.cumsum(found[..., : self._counters], axis=0) + self._total
        self._total = counters[-1]
        self._write(ends_s, np.concatenate([counters, found[..., self._counters :]], -1))

    def _write(self, ends_s: Integers, values: Integers) -> None:
        if self._constant is not None:
            same = np.full((*values.shape[:2], 1), self._constant, np.int64)
            values = np.concatenate([values, same], -1)
        self._writer.write(self._names, ends_s, self._series, values)
