"""A thousand disks that nobody uses: what it costs to look at them all the time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import partial
from statistics import fmean

import numpy as np
from django.db import connection

from accounts.models import Organisation
from advisor.models import Resource
from bench.fleet import product
from bench.fleet.copy_rows import HEAD, TAIL, packed_rows, timestamps
from bench.fleet.cost import cost_of
from bench.fleet.databases import another_database, keep_still
from bench.fleet.inventory import hear_hosts, host_name, make_organisation, note_times
from bench.fleet.rows import Row, at_most, below
from bench.fleet.shape import END, WINDOW_S
from bench.fleet.stage import WINDOW
from ingest.core.catalogue import DISKIO
from ingest.core.mapping import SeriesKey
from ingest.partitions import ensure_partitions
from ingest.series_rows import series_ids

DEVICES = ("sda", "sdb", "sdc", "sdd")
CORES_ASKED = 0.05
STATES_PER_DAY_ASKED = 24.0
DAY_S, HOUR_S = 86_400, 3_600
HISTORY = timedelta(seconds=HOUR_S)
"""Up to the present of the data set: the hour that is then over is sealed."""
WATCHED = timedelta(minutes=1)
"""Time of the product in which all rounds take place, each as often as it comes."""
SEALED_AFTER = timedelta(minutes=30)
"""So long after its end an hour has settled and is sealed."""


def idle_rows(disks: int, say: Callable[[str], None]) -> list[Row]:
    """Cores that all periodic work on idle disks takes, and the states it stores."""
    with another_database("fleet_idle"):
        organisation = fill_idle(disks)
        keep_still()
        return watched_rows(organisation, say)


def watched_rows(organisation: Organisation, say: Callable[[str], None]) -> list[Row]:
    """The same of a filled database: the last minute of an hour is watched, and its end.

    What comes once an hour, and not in this minute, is measured by itself.
    """
    product.discover(organisation)
    resources = list(Resource.objects.filter(organisation=organisation).order_by("pk"))
    since = END - WATCHED
    hear_hosts(organisation, since)
    first = cost_of(lambda: product.judge(resources, since))
    say(f"first look at {len(resources)} idle disks: {first.cpu_s:.1f} s of CPU")
    advised = cost_of(lambda: _advise(since))
    say(f"first advice on them: {advised.cpu_s:.1f} s of CPU")
    before = product.stored_states()
    cores = _cores_of_rounds(organisation)
    between = product.stored_states()
    cores |= _cores_of_the_hour(organisation, resources)
    of_minute, of_hour = between - before, product.stored_states() - between
    states_a_day = (of_minute * HOUR_S / WATCHED.total_seconds() + of_hour) * DAY_S / HOUR_S
    return [
        below(
            f"{len(resources)} idle disks, CPU",
            "cores",
            CORES_ASKED,
            sum(cores.values()),
            "millicores: " + ", ".join(f"{name} {1e3 * used:.3g}" for name, used in cores.items()),
        ),
        at_most(
            "states stored of an idle disk",
            "rows a day",
            STATES_PER_DAY_ASKED,
            states_a_day / len(resources),
            f"{of_minute} in a minute, {of_hour} at the beginning of an hour",
        ),
    ]


def _advise(now: datetime) -> None:
    product.advise_on_policies(now)
    product.advise_where_due(now)


def _cores_of_rounds(organisation: Organisation) -> dict[str, float]:
    """CPU seconds per second of each kind of round, by its name, in the last minute."""
    rounds = product.rounds(organisation)
    used_s: dict[str, list[float]] = {one.name: [] for one in rounds}
    for at, place in turns([one.every_s for one in rounds], until=END, length=WATCHED):
        hear_hosts(organisation, END + (at - END) // WINDOW * WINDOW)
        one = rounds[place]
        used_s[one.name].append(cost_of(partial(one.work, at)).cpu_s)
    return {one.name: fmean(used_s[one.name]) / one.every_s for one in rounds}


def turns(
    every_s: Sequence[float], *, until: datetime, length: timedelta
) -> list[tuple[datetime, int]]:
    """When whose turn is in that time, by place; in order. A rarer one has a turn at its end."""
    found = []
    for place, each_s in enumerate(every_s):
        count = max(int(length.total_seconds() / each_s), 1)
        found += [(until - turn * timedelta(seconds=each_s), place) for turn in range(count)]
    return sorted(found)


def _cores_of_the_hour(
    organisation: Organisation, resources: Sequence[Resource]
) -> dict[str, float]:
    """The same of what comes once an hour.

    The first windows of the new hour are judged in full, and the hour that is over is sealed.
    """
    at = END + WINDOW
    hear_hosts(organisation, at)
    judged = cost_of(lambda: product.judge(resources, at))
    sealed = cost_of(lambda: product.seal(organisation, END + SEALED_AFTER))
    return {
        "first windows of hours": judged.cpu_s / HOUR_S,
        "sealing of hours": sealed.cpu_s / HOUR_S,
    }


def fill_idle(disks: int) -> Organisation:
    """Hosts with four disks each, whose counters stand still for an hour and a window."""
    organisation = make_organisation()
    pairs = [
        (host_name(number // len(DEVICES)), DEVICES[number % len(DEVICES)])
        for number in range(disks)
    ]
    keys = [
        SeriesKey(
            table=DISKIO,
            host=host,
            subject=device,
            tags=(("host", host), ("name", device)),
        )
        for host, device in pairs
    ]
    series = np.array(series_ids(organisation, keys), np.int64)
    first_at, last_at = END - HISTORY, END + WINDOW
    ensure_partitions([END.date()])
    first_s, last_s = int(first_at.timestamp()), int(last_at.timestamp())
    ends_s = np.arange(first_s, last_s + 1, WINDOW_S, dtype=np.int64)
    count = len(ends_s) * disks
    columns = [np.tile(series, len(ends_s)), np.repeat(timestamps(ends_s), disks)]
    columns += [np.zeros(count, np.int64)] * len(DISKIO.fields)
    names = ", ".join(field.name for field in DISKIO.fields)
    statement = f"COPY {DISKIO.table} (series_id, time, {names}) FROM STDIN (FORMAT binary)"
    with connection.cursor() as cursor:
        with cursor.copy(statement) as copy:
            copy.write(HEAD + packed_rows(columns) + TAIL)
        cursor.execute("ANALYZE")
    note_times(organisation, first_at=first_at, last_at=last_at)
    return organisation
