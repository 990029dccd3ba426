"""Pages ask the database a fixed number of questions, however much there is to show."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from advisor.models import ResourceKind, Tier
from tests.web.fleet import Fleet
from tests.web.test_accessibility import PAGES

pytestmark = pytest.mark.any_database

MOST_QUERIES = 31


def count_queries(ask: Callable[[], object]) -> int:
    """How many queries it takes when nothing is remembered."""
    cache.clear()
    with CaptureQueriesContext(connection) as captured:
        ask()
    return len(captured)


def grow(fleet: Fleet) -> None:
    """Twenty hosts more, each with a datastore, and twenty allocations more on nfs-07."""
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
        fleet.add_allocation(fleet.resources["nfs-07"], f"vm-{number}", "kvm-01", Tier.LOW)


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
