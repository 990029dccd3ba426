"""Rows of bodies are copied straight into the sample tables, several bodies in one transaction.

That is possible as long as each row is new, which is the rule. Where a row is there already, the
database refuses the COPY, and the body is stored by the way that unites rows (`ingest.write`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache

import numpy as np
from psycopg import sql

from ingest.core.catalogue import Measurement
from ingest.core.copy_encoding import HEADER, TRAILER
from ingest.core.grid import microseconds, moment
from ingest.known_series import NEVER, Flags, KnownSeries, Numbers, holding
from ingest.late_samples import Wrote, follows, may_be_late, note_late_samples, noting_late
from ingest.many_copies import copy_in
from ingest.ready_rows import ReadyRows
from ingest.series_rows import SeriesBefore, note_samples


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """Series by number, each once, with their first and last time (µs since 1970).

    `is_noted` are those whose rows say so; the rows of the others may be left behind.
    """

    numbers: Numbers
    first_us: Numbers
    last_us: Numbers
    is_noted: Flags

    def part(self, which: Flags) -> Written:
        return Written(
            numbers=self.numbers[which],
            first_us=self.first_us[which],
            last_us=self.last_us[which],
            is_noted=self.is_noted[which],
        )


def copy_rows(known: KnownSeries, every: Sequence[ReadyRows], *, now: datetime) -> Written:
    """Store rows of which none is there, in a transaction of others, and note what they touch.

    `note_committed` must follow.
    """
    written = _united(known, every)
    late, disordered = _late(known, written, now=now)
    hours = {hour for rows in every for hour in rows.hours}
    ending = noting_late(late) + holding(known.hosts_of(written.numbers), hours)
    if not written.is_noted.any() and not disordered:
        known.check(_copy(every, last=ending))
        return written
    _copy(every, last=b"SELECT 0")
    if disordered:
        note_late_samples(disordered, _before(known, written), now=now)
    if written.is_noted.any():
        note_samples(_spans(known, written.part(written.is_noted)), heard_at=now)
    # Those who write the other way lock hours last, too.
    known.check(copy_in([], last=ending)[1])
    return written


def note_committed(
    known: KnownSeries, every: Sequence[ReadyRows], written: Written, *, now: datetime
) -> None:
    """Remember what was stored, once the transaction is committed."""
    if written.is_noted.any():
        noted = written.part(written.is_noted)
        known.note_rows(noted.numbers, noted.first_us, noted.last_us)
    known.note_written(written.numbers, written.last_us, now_us=microseconds(now))
    known.note_uptimes([one for rows in every for one in rows.uptimes])


def _by_measurement(every: Iterable[ReadyRows]) -> Mapping[Measurement, list[tuple[bytes, int]]]:
    found: dict[Measurement, list[tuple[bytes, int]]] = defaultdict(list)
    for rows in every:
        for copy in rows.copies:
            found[copy.measurement].append((copy.rows, copy.count))
    # In one order, so that two writers cannot wait for each other.
    return dict(sorted(found.items(), key=lambda item: item[0].name))


def _copy(every: Sequence[ReadyRows], *, last: bytes) -> int:
    """Copy the rows of all, and run a last statement; what that selects."""
    by_measurement = _by_measurement(every)
    copies = [
        (_statement(measurement), b"".join([HEADER, *(rows for rows, _ in parts), TRAILER]))
        for measurement, parts in by_measurement.items()
    ]
    read, selected = copy_in(copies, last=last)
    sent = [sum(count for _, count in parts) for parts in by_measurement.values()]
    assert read == sent, f"invariant encoded-row: {sent} were sent and {read} were read"
    return selected


@cache
def _statement(measurement: Measurement) -> bytes:
    columns = ["series_id", "time", *(column.name for column in measurement.fields)]
    statement = sql.SQL("COPY {table} ({columns}) FROM STDIN (FORMAT binary)").format(
        table=sql.Identifier(measurement.table),
        columns=sql.SQL(", ").join(map(sql.Identifier, columns)),
    )
    return statement.as_bytes(None)


def _united(known: KnownSeries, every: Sequence[ReadyRows]) -> Written:
    if len(every) == 1:
        numbers, first, last = every[0].numbers, every[0].first_us, every[0].last_us
    else:
        numbers, place = np.unique(
            np.concatenate([one.numbers for one in every]), return_inverse=True
        )
        first = np.full(len(numbers), np.iinfo(np.int64).max)
        last = np.full(len(numbers), NEVER)
        np.minimum.at(first, place, np.concatenate([one.first_us for one in every]))
        np.maximum.at(last, place, np.concatenate([one.last_us for one in every]))
    must = known.must_be_noted(numbers, first, last)
    return Written(numbers=numbers, first_us=first, last_us=last, is_noted=must)


def _late(
    known: KnownSeries, written: Written, *, now: datetime
) -> tuple[dict[int, int], dict[int, Wrote]]:
    """What windows must be judged again: by host from when on, and what has to be looked at.

    The former (µs since 1970) is of samples that follow the one before them in order.
    """
    late = may_be_late(known.last_of(written.numbers), written.first_us, now=now)
    maybe = written.part(late & known.are_judged(written.numbers))
    if not len(maybe.numbers):
        return {}, {}
    # Others may have written later samples.
    known.read_last(maybe.numbers)
    last = known.last_of(maybe.numbers)
    follow = follows(last, maybe.first_us)
    late = may_be_late(last, maybe.first_us, now=now)
    since: dict[int, int] = {}
    in_order = late & follow
    hosts = known.hosts_of(maybe.numbers[in_order]).tolist()
    for host, at_us in zip(hosts, last[in_order].tolist(), strict=True):
        since[host] = min(at_us, since.get(host, at_us))
    return since, _wrote(known, maybe.part(late & ~follow))


def _before(known: KnownSeries, written: Written) -> dict[int, SeriesBefore]:
    """What is known of the series, by row."""
    numbers = written.numbers
    rows = zip(
        known.series_of(numbers).tolist(),
        known.hosts_of(numbers).tolist(),
        known.last_of(numbers).tolist(),
        strict=True,
    )
    return {
        series: SeriesBefore(host=host, last_sample_at=None if at == NEVER else moment(at))
        for series, host, at in rows
    }


def _spans(known: KnownSeries, written: Written) -> dict[int, tuple[datetime, datetime]]:
    """First and last time by row of the series."""
    ids = known.series_of(written.numbers).tolist()
    times = zip(ids, written.first_us.tolist(), written.last_us.tolist(), strict=True)
    return {series: (moment(first_us), moment(last_us)) for series, first_us, last_us in times}


def _wrote(known: KnownSeries, written: Written) -> dict[int, Wrote]:
    """The same with their measurements."""
    measurements = map(known.measurement_of, written.numbers.tolist())
    return {
        series: Wrote(measurement=measurement, first=first, last=last)
        for (series, (first, last)), measurement in zip(
            _spans(known, written).items(), measurements, strict=True
        )
    }
