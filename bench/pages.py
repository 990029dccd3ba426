"""How long pages take on the fleet of `bench.fleet`: 20 calls each, against their limits.

Run `python -m bench.pages`, or with `--lists` for the lists of a fleet of 10,000 workloads alone.
The floor is the sign-in page: the same middleware and frame, no rows. Each page is asked for 20
times, and as often right after the cache was emptied.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.fleet.lag import percentile
from bench.fleet.rows import Row, below, not_measured

if TYPE_CHECKING:
    from django.db.models import Model
    from django.test import Client

    from bench.fleet.stage import Stage

CALLS = 20
LONGEST_S = 60.0
"""A page that takes longer for its calls is asked for less often."""
FEWEST = 3
LIMIT_MS = 100.0
LIMITS_MS = {
    "what-if": 200.0,
    "incident's cause": 300.0,
    "incident's timeline": 300.0,
    "incident's layers": 300.0,
    "workload's layers": 300.0,
    "datastore's devices": 300.0,
    "enforcement": 300.0,
    # Parts that the overview asks for once it is shown; the first is kept for five minutes.
    "overview's promises by tier, all enforced": 500.0,
    "overview's lists, all enforced": 500.0,
}
ASKED_AGAIN = ("overview", "overview's promises by tier", "datastore", "hosts", "host", "workload")
LISTED = 10_000
"""Workloads of the fleet whose lists are asked for, with 20 minutes of history."""
Page = tuple[str, Mapping[str, str]]
"""An address, and the headers that a browser sends with it."""
PART = {"HX-Request": "true"}
LISTS = {
    "workloads": "/workloads/",
    "workloads, page 100": "/workloads/?page=100",
    "workloads of a host": "/workloads/?host=node-0007",
    "workloads by name": "/workloads/?q=vm-07",
    "workloads by state": "/workloads/?sort=-state",
    "workloads in groups of hosts": "/workloads/?group=host",
    "workloads by rate": "/workloads/?sort=-rate",
    "storage": "/storage/",
    "networks": "/networks/",
    "hosts": "/hosts/",
    "hosts by rate": "/hosts/?sort=-rate",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """Milliseconds of each call, and the CPU time of the cheapest of three with an empty cache."""

    warm: list[float]
    emptied: list[float]
    cpu_ms: float

    @property
    def p95(self) -> float:
        """The larger 95th percentile of both ways."""
        return max(percentile(self.warm, 95), percentile(self.emptied, 95))


def main() -> None:
    """Print a line per page; status 1 if one is above its limit."""
    from bench.fleet.rows import as_table
    from bench.fleet.shape import MONTH, FleetShape
    from bench.fleet.staged import own_server, staged_fleet

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workloads", type=int)
    parser.add_argument("--lists", action="store_true", help="of 10,000 workloads, alone")
    parser.add_argument("--database", choices=("plain", "timescale"), default="plain")
    options = parser.parse_args()
    timescaledb = options.database == "timescale"
    if options.lists:
        with own_server(timescaledb=timescaledb):
            rows = list_rows(options.workloads or LISTED, print)
    else:
        shape = FleetShape(workloads=options.workloads or 2000)
        with staged_fleet(shape, MONTH, timescaledb=timescaledb) as stage:
            rows = page_rows(stage)
    print(as_table(rows))
    raise SystemExit(not all(row.holds for row in rows))


def page_rows(stage: Stage) -> list[Row]:
    """A row per page: the 95th percentile of its calls, all windows being judged."""
    from bench.fleet.enforced import enforce
    from bench.fleet.shape import END

    stage.judge(stage.resources, END)
    rows = _measured(addresses(stage), stage.say)
    # Last, because the other pages are those of a fleet that is only watched.
    count = enforce(stage.organisation, now=END)
    stage.say(f"{count} allocations have a policy that their agents report on")
    return rows + _measured(_of_enforced(addresses(stage)), stage.say)


def _of_enforced(pages: Mapping[str, Page | None]) -> dict[str, Page | None]:
    """Pages that also say what agents report."""
    lists: Page = ("/?part=lists", PART)
    again = {name: pages[name] for name in ASKED_AGAIN} | {"overview's lists": lists}
    return {
        "enforcement": ("/enforcement/", {}),
        **{f"{name}, all enforced": one for name, one in again.items()},
    }


def list_rows(workloads: int, say: Callable[[str], None]) -> list[Row]:
    """A row per list of a fleet of this size, in a database of its own."""
    from bench.fleet.databases import another_database, keep_still
    from bench.fleet.fill import fill
    from bench.fleet.shape import BRIEF, FleetShape
    from bench.fleet.stage import find_stage, judge_all

    shape = FleetShape(workloads=workloads)
    with another_database("fleet_lists"):
        fill(shape, BRIEF)
        keep_still()
        # Lists show the states of resources and what workloads got in their newest window.
        cost = judge_all(find_stage(shape, BRIEF, say))
        say(f"20 minutes of {workloads} workloads judged: {cost.cpu_s:.1f} s of CPU")
        named = {f"{name}, of {workloads} workloads": one for name, one in LISTS.items()}
        return _measured({name: (one, {}) for name, one in named.items()}, say)


def _measured(pages: Mapping[str, Page | None], say: Callable[[str], None]) -> list[Row]:
    """A row per page; one that the fleet does not have says so."""
    from django.contrib.auth.models import User
    from django.test import Client
    from django.test.utils import override_settings

    from appliance.web_server import spare_collector
    from bench.fleet.clock import frozen_at
    from bench.fleet.inventory import OPERATOR
    from bench.fleet.shape import END

    spare_collector()
    client, stranger = Client(), Client()
    client.force_login(User.objects.get(username=OPERATOR))
    # The set-up of tests would copy the context of each template that is rendered.
    with frozen_at(END), override_settings(ALLOWED_HOSTS=["testserver"]), as_web_server():
        floor = _times(lambda: stranger.get("/login/"))
        say(f"sign-in page (floor): {floor.p95:.0f} ms")
        rows = []
        for name, page in pages.items():
            rows.append(page_row(name, None if page is None else _times(_asking(client, *page))))
            say(_said(rows[-1]))
    return rows


@contextmanager
def as_web_server() -> Iterator[None]:
    """Pages have the rights of a web server in the database, and its walls."""
    from django.db import connection
    from django.test.utils import override_settings

    from config.database_roles import EMBEDDED_USERS, DatabaseRole, grant_rights
    from config.row_walls import build_walls

    build_walls(connection, EMBEDDED_USERS)
    grant_rights(connection, EMBEDDED_USERS)
    with connection.cursor() as cursor, override_settings(HAS_ROW_WALLS=True):
        cursor.execute(f"SET ROLE {EMBEDDED_USERS[DatabaseRole.WEB]}")
        try:
            yield
        finally:
            cursor.execute("RESET ROLE")
            cursor.execute("SET sluice.sees = 'all'")


def page_row(name: str, times: Times | None) -> Row:
    """The row of a page; without times there is no such page in the fleet."""
    what, limit = f"page: {name}, p95 of {CALLS} calls", LIMITS_MS.get(name, LIMIT_MS)
    if times is None:
        return not_measured(what, "ms", f"< {limit:g}", "nothing in the fleet has such a page")
    warm, emptied = percentile(times.warm, 50), percentile(times.emptied, 50)
    note = f"median {warm:.0f} ms, with an empty cache {emptied:.0f} ms, CPU {times.cpu_ms:.0f} ms"
    if len(times.emptied) < CALLS:
        note += f" ({len(times.emptied)} calls)"
    return below(what, "ms", limit, times.p95, note)


def _said(row: Row) -> str:
    measured = "not measured" if row.measured is None else f"{row.measured:.0f} ms"
    return f"{row.what}: {measured}; {row.note}"


def _times(ask: Callable[[], object]) -> Times:
    from django.core.cache import cache

    from bench.fleet.cost import least_of

    ask()
    warm = _calls(ask, before=lambda: None)
    emptied = _calls(ask, before=cache.clear)

    def ask_anew() -> None:
        cache.clear()
        ask()

    return Times(warm=warm, emptied=emptied, cpu_ms=1000 * least_of([ask_anew] * 3).cpu_s)


def _calls(ask: Callable[[], object], *, before: Callable[[], object]) -> list[float]:
    found: list[float] = []
    begin = time.perf_counter()
    while len(found) < CALLS:
        if len(found) >= FEWEST and time.perf_counter() - begin > LONGEST_S:
            break
        before()
        asked = time.perf_counter()
        ask()
        found.append(1000 * (time.perf_counter() - asked))
    return found


def _asking(client: Client, address: str, headers: Mapping[str, str]) -> Callable[[], object]:
    def ask() -> object:
        response = client.get(address, headers=headers)
        if response.status_code != 200:
            raise RuntimeError(f"{address}: {response.status_code}")
        return response

    return ask


def addresses(stage: Stage) -> dict[str, Page | None]:
    """What people open; None if the fleet has no row with such a page."""
    from advisor.models import Incident, Recommendation, Workload
    from ingest.models import Host

    store, uplink = stage.stores[0], stage.uplinks[0]
    incident = Incident.objects.filter(resource=store).first()
    workload = Workload.objects.first()
    return {
        "overview": ("/", {}),
        "overview's top movers": ("/?part=movers", PART),
        "overview's map of workloads": ("/?part=map", PART),
        "overview's promises by tier": ("/?part=promises", PART),
        "datastore": (f"/resources/{store.pk}/", {}),
        "datastore's devices": (f"/resources/{store.pk}/?part=devices", PART),
        "uplink": (f"/resources/{uplink.pk}/", {}),
        "24 h charts of a datastore": (f"/api/v1/resources/{store.pk}/charts?range=24h", {}),
        "24 h charts of an uplink": (f"/api/v1/resources/{uplink.pk}/charts?range=24h", {}),
        "7 d charts of a datastore": (f"/api/v1/resources/{store.pk}/charts?range=7d", {}),
        "what-if": (f"/resources/{store.pk}/what-if/?hours=24", PART),
        "recommendations": ("/recommendations/", {}),
        "incidents": ("/incidents/", {}),
        "hosts": ("/hosts/", {}),
        "calibration": ("/calibration/", {}),
        "workloads": ("/workloads/", {}),
        "storage": ("/storage/", {}),
        "networks": ("/networks/", {}),
        "search": ("/search/?q=vm-00", {}),
        "incident": _page_of(incident, "/incidents/{}/"),
        "incident's cause": _page_of(incident, "/incidents/{}/cause/", PART),
        "incident's timeline": _page_of(incident, "/incidents/{}/timeline/", PART),
        "incident's layers": _page_of(incident, "/incidents/{}/layers/", PART),
        "recommendation": _page_of(Recommendation.objects.first(), "/recommendations/{}/"),
        "host": _page_of(Host.objects.first(), "/hosts/{}/"),
        "workload": _page_of(workload, "/workloads/{}/"),
        "workload's layers": _page_of(workload, "/workloads/{}/?part=layers", PART),
    }


def _page_of(
    row: Model | None, address: str, headers: Mapping[str, str] | None = None
) -> Page | None:
    return None if row is None else (address.format(row.pk), headers or {})


if __name__ == "__main__":
    main()
