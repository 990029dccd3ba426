"""The day on which an uplink or a pool is full, on its page, by command and by the API."""

from __future__ import annotations

import json
from datetime import date
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command

from advisor.decisions.pools import set_pool
from advisor.models import DemandOutlook, Pool, Resource
from tests.advisor.scenario import MBIT, Cluster, make_cluster
from tests.web.api.asking import program_of
from tests.web.conftest import client_of
from tests.web.html import page_of

pytestmark = pytest.mark.django_db

LAST = date(2026, 11, 19)
UNTIL = date(2027, 2, 17)
FORETOLD: dict[str, dict[str, Any]] = {
    "within 5 % of 60.0 Mbit/s between 2026-11-25 and 2026-12-20, about 2026-12-02 (80 %)": {
        "soonest_day": date(2026, 11, 25),
        "median_day": date(2026, 12, 2),
        "latest_day": date(2026, 12, 20),
    },
    "within 5 % of 60.0 Mbit/s between 2026-11-25 and a day after 2027-02-17 (80 %)": {
        "soonest_day": date(2026, 11, 25)
    },
    "not within 5 % of 60.0 Mbit/s by 2027-02-17, in 90 % of outcomes": {},
    "not within 5 % of 60.0 Mbit/s by 2027-02-17, in 90 % of outcomes; it was so near last on "
    "2026-11-01": {"reached_day": date(2026, 11, 1)},
    "not foretold: not enough history: 10 of 28 days are known": {
        "gap": "not enough history: 10 of 28 days are known",
        "full_rate": None,
        "until_day": None,
    },
}


@pytest.fixture
def cluster() -> Cluster:
    found = make_cluster()
    found.allocations[0].reservation = 0.0
    found.allocations[0].save()
    set_pool(resource=found.uplink, name="web", limit=60 * MBIT, members=["web-1", "web-2"])
    return found


def foresee(cluster: Cluster, *, pool: Pool | None, **terms: Any) -> None:
    known = {"full_rate": 60 * MBIT, "until_day": UNTIL, "last_day": LAST}
    DemandOutlook.objects.create(resource=cluster.uplink, pool=pool, **known | terms)


def shown(cluster: Cluster) -> str:
    answer = client_of(cluster.people.viewer).get(f"/resources/{cluster.uplink.pk}/")
    return " ".join(page_of(answer).all_text().split())


def row_of(command: str) -> dict[str, Any]:
    out = StringIO()
    call_command(command, "--organisation", "acme", "--json", stdout=out)
    (row,) = json.loads(out.getvalue())
    assert isinstance(row, dict)
    return row


@pytest.mark.parametrize("said", FORETOLD)
def test_pool_says_when_it_is_full_with_its_interval_or_why_not(
    cluster: Cluster, said: str
) -> None:
    foresee(cluster, pool=cluster.uplink.pools.get(), **FORETOLD[said])

    assert said in shown(cluster)
    assert row_of("pool")["full"] == said


@pytest.mark.parametrize("said", FORETOLD)
def test_uplink_says_when_it_is_full(cluster: Cluster, said: str) -> None:
    foresee(cluster, pool=None, **FORETOLD[said])

    assert said.capitalize()[0] + said[1:] in shown(cluster)
    assert row_of("resource")["full"] == said


def test_before_the_first_day_that_is_said(cluster: Cluster) -> None:
    assert row_of("resource")["full"] == "not foretold: no whole day has been read yet"
    assert row_of("pool")["full"] == "not foretold: no whole day has been read yet"


def test_capacity_that_is_not_set_is_said(cluster: Cluster) -> None:
    Resource.objects.update(capacity=None)

    assert row_of("resource")["full_day"] == {"gap": "its capacity is not set", "ahead": []}


def test_program_reads_days_and_bounds(cluster: Cluster) -> None:
    ahead = [{"days": 7, "low": 1.0, "median": 2.0, "high": 3.0}]
    pool = cluster.uplink.pools.get()
    for one in (pool, None):
        foresee(cluster, pool=one, soonest_day=date(2026, 11, 25), ahead=ahead)
    program = program_of(cluster.people.viewer, cluster.organisation)

    answers = [
        program("GET", path).json()["full_day"]
        for path in (f"pools/{pool.pk}", f"resources/{cluster.uplink.pk}")
    ]

    for found in answers:
        assert (found["soonest_day"], found["latest_day"]) == ("2026-11-25", None)
        assert (found["until_day"], found["gap"], found["ahead"]) == ("2027-02-17", "", ahead)


def test_forecast_is_no_change_of_what_is_stated(cluster: Cluster) -> None:
    """An ETag is of what people state, so a new day refuses nobody's change."""
    path = f"pools/{cluster.uplink.pools.get().pk}"
    program = program_of(cluster.people.viewer, cluster.organisation)
    before = program("GET", path).headers["ETag"]

    foresee(cluster, pool=cluster.uplink.pools.get())

    assert program("GET", path).headers["ETag"] == before
