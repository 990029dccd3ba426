"""What is promised of an uplink against what there is, on its page and by the API."""

from __future__ import annotations

import pytest

from advisor.decisions.pools import set_pool
from advisor.models import Resource
from advisor.queries.commitments import commitment_of
from tests.advisor.scenario import MBIT, Cluster, make_cluster
from tests.web.api.asking import program_of
from tests.web.conftest import client_of
from tests.web.html import page_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster() -> Cluster:
    """20 Mbit/s are reserved for web-1, 30 for a pool, and 10 by a member of another."""
    found = make_cluster()
    found.uplink.allocations.filter(workload__name="web-1").update(reservation=20 * MBIT)
    found.uplink.allocations.filter(workload__name="web-3").update(reservation=10 * MBIT)
    terms = {"resource": found.uplink, "limit": 80 * MBIT}
    set_pool(name="one", reservation=30 * MBIT, members=["web-2"], **terms)
    set_pool(name="two", reservation=5 * MBIT, members=["web-3"], **terms)
    return found


def facts(cluster: Cluster) -> set[str]:
    """What the head of the page says, each with its name."""
    answer = client_of(cluster.people.viewer).get(f"/resources/{cluster.uplink.pk}/")
    return {one.all_text().strip() for one in page_of(answer).elements(".facts div")}


def shown(cluster: Cluster) -> str:
    answer = client_of(cluster.people.viewer).get(f"/resources/{cluster.uplink.pk}/")
    return " ".join(page_of(answer).all_text().split())


def test_reservations_of_pools_count(cluster: Cluster) -> None:
    # 20 for web-1, 30 for the first pool, and 10 in the second, which has 5 of its own.
    assert commitment_of(cluster.uplink).reserved == 60 * MBIT
    assert "Reserved60.0 Mbit/s of 75.0 Mbit/s" in facts(cluster)


def test_limits_of_pools_may_be_more_than_there_is_and_that_is_said(cluster: Cluster) -> None:
    assert "Limits of pools160 Mbit/s of 94.0 Mbit/s, 1.7 times" in facts(cluster)


def test_uplink_without_pools_says_nothing_of_them(cluster: Cluster) -> None:
    cluster.uplink.pools.all().delete()

    assert "Limits of pools" not in shown(cluster)
    assert commitment_of(cluster.uplink).pool_limits is None


def test_reservations_that_no_longer_fit_are_told(cluster: Cluster) -> None:
    fitting = shown(cluster)
    Resource.objects.filter(pk=cluster.uplink.pk).update(capacity=50 * MBIT, line_rate=50 * MBIT)

    too_small = shown(cluster)

    said = "More is reserved than may be"
    assert (said in fitting, said in too_small) == (False, True)


def test_program_reads_what_is_promised(cluster: Cluster) -> None:
    program = program_of(cluster.people.viewer, cluster.organisation)

    found = program("GET", f"resources/{cluster.uplink.pk}").json()

    assert (found["reserved"], found["reservable"]) == (60 * MBIT, 75 * MBIT)
    assert found["pool_limits"] == 160 * MBIT
