"""How charts of a resource and the detector's looks at it grow with its allocations.

The limit is one statement that fetches the readings which the allocations' charts are made of and
does nothing with them. All take turns, so they meet the same minute of the machine.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from advisor.models import Resource
    from tests.web.fleet import Fleet

REPEATS = 9
ALLOCATIONS = (10, 100)
INTERVAL = timedelta(seconds=10)
PART = {"HX-Request": "true"}

Measured = tuple[float, int]
"""Milliseconds and number of queries."""


def run(fleet: Fleet) -> None:
    """Print, for each number of allocations, queries and times beside a plain fetch."""
    from django.db import connection

    from tests.web.many_allocations import shared_datastore

    print(f"{'allocations':>7}  {'what':<20}{'queries':>8}{'median ms':>11}{'median/fetch':>14}")
    for allocations in ALLOCATIONS:
        resource = shared_datastore(fleet, f"shared-{allocations}", allocations=allocations)
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")
        asked = questions(fleet, resource)
        rows: dict[str, list[Measured]] = {name: [] for name in asked}
        for turn in range(REPEATS + 1):
            for name, ask in asked.items():
                once = ask()
                if turn:
                    rows[name].append(once)
        fetch_ms = statistics.median(ms for ms, _ in rows["plain fetch (limit)"])
        for name, found in rows.items():
            took = statistics.median(ms for ms, _ in found)
            queries = max(queries for _, queries in found)
            print(f"{allocations:>7}  {name:<20}{queries:>8}{took:>11.1f}{took / fetch_ms:>14.1f}")


def questions(fleet: Fleet, resource: Resource) -> dict[str, Callable[[], Measured]]:
    """The plain fetch first, then what is compared with it."""
    from django.test import Client

    client = Client()
    client.force_login(fleet.people.operator)
    charts = f"/api/v1/resources/{resource.pk}/charts?range=1h"
    what_if = f"/resources/{resource.pk}/what-if/?hours=24"
    return {
        "plain fetch (limit)": lambda: measured(lambda: fetch(fleet, resource)),
        "page": lambda: measured(lambda: client.get(f"/resources/{resource.pk}/")),
        "charts of an hour": lambda: measured(lambda: client.get(charts)),
        "what-if, first": lambda: first(lambda: client.get(what_if, headers=PART)),
        "first look, an hour": lambda: look(fleet, resource, after=None),
        "next look": lambda: look(fleet, resource, after=INTERVAL),
    }


def measured(ask: Callable[[], object]) -> Measured:
    """How long it takes, and how many queries it sends."""
    from django.db import connection

    queries = 0

    def counted(execute: Callable[..., object], *call: object) -> object:
        nonlocal queries
        queries += 1
        return execute(*call)

    with connection.execute_wrapper(counted):
        begin = time.perf_counter()
        ask()
        return 1000 * (time.perf_counter() - begin), queries


def first(ask: Callable[[], object]) -> Measured:
    """The same when nothing is remembered."""
    from django.core.cache import cache

    cache.clear()
    return measured(ask)


def fetch(fleet: Fleet, resource: Resource) -> list[tuple[object, ...]]:
    """An hour's readings of every allocation's I/O."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT sample.* FROM ingest_cgroup_sample AS sample
             WHERE time > %s AND time <= %s AND series_id = ANY(ARRAY(
                SELECT series.id FROM ingest_series AS series
                  JOIN advisor_allocation AS allocation
                    ON series.host_id = allocation.host_id AND series.subject = allocation.adapter
                 WHERE allocation.resource_id = %s AND series.measurement = 'cgroup'))
            """,
            [fleet.now - timedelta(hours=1), fleet.now, resource.pk],
        )
        rows: list[tuple[object, ...]] = cursor.fetchall()
        return rows


def look(fleet: Fleet, resource: Resource, *, after: timedelta | None) -> Measured:
    """A look of the detector, so long after an earlier one or the first; it is taken back."""
    from django.db import transaction

    from advisor.models import ResourceStatus
    from advisor.pipeline.detect import detect
    from ingest.models import Host

    hosts = Host.objects.filter(pk__in=resource.attachments.values("host"))
    with transaction.atomic():
        ResourceStatus.objects.filter(resource=resource).delete()
        if after is not None:
            hosts.update(last_sample_at=fleet.now - after)
            detect(resource=resource, now=fleet.now - after)
            hosts.update(last_sample_at=fleet.now)
        found = measured(lambda: detect(resource=resource, now=fleet.now))
        transaction.set_rollback(True)
    return found
