"""Pages ask the database a fixed number of questions, however much there is to show."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from advisor.models import ResourceKind, Tier
from tests.web.conftest import client_of
from tests.web.fleet import Fleet
from tests.web.load import Recorder
from tests.web.test_accessibility import PAGES

MOST_QUERIES = 26
LONGEST_S = 0.1
"""The bound of the design; the best of several tries is compared, as the machine has others."""

TRIES = 7


def count_queries(ask: Callable[[], object]) -> int:
    """How many queries it takes when nothing is remembered."""
    cache.clear()
    with CaptureQueriesContext(connection) as captured:
        ask()
    return len(captured)


def grow(fleet: Fleet) -> None:
    """Twenty hosts more, each with a datastore, and twenty claims more on nfs-07."""
    for number in range(20):
        host = f"more-{number}"
        fleet.add_host(host, last_sample_at=fleet.now)
        fleet.add_resource(
            f"{host}/sda",
            ResourceKind.DATASTORE,
            capacity=100.0,
            threshold=20.0,
            attachments=((host, "sda"),),
        )
        fleet.add_claim(fleet.resources["nfs-07"], f"vm-{number}", "kvm-01", Tier.LOW)


@pytest.mark.parametrize("name", PAGES)
def test_page_asks_a_bounded_number_of_queries(viewer: Client, fleet: Fleet, name: str) -> None:
    address = PAGES[name](fleet)

    assert count_queries(lambda: viewer.get(address)) <= MOST_QUERIES


@pytest.mark.parametrize("name", PAGES)
def test_more_rows_ask_no_more_queries(viewer: Client, fleet: Fleet, name: str) -> None:
    address = PAGES[name](fleet)
    before = count_queries(lambda: viewer.get(address))

    grow(fleet)

    assert count_queries(lambda: viewer.get(address)) <= before


@pytest.mark.parametrize("name", PAGES)
def test_page_is_made_in_a_tenth_of_a_second(viewer: Client, fleet: Fleet, name: str) -> None:
    grow(fleet)
    address = PAGES[name](fleet)
    viewer.get(address)

    assert min(seconds_of(lambda: viewer.get(address)) for _ in range(TRIES)) < LONGEST_S


def seconds_of(ask: Callable[[], object]) -> float:
    start = time.perf_counter()
    ask()
    return time.perf_counter() - start


def test_charts_of_many_claims_are_made_in_half_a_second(fleet: Fleet) -> None:
    recorder = Recorder(since=fleet.now - timedelta(hours=1), until=fleet.now)
    for number in range(25):
        claim = fleet.add_claim(fleet.resources["nfs-07"], f"vm-{number}", "kvm-01", Tier.LOW)
        recorder.cgroup(fleet.hosts["kvm-01"], claim.adapter, "sdb", iops=lambda _: 10.0)
    recorder.write()
    viewer = client_of(fleet.people.viewer)
    address = f"/api/v1/resources/{fleet.resources['nfs-07'].pk}/charts?range=1h"

    assert min(seconds_of(lambda: viewer.get(address)) for _ in range(3)) < 5 * LONGEST_S
