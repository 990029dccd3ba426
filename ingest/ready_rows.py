"""Rows of one body in the form in which they are copied, and what else the body said."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from accounts.models import Organisation
from ingest.core.batch import Batch, Rejection, Rows
from ingest.core.catalogue import SYSTEM, Measurement
from ingest.core.copy_encoding import encode_body
from ingest.core.mapping import Fact
from ingest.known_series import KnownRow, KnownSeries, Numbers
from ingest.partitions import PART_US
from ingest.series_rows import open_hours_of

UPTIME = [column.name for column in SYSTEM.fields].index("uptime")


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """Rows of one table in the binary format, without header and trailer."""

    measurement: Measurement
    rows: bytes
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadyRows:
    """Rows and what their writing touches, of series that are known by number.

    No series comes twice in `numbers`; beside each stand its first and last time (µs since 1970).
    `hours` are hosts with the begin of an hour (µs), `parts` numbers of partitions, `uptimes`
    series (row), time (µs) and uptime (s) of hosts.
    """

    copies: Sequence[Copy]
    numbers: Numbers
    first_us: Numbers
    last_us: Numbers
    hours: Collection[tuple[int, int]]
    parts: Collection[int]
    uptimes: Sequence[tuple[int, int, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadBody:
    """A body as it was read; counts are lines. Rows hold as long as `known` does.

    One series and time is in `rows` once, unless plain lines and others of this body say it.
    """

    known: KnownSeries
    rows: Sequence[ReadyRows]
    facts: Sequence[Fact]
    accepted: int
    ignored: int
    rejected: int
    unknown_lines: int
    unknown: Mapping[tuple[str, str], int]
    rejections: Sequence[Rejection]

    @property
    def row_count(self) -> int:
        return sum(copy.count for rows in self.rows for copy in rows.copies)


def ready_body(batch: Batch, known: KnownSeries, organisation: Organisation) -> ReadBody:
    """The rows of a batch; series that are new are made."""
    return ReadBody(
        known=known,
        rows=[ready_rows(batch, known.rows(organisation, batch.series))] if batch.rows else [],
        facts=batch.facts,
        accepted=batch.accepted_lines,
        ignored=batch.ignored_lines,
        rejected=batch.rejected_lines,
        unknown_lines=batch.unknown_lines,
        unknown=batch.unknown,
        rejections=batch.rejections,
    )


def ready_rows(batch: Batch, series: Sequence[KnownRow]) -> ReadyRows:
    """The rows of a batch; `series` are its series by place."""
    numbers, first, last = _times(batch.rows, series)
    ids = [one.series for one in series]
    host_of = {one.series: one.host for one in series}
    every = [key for rows in batch.rows.values() for key in rows]
    hours = open_hours_of((ids[place], time_us) for place, time_us in every)
    return ReadyRows(
        copies=[_copy(measurement, rows, ids) for measurement, rows in batch.rows.items()],
        numbers=numbers,
        first_us=first,
        last_us=last,
        hours={(host_of[one], at_us) for one, at_us in hours},
        parts={time_us // PART_US for _, time_us in every},
        uptimes=uptimes_of(batch.rows.get(SYSTEM, {}), ids),
    )


def uptimes_of(rows: Rows, ids: Sequence[int]) -> list[tuple[int, int, int]]:
    """Series, time and uptime of rows of the measurement `system`; `ids` are series by place."""
    return [
        (ids[place], time_us, int(uptime))
        for (place, time_us), values in rows.items()
        if (uptime := values[UPTIME]) is not None
    ]


def _copy(measurement: Measurement, rows: Rows, ids: Sequence[int]) -> Copy:
    encoded = encode_body(
        measurement, ((ids[place], time_us, values) for (place, time_us), values in rows.items())
    )
    return Copy(measurement=measurement, rows=encoded, count=len(rows))


def _times(
    tables: Mapping[Measurement, Rows], series: Sequence[KnownRow]
) -> tuple[Numbers, Numbers, Numbers]:
    """The number, first and last time of each series that has rows."""
    times: dict[int, list[int]] = {}
    for place, time_us in chain.from_iterable(tables.values()):
        times.setdefault(place, []).append(time_us)
    return (
        np.array([series[place].number for place in times], np.int64),
        np.array([min(found) for found in times.values()], np.int64),
        np.array([max(found) for found in times.values()], np.int64),
    )
