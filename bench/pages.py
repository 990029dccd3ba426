"""How long pages take on a day of history, beside a page that asks the database nothing.

Run `python -m bench.pages`. The floor is the sign-in page: the same middleware, the same
templates' frame, no rows. Pages take turns, so all meet the same minute of the machine; the first
answer of each is told apart, because a person who opens a page in the morning gets that one.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from bench import many_allocations
from bench.private_server import private_server

if TYPE_CHECKING:
    from django.test import Client

    from tests.web.fleet import Fleet

REPEATS = 9


def main() -> None:
    """Print one line per page: first and median time, and the ratio to the floor."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hours", type=float, default=24.0, help="history behind the pages")
    parser.add_argument("--timescaledb", action="store_true", help="hypertables, where installed")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="sluice-bench-", dir="/tmp") as folder:
        Path(folder).chmod(0o711)
        with private_server(Path(folder), timescaledb=options.timescaledb):
            run(hours=options.hours)


def run(*, hours: float) -> None:
    """Ask for every page in turn, and once more from the start."""
    from django.core.cache import cache
    from django.test import Client
    from django.test.utils import setup_test_environment

    from tests.web.scenario import noisy_neighbour

    setup_test_environment()
    fleet = noisy_neighbour(datetime.now(UTC).replace(microsecond=0), hours=hours)
    signed_in, stranger = Client(), Client()
    signed_in.force_login(fleet.people.operator)
    asked: dict[str, Callable[[], object]] = {"sign in (floor)": lambda: stranger.get("/login/")}
    for name, (address, headers) in addresses(fleet).items():
        asked[name] = partial(page, signed_in, address, headers)
    asked["sign in (floor)"]()
    first: dict[str, float] = {}
    later: dict[str, list[float]] = {name: [] for name in asked}
    for turn in range(REPEATS + 1):
        for name, ask in asked.items():
            if turn == 0:
                cache.clear()
            begin = time.perf_counter()
            ask()
            took = 1000 * (time.perf_counter() - begin)
            if turn == 0:
                first[name] = took
            else:
                later[name].append(took)
    print_table(first, {name: statistics.median(times) for name, times in later.items()})
    print()
    many_allocations.run(fleet)


def page(client: Client, address: str, headers: dict[str, str]) -> object:
    """The response, if it is a page."""
    response = client.get(address, headers=headers)
    if response.status_code != 200:
        raise SystemExit(f"{address}: {response.status_code}")
    return response


def addresses(fleet: Fleet) -> dict[str, tuple[str, dict[str, str]]]:
    """What people open, with the headers their browser sends."""
    from advisor.models import Incident, Recommendation

    nfs = fleet.resources["nfs-07"].pk
    up = fleet.resources["kvm-02/eno1"].pk
    incident = Incident.objects.order_by("-pk").values_list("pk", flat=True)[0]
    advice = Recommendation.objects.order_by("-pk").values_list("pk", flat=True)[0]
    part = {"HX-Request": "true"}
    charts = f"/api/v1/resources/{nfs}/charts"
    return {
        "overview": ("/", {}),
        "datastore": (f"/resources/{nfs}/", {}),
        "uplink": (f"/resources/{up}/", {}),
        "recommendations": ("/recommendations/", {}),
        "recommendation": (f"/recommendations/{advice}/", {}),
        "incidents": ("/incidents/", {}),
        "incident": (f"/incidents/{incident}/", {}),
        "incident's cause": (f"/incidents/{incident}/cause/", part),
        "hosts": ("/hosts/", {}),
        "host": (f"/hosts/{fleet.hosts['kvm-02'].pk}/", {}),
        "charts of an hour": (f"{charts}?range=1h", {}),
        "charts of a day": (f"{charts}?range=24h", {}),
        "what-if": (f"/resources/{nfs}/what-if/", {}),
        "what-if of a day": (f"/resources/{nfs}/what-if/?hours=24", part),
        "replay": ("/replay/sioc-nfs-shares/", {}),
    }


def print_table(first: dict[str, float], median: dict[str, float]) -> None:
    floor = next(iter(median.values()))
    print(f"{'page':<22}{'first ms':>10}{'median ms':>11}{'median/floor':>14}")
    for name, took in median.items():
        print(f"{name:<22}{first[name]:>10.0f}{took:>11.1f}{took / floor:>14.1f}")


if __name__ == "__main__":
    main()
