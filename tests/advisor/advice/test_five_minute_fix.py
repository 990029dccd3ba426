"""The NetIOC study at a hundredth: reservations that do not fit move within five minutes."""

from __future__ import annotations

import json
from datetime import datetime, timedelta

import pytest

from advisor.advice.advise import Advised, advise
from advisor.advice.host_placement.gather import reserved_uplinks
from advisor.decisions import inventory
from advisor.models import AdapterKind, Allocation, Recommendation, Resource, ResourceKind
from tests.advisor.scenario import MBIT, NOW, Cluster, make_cluster

pytestmark = pytest.mark.django_db

LOOK = timedelta(seconds=30)
FIVE_MINUTES = timedelta(minutes=5)


@pytest.fixture
def cluster() -> Cluster:
    """web-1 has 75 of the 75 that may be reserved on h1; h2 is free."""
    made = make_cluster()
    inventory.add_resource(
        organisation=made.organisation,
        name="h2/up0",
        kind=ResourceKind.UPLINK,
        attachments=[("h2", "up0")],
        capacity=94 * MBIT,
        line_rate=100 * MBIT,
    )
    return made


def reserve(workload: str, amount: float, *, host: str = "h1") -> Allocation:
    return inventory.set_allocation(
        resource=Resource.objects.get(name=f"{host}/up0"),
        workload_name=workload,
        host_name=host,
        adapter_kind=AdapterKind.VNIC,
        adapter=f"p{workload[-1]}",
        reservation=amount * MBIT,
        may_exceed=True,
    )


def look(cluster: Cluster, at: datetime = NOW) -> list[Advised]:
    return advise(resource=cluster.uplink, now=at, topics=["host_placement"])


def moves(advised: list[Advised]) -> list[tuple[str, str, str]]:
    (one,) = advised
    assert isinstance(one.found, Recommendation), one.found
    return [
        (row["workload"], row["source"], row["target"])
        for row in json.loads(one.found.answer)["moves"]
    ]


def migrate(workload: str, amount: float) -> None:
    """Somebody did what was advised."""
    Allocation.objects.filter(resource__name="h1/up0", workload__name=workload).delete()
    reserve(workload, amount, host="h2")


def test_the_steps_of_the_seed_end_with_a_full_pool(cluster: Cluster) -> None:
    # 75 of 75 fit
    assert look(cluster) == []

    # 75 + 45 = 120 of 75: web-2 goes
    reserve("web-2", 45)
    assert moves(look(cluster)) == [("web-2", "h1", "h2")]
    migrate("web-2", 45)
    assert look(cluster) == []

    # 75 + 30 = 105 of 75: web-3 goes, and 45 + 30 = 75 fit exactly
    reserve("web-3", 30)
    assert moves(look(cluster)) == [("web-3", "h1", "h2")]
    migrate("web-3", 30)
    assert look(cluster) == []

    # The pool of 150 is full: the newest is refused, whatever it is called
    reserve("a-4", 1)
    (one,) = look(cluster)
    assert isinstance(one.found, Recommendation)
    (refused,) = json.loads(one.found.answer)["refused"]
    assert (refused["workload"], refused["reason"]) == (
        "a-4",
        "the pool of 150 Mbit/s is fully reserved",
    )


def due(cluster: Cluster) -> datetime:
    row = Recommendation.objects.filter(topic="host_placement").first()
    assert row is not None
    return min(datetime.fromisoformat(one["due_at"]) for one in json.loads(row.answer)["moves"])


def test_advice_says_by_when_counted_from_the_look_before(cluster: Cluster) -> None:
    reserve("web-2", 45)

    (one,) = look(cluster)

    # Nothing was violated 30 s ago, so five minutes from then on are not too late.
    assert due(cluster) == NOW - LOOK + FIVE_MINUTES
    assert " by 12:04:30 UTC: " in str(one.found)


def test_time_does_not_move_on_with_later_looks_or_other_advice(cluster: Cluster) -> None:
    reserve("web-2", 45)
    look(cluster)
    first = due(cluster)

    look(cluster, NOW + LOOK)
    unchanged = due(cluster)
    reserve("web-3", 20)
    look(cluster, NOW + 2 * LOOK)

    assert unchanged == first
    assert due(cluster) == first
    assert Recommendation.objects.filter(topic="host_placement").count() == 2


def test_uplinks_are_looked_at_while_something_is_reserved_or_advised(cluster: Cluster) -> None:
    assert [one.name for one in reserved_uplinks()] == ["h1/up0"]
    reserve("web-2", 45)
    look(cluster)

    Allocation.objects.update(reservation=0.0)
    before = [one.name for one in reserved_uplinks()]
    look(cluster, NOW + LOOK)

    assert before == ["h1/up0"]
    assert list(reserved_uplinks()) == []


def test_looking_at_hosts_alone_leaves_other_advice_alone(cluster: Cluster) -> None:
    status = advise(resource=cluster.uplink, now=NOW)
    cluster.uplink.status.other_advice_gaps = {"threshold": "too few windows"}
    cluster.uplink.status.save()

    look(cluster)

    cluster.uplink.status.refresh_from_db()
    assert status == []
    assert cluster.uplink.status.other_advice_gaps == {"threshold": "too few windows"}
