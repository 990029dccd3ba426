"""When series and hosts were heard of last is noted behind the writes that say so.

So is that several machines send under one name. It is done a second later for all writes of that
second, so that no write waits for it, and none changes a row for each of its series. What a
process that is killed had not noted is noted with the next samples; the rows are never further
behind than `ingest.series_rows.MOST_BEHIND`.
"""

from __future__ import annotations

import atexit
import logging
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from threading import Thread

import numpy as np
from django.db import DatabaseError, InterfaceError, connection, transaction

from ingest.known_series import NEVER, KnownSeries, Numbers
from ingest.many_copies import array_text
from ingest.shared_names import note_shared_names, series_of_several_machines

log = logging.getLogger(__name__)

NOTED_EVERY_S = 1.0
_MOST_AT_ONCE = 20_000


def note_waiting(known: KnownSeries, *, now: datetime) -> int:
    """Note what the rows do not say yet; the number of series."""
    numbers, last, heard = known.take_waiting()
    for begin in range(0, len(numbers), _MOST_AT_ONCE):
        part = slice(begin, begin + _MOST_AT_ONCE)
        try:
            _note(known, numbers[part], last[part], heard[part])
        except (DatabaseError, InterfaceError):
            known.note_written(numbers[begin:], last[begin:], now_us=heard[begin:])
            raise
    _note_shared_names(known.take_uptimes(), now=now)
    return len(numbers)


def _note_shared_names(uptimes: Sequence[tuple[int, int, int]], *, now: datetime) -> None:
    """Note under which names several machines send; what cannot be told now is soon told again."""
    note_shared_names(series_of_several_machines(uptimes, are_stored=True), now=now)


def note_every_second(note: Callable[[], object]) -> Thread:
    """Start a thread that does it as long as the process lives, and once more at its end."""
    atexit.register(try_to_note, note)
    thread = Thread(target=_note_for_ever, args=(note,), name="noting when heard", daemon=True)
    thread.start()
    return thread


def _note_for_ever(note: Callable[[], object]) -> None:
    while True:
        time.sleep(NOTED_EVERY_S)
        try_to_note(note)


def try_to_note(note: Callable[[], object]) -> None:
    """Do it; what cannot be noted waits for the next time."""
    try:
        note()
    except (DatabaseError, InterfaceError) as error:
        log.warning("not noted when series were heard of", extra={"reason": str(error)})
        connection.close_if_unusable_or_obsolete()


@transaction.atomic
def _note(known: KnownSeries, numbers: Numbers, last_us: Numbers, heard_us: Numbers) -> None:
    hosts, place = np.unique(known.hosts_of(numbers), return_inverse=True)
    newest, heard = np.full(len(hosts), NEVER), np.full(len(hosts), NEVER)
    np.maximum.at(newest, place, last_us)
    np.maximum.at(heard, place, heard_us)
    series = known.series_of(numbers)
    in_order = np.argsort(series)
    with connection.cursor() as cursor:
        cursor.execute(_SETTINGS)
        cursor.execute(_NOTE_SERIES, [_array(series[in_order]), _array(last_us[in_order])])
        cursor.execute(_NOTE_HOSTS, [_array(hosts), _array(newest), _array(heard)])
    known.note_last(numbers, last_us)


# What a crash takes away is noted with the next samples. Rows are changed in the order in which
# they are given, so that no two that do so can wait for each other: by a loop over them, which
# looks each one up. Behind the wall of rows the planner takes a table for so small that it would
# rather go through all of it for each: 1.2 s for 1,000 series among 10,000.
_SETTINGS = """
SET LOCAL synchronous_commit = off;
SET LOCAL enable_hashjoin = off;
SET LOCAL enable_mergejoin = off;
SET LOCAL enable_seqscan = off;
SET LOCAL enable_material = off
"""
_NOTE_SERIES = """
UPDATE ingest_series AS series SET last_sample_at = wrote.last
  FROM (SELECT id, to_timestamp(0) + last_us * interval '1 microsecond' AS last
          FROM unnest(%s::bigint[], %s::bigint[]) AS wrote(id, last_us)) AS wrote
 WHERE series.id = wrote.id AND series.last_sample_at < wrote.last
"""
_NOTE_HOSTS = """
UPDATE ingest_host AS host
   SET last_sample_at =
           greatest(last_sample_at, to_timestamp(0) + last_us * interval '1 microsecond'),
       heard_at = greatest(heard_at, to_timestamp(0) + heard_us * interval '1 microsecond')
  FROM unnest(%s::bigint[], %s::bigint[], %s::bigint[]) AS wrote(id, last_us, heard_us)
 WHERE host.id = wrote.id
"""


def _array(numbers: Numbers) -> str:
    return array_text(numbers.tolist())
