"""Notes of samples that came late, kept by whoever writes samples.

A window is judged when every series that sent lately has sent for it, at the latest 10 s after its
end. A write that comes after that changes windows that may have been judged. It adds a note, and
whoever judges compares it with what was judged: a note too many costs little, one too few would
leave a window as it was judged without its samples.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import connection
from psycopg import sql

from ingest.core.catalogue import Measurement
from ingest.core.figures import CGROUP_IO, DISK, INTERFACE, PRESSURE, TCP
from ingest.core.grid import EPOCH, LONGEST_INTERVAL_S
from ingest.models import LateSamples
from ingest.series_rows import SeriesBefore

WINDOW = timedelta(seconds=10)
PATIENCE = timedelta(seconds=10)
"""So long after its end a window waits for the samples of a series that sent lately."""
COMMIT_MARGIN = timedelta(seconds=5)
"""A write may take so long from its beginning until others see it."""
LONGEST_INTERVAL = timedelta(seconds=LONGEST_INTERVAL_S)
JUDGED = {kind.measurement for kind in (DISK, INTERFACE, CGROUP_IO, PRESSURE, TCP)}
"""What windows are judged by."""
_SNAP = WINDOW / 200
"""A reading so close before an edge counts as taken at the edge."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrote:
    """The first and last time that was written of a series of a measurement."""

    measurement: Measurement
    first: datetime
    last: datetime


def note_late_samples(
    wrote: Mapping[int, Wrote], before: Mapping[int, SeriesBefore], *, now: datetime
) -> None:
    """Note by host from when on a write changed the past, in the transaction that writes it.

    Both are by series: what was written, and what was known of the series before.
    """
    disordered: dict[Measurement, list[int]] = defaultdict(list)
    found: dict[int, datetime] = {}
    for series, one in wrote.items():
        if one.measurement not in JUDGED:
            continue
        newest = before[series].last_sample_at
        if newest is not None and one.first <= newest:
            disordered[one.measurement].append(series)
        else:
            _note(found, before[series].host, one.first, newest, now)
    for measurement, series_of in disordered.items():
        previous = _previous(measurement, [(one, wrote[one].first) for one in series_of])
        for series in series_of:
            first = wrote[series].first
            # A sample before it may be sealed, and its row gone.
            _note(
                found,
                before[series].host,
                first,
                previous.get(series, first - LONGEST_INTERVAL),
                now,
            )
    LateSamples.objects.bulk_create(
        LateSamples(host_id=host, changed_from=at) for host, at in sorted(found.items())
    )


def _note(
    found: dict[int, datetime],
    host: int,
    first: datetime,
    previous: datetime | None,
    now: datetime,
) -> None:
    """Note what a first new sample changes, if windows may have been judged without it."""
    changed_from, waited = first, timedelta(0)
    if previous is not None and first - previous <= LONGEST_INTERVAL:
        # The interval between the two is new, and its first window waited for it.
        changed_from, waited = previous, PATIENCE
    at = changed_from + _SNAP
    first_end = at - (at - EPOCH) % WINDOW + WINDOW
    if first_end + waited <= now + COMMIT_MARGIN:
        found[host] = min(changed_from, found.get(host, changed_from))


def _previous(
    measurement: Measurement, firsts: Sequence[tuple[int, datetime]]
) -> dict[int, datetime]:
    """By series its newest sample before the given time, if an interval can begin with it."""
    query = sql.SQL(
        """
        SELECT wrote.id, previous.time
          FROM unnest(%s::bigint[], %s::timestamptz[]) AS wrote(id, first)
         CROSS JOIN LATERAL (
            SELECT time FROM {table}
             WHERE series_id = wrote.id AND time < wrote.first
               AND time >= wrote.first - make_interval(secs => %s)
             ORDER BY time DESC LIMIT 1
         ) AS previous
        """
    ).format(table=sql.Identifier(measurement.table))
    with connection.cursor() as cursor:
        cursor.execute(
            query, [[one for one, _ in firsts], [at for _, at in firsts], LONGEST_INTERVAL_S]
        )
        return dict(cursor.fetchall())
