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

import numpy as np
import numpy.typing as npt
from django.db import connection

from ingest.core.catalogue import Measurement
from ingest.core.figures import (
    CGROUP_IO,
    CLIENT,
    DISK,
    HELD,
    INTERFACE,
    OWN_TIME,
    PRESSURE,
    TCP,
)
from ingest.core.grid import EPOCH, LONGEST_INTERVAL_S, MICROSECOND, microseconds
from ingest.many_copies import array_text
from ingest.models import LateSamples
from ingest.series_rows import MOST_BEHIND, SeriesBefore

WINDOW = timedelta(seconds=10)
PATIENCE = timedelta(seconds=10)
"""So long after its end a window waits for the samples of a series that sent lately."""
COMMIT_MARGIN = timedelta(seconds=5)
"""A write may take so long from its beginning until others see it."""
LONGEST_INTERVAL = timedelta(seconds=LONGEST_INTERVAL_S)
JUDGED = {
    kind.measurement
    for kind in (DISK, INTERFACE, CGROUP_IO, PRESSURE, HELD, OWN_TIME, CLIENT, TCP)
}
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
        if newest is not None and _needs_search(one.first - newest):
            disordered[one.measurement].append(series)
        else:
            _note(found, before[series].host, one.first, newest, now)
    for measurement, series_of in disordered.items():
        previous = _previous(measurement, [(one, wrote[one].first) for one in series_of])
        for series in series_of:
            first, newest = wrote[series].first, before[series].last_sample_at
            if newest is None or first <= newest:
                # A sample before it may be sealed, and its row gone.
                newest = first - LONGEST_INTERVAL
            _note(found, before[series].host, first, previous.get(series, newest), now)
    LateSamples.objects.bulk_create(
        LateSamples(host_id=host, changed_from=at) for host, at in sorted(found.items())
    )


def _needs_search(gap: timedelta) -> bool:
    """Whether the sample before a new one must be looked for, by how far that is after the newest.

    The newest is that of the row of the series, which may be behind. Where an interval may begin
    with it, it is taken for the one before: then too much is judged again, and never too little.
    """
    return gap <= timedelta(0) or LONGEST_INTERVAL < gap <= LONGEST_INTERVAL + MOST_BEHIND


def may_be_late(
    newest_us: npt.NDArray[np.int64], first_us: npt.NDArray[np.int64], *, now: datetime
) -> npt.NDArray[np.bool_]:
    """For which of many series a first new time may be noted, by their newest sample.

    Times are µs since 1970, the smallest number if there is none. A sample that follows another
    in order, and soon, is no late one; of the others `note_late_samples` has to say.
    """
    window_us = WINDOW // MICROSECOND
    at = newest_us + _SNAP // MICROSECOND
    first_end = at - at % window_us + window_us
    due = microseconds(now + COMMIT_MARGIN - PATIENCE)
    late: npt.NDArray[np.bool_] = ~follows(newest_us, first_us) | (first_end <= due)
    return late


def follows(
    newest_us: npt.NDArray[np.int64], first_us: npt.NDArray[np.int64]
) -> npt.NDArray[np.bool_]:
    """Which samples come after the newest of their series, and with it make an interval.

    Those that are late change everything from that newest sample on.
    """
    longest_us = LONGEST_INTERVAL // MICROSECOND
    # Compared this way, because the smallest number must not be subtracted.
    found: npt.NDArray[np.bool_] = (first_us > newest_us) & (newest_us >= first_us - longest_us)
    return found


def noting_late(changed_from_us: Mapping[int, int]) -> bytes:
    """The statement that notes by host from when on (µs since 1970) a write changed the past."""
    if not changed_from_us:
        return b""
    hosts, since = array_text(changed_from_us), array_text(changed_from_us.values())
    return (
        "INSERT INTO ingest_latesamples (host_id, changed_from)"  # noqa: S608  whole numbers
        " SELECT host_id, to_timestamp(0) + at_us * interval '1 microsecond'"
        f" FROM unnest('{hosts}'::bigint[], '{since}'::bigint[]) AS late(host_id, at_us);"
    ).encode()


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
    series = [one for one, _ in firsts]
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT place, at FROM ingest_samples_before("
            "%s, 'series_id', %s, %s, make_interval(secs => %s), is_at => false)",
            [measurement.table, series, [at for _, at in firsts], LONGEST_INTERVAL_S],
        )
        return {series[place - 1]: at for place, at in cursor.fetchall()}
