"""A thousand disks that nobody uses: what it costs to look at them all the time."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial

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
from bench.fleet.shape import BRIEF, END, WINDOW_S
from bench.fleet.stage import WINDOW
from ingest.core.catalogue import DISKIO
from ingest.core.mapping import SeriesKey
from ingest.partitions import ensure_partitions
from ingest.series_rows import series_ids

DEVICES = ("sda", "sdb", "sdc", "sdd")
CORES_ASKED = 0.05
STATES_PER_DAY_ASKED = 24.0
DAY_S = 86_400
WATCHED_S = 60.0
"""Time of the product for which the rounds are repeated, each as often as it comes."""


def idle_rows(disks: int, say: Callable[[str], None]) -> list[Row]:
    """Cores that all periodic work on idle disks takes, and the states it stores."""
    with another_database("fleet_idle"):
        organisation = _fill(disks)
        keep_still()
        product.discover(organisation)
        resources = list(Resource.objects.filter(organisation=organisation).order_by("pk"))
        since = END - timedelta(seconds=WATCHED_S)
        hear_hosts(organisation, since)
        first = cost_of(lambda: product.judge(resources, since))
        say(f"first look at {len(resources)} idle disks: {first.cpu_s:.1f} s of CPU")
        advised = cost_of(lambda: _advise(since))
        say(f"first advice on them: {advised.cpu_s:.1f} s of CPU")
        stored = product.stored_states()
        cores = {one.name: _cores(one, organisation, resources) for one in product.rounds()}
        states = (product.stored_states() - stored) / len(resources) * DAY_S / WATCHED_S
    note = ", ".join(f"{name} {used:.2f}" for name, used in cores.items())
    return [
        below(f"{disks} idle disks, CPU", "cores", CORES_ASKED, sum(cores.values()), note),
        at_most("states stored of an idle disk", "rows a day", STATES_PER_DAY_ASKED, states),
    ]


def _advise(now: datetime) -> None:
    product.advise_on_policies(now)
    product.advise_where_due(now)


def _cores(one: product.Round, organisation: Organisation, resources: list[Resource]) -> float:
    """CPU seconds per second: of a round with a new window, and of one without if such come."""
    used_s, count = 0.0, 0
    at = END - timedelta(seconds=WATCHED_S)
    while at < END and count < _ROUNDS:
        at = min(at + timedelta(seconds=one.every_s), END)
        hear_hosts(organisation, END + (at - END) // WINDOW * WINDOW)
        used_s += cost_of(partial(one.work, resources, at)).cpu_s
        count += 1
    return used_s / count / one.every_s


_ROUNDS = 2
"""Rounds of each kind: at twice a window, one of two finds a new window."""


def _fill(disks: int) -> Organisation:
    """Hosts with four disks each, whose counters stand still for twenty minutes."""
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
    first_at = END - timedelta(seconds=BRIEF.fine_s)
    ensure_partitions([END.date()])
    first_s, last_s = int(first_at.timestamp()), int(END.timestamp())
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
    note_times(organisation, first_at=first_at, last_at=END)
    return organisation
