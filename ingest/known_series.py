"""The series that a process has written to, so that it need not look for them again.

What is known of a series holds as long as no series is deleted: the database counts deletions,
and whoever writes asks for that number while it keeps others from deleting (`hold`).

When a series was heard of first and last stands in its row. The row may be behind what is stored
by `MOST_BEHIND` of the samples' time, so not every write has to change the rows of its series.
The first sample of a series is never behind.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from datetime import timedelta
from threading import Lock
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from django.db import connection, transaction

from accounts.models import Organisation
from ingest.core.catalogue import Measurement
from ingest.core.mapping import SeriesKey
from ingest.late_samples import JUDGED
from ingest.many_copies import array_text, copy_in
from ingest.series_rows import MOST_BEHIND, SeriesDeletedError, series_ids

Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

MOST_BEHIND_US = MOST_BEHIND // timedelta(microseconds=1)
BUCKETS = 64
"""Hosts are held in so many parts, by the rest of their key: `ingest_hold_series`."""
NEVER = np.iinfo(np.int64).min
"""Stands in arrays for a time that is not known."""
_MOST_UPTIMES = 100_000
"""So many wait to be looked at; the oldest are left out."""
MOST_SERIES = 2_000_000
"""Of so many series some hundred megabytes are known; then all is forgotten, and learnt again."""


class KnownRow(NamedTuple):
    """A series by its number, with its row and that of its host."""

    number: int
    series: int
    host: int


class KnownSeries:
    """Series by number: their rows, their hosts and the times of their samples (µs since 1970)."""

    def __init__(self, *, deletions: int) -> None:
        self.deletions = deletions
        self._lock = Lock()
        self._numbers: dict[tuple[int, SeriesKey], int] = {}
        self._measurements: list[Measurement] = []
        self._size = 0
        self._series, self._host = _column(0), _column(0)
        self._is_judged: Flags = np.zeros(0, np.bool_)
        # What the rows say at least, and what was written.
        self._noted_first, self._noted_last, self._last = _column(0), _column(0), _column(0)
        # When it was heard of, for what the rows do not say yet.
        self._heard = _column(NEVER)
        self._uptimes: deque[tuple[int, int, int]] = deque(maxlen=_MOST_UPTIMES)

    def __len__(self) -> int:
        return self._size

    def rows(self, organisation: Organisation, keys: Sequence[SeriesKey]) -> list[KnownRow]:
        """The rows of these series, in the same order; those that are new are made."""
        numbers = [self._numbers.get((organisation.pk, key)) for key in keys]
        missing = [key for key, number in zip(keys, numbers, strict=True) if number is None]
        if missing:
            self._learn(organisation, missing)
            numbers = [self._numbers[organisation.pk, key] for key in keys]
        return [
            KnownRow(number, int(self._series[number]), int(self._host[number]))
            for number in numbers
            if number is not None
        ]

    def _learn(self, organisation: Organisation, keys: Sequence[SeriesKey]) -> None:
        ids = series_ids(organisation, keys)
        hosts = np.array([host for host, _, _ in _times_of(ids).values()], np.int64)
        with transaction.atomic():
            # A deletion that was counted already and is not committed would not be noticed later.
            hold(self, hosts)
            found = _times_of(ids)
        if len(found) < len(set(ids)):
            raise SeriesDeletedError
        with self._lock:
            for key, series in zip(keys, ids, strict=True):
                if (organisation.pk, key) not in self._numbers:
                    host, first, last = found[series]
                    self._add(series, host, first, last, is_judged=key.table in JUDGED)
                    self._measurements.append(key.table)
                    self._numbers[organisation.pk, key] = self._size - 1

    def _add(
        self, series: int, host: int, first: int | None, last: int | None, *, is_judged: bool
    ) -> None:
        if self._size == len(self._series):
            more = max(1024, self._size)
            self._series, self._host, self._noted_first, self._noted_last, self._last = (
                np.concatenate([column, np.zeros(more, np.int64)])
                for column in (
                    self._series, self._host, self._noted_first, self._noted_last, self._last
                )
            )  # fmt: skip
            self._heard = np.concatenate([self._heard, np.full(more, NEVER)])
            self._is_judged = np.concatenate([self._is_judged, np.zeros(more, np.bool_)])
        place = self._size
        self._series[place], self._host[place] = series, host
        self._is_judged[place] = is_judged
        self._noted_first[place] = NEVER if first is None else first
        self._noted_last[place] = self._last[place] = NEVER if last is None else last
        self._size += 1

    def check(self, deletions: int) -> None:
        """Raise `SeriesDeletedError` if series were deleted since this was begun."""
        if deletions != self.deletions:
            raise SeriesDeletedError

    def series_of(self, numbers: Numbers) -> Numbers:
        """The rows of series by number."""
        return self._series[numbers]

    def hosts_of(self, numbers: Numbers) -> Numbers:
        """The rows of their hosts."""
        return self._host[numbers]

    def last_of(self, numbers: Numbers) -> Numbers:
        """Their last samples that are known here, or `NEVER`."""
        return self._last[numbers]

    def measurement_of(self, number: int) -> Measurement:
        return self._measurements[number]

    def are_judged(self, numbers: Numbers) -> Flags:
        """Which of them windows are judged by."""
        judged: Flags = self._is_judged[numbers]
        return judged

    def read_last(self, numbers: Numbers) -> None:
        """Take in what the rows of these series say of their last samples.

        Raises `SeriesDeletedError` if one is not there.
        """
        ids = self._series[numbers].tolist()
        found = _times_of(ids)
        if len(found) < len(ids):
            raise SeriesDeletedError
        last = [found[series][2] for series in ids]
        last_us = np.array([NEVER if at is None else at for at in last], np.int64)
        with self._lock:
            self._last[numbers] = np.maximum(self._last[numbers], last_us)
        self.note_last(numbers, last_us)

    def must_be_noted(self, numbers: Numbers, first_us: Numbers, last_us: Numbers) -> Flags:
        """Of which series the rows would be too far behind after a write of these times."""
        noted_first, noted_last = self._noted_first[numbers], self._noted_last[numbers]
        is_new = noted_first == NEVER
        behind = last_us > np.where(is_new, 0, noted_last) + MOST_BEHIND_US
        must: Flags = is_new | (first_us < noted_first) | behind
        return must

    def note_written(self, numbers: Numbers, last_us: Numbers, *, now_us: int | Numbers) -> None:
        """Take in what was committed; it waits to be noted with the rows."""
        with self._lock:
            self._last[numbers] = np.maximum(self._last[numbers], last_us)
            self._heard[numbers] = np.maximum(self._heard[numbers], now_us)

    def note_rows(self, numbers: Numbers, first_us: Numbers, last_us: Numbers) -> None:
        """Take in what the rows of these series say now, as far as it is new."""
        with self._lock:
            first = self._noted_first[numbers]
            self._noted_first[numbers] = np.where(
                first == NEVER, first_us, np.minimum(first, first_us)
            )
        self.note_last(numbers, last_us)

    def note_last(self, numbers: Numbers, last_us: Numbers) -> None:
        """Take in that the rows of these series say these last times, or later ones."""
        with self._lock:
            self._noted_last[numbers] = np.maximum(self._noted_last[numbers], last_us)

    def take_waiting(self) -> tuple[Numbers, Numbers, Numbers]:
        """Series whose rows are behind: number, last sample, and when it was heard of."""
        with self._lock:
            numbers = np.flatnonzero(self._heard[: self._size] != NEVER)
            heard = self._heard[numbers]
            self._heard[numbers] = NEVER
            return numbers, self._last[numbers], heard

    def note_uptimes(self, uptimes: Sequence[tuple[int, int, int]]) -> None:
        """Take in uptimes that were stored: series (row), time (µs since 1970) and seconds."""
        with self._lock:
            self._uptimes.extend(uptimes)

    def take_uptimes(self) -> list[tuple[int, int, int]]:
        """Those that nobody looked at yet."""
        with self._lock:
            taken = list(self._uptimes)
            self._uptimes.clear()
            return taken


def _column(value: int) -> Numbers:
    return np.full(0, value, np.int64)


def new_known_series() -> KnownSeries:
    """Nothing is known yet, as of this moment."""
    with connection.cursor() as cursor:
        cursor.execute(holding(np.zeros(0, np.int64), ()).decode())
        return KnownSeries(deletions=cursor.fetchone()[0])


def hold(known: KnownSeries, hosts: Numbers) -> None:
    """Keep the series of these hosts until the transaction ends.

    Raises `SeriesDeletedError` if one that is known may be gone.
    """
    known.check(copy_in([], last=holding(hosts, ()))[1])


def holding(hosts: Numbers, hours: Collection[tuple[int, int]]) -> bytes:
    """The statement that does so, and selects the number of deletions, which is to be checked.

    Hours of hosts (µs since 1970) are put on the list of those to be sealed, and whoever seals one
    of them waits, too.
    """
    buckets = np.flatnonzero(np.bincount(hosts % BUCKETS, minlength=BUCKETS)).tolist()
    ordered = sorted(hours)
    of_hours = [host for host, _ in ordered], [at_us for _, at_us in ordered]
    arrays = ",".join(f"'{array_text(numbers)}'" for numbers in (buckets, *of_hours))
    return f"SELECT ingest_hold_series({arrays})".encode()


def _times_of(ids: Sequence[int]) -> dict[int, tuple[int, int | None, int | None]]:
    """Host, first and last sample of series, in microseconds since 1970."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT id, host_id,
                   (extract(epoch FROM first_sample_at) * 1000000)::bigint,
                   (extract(epoch FROM last_sample_at) * 1000000)::bigint
              FROM ingest_series WHERE id = ANY(%s::bigint[])
            """,
            [array_text(ids)],
        )
        return {series: (host, first, last) for series, host, first, last in cursor.fetchall()}
