"""Pools of workloads: what may be stated, what fits, and what hosts are given of them."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import pytest

from advisor.decisions import inventory
from advisor.decisions.decide import approve, rollback
from advisor.decisions.documents import current_document
from advisor.decisions.pools import remove_pool, set_pool
from advisor.errors import InventoryError
from advisor.history.stated_pools import pool_terms
from advisor.models import AdapterKind, Allocation, Policy, Pool, PublishedDocument, ResourceKind
from enforcers.contract import POOL
from tests.advisor.agent_support import SUPPORT, state_support
from tests.advisor.scenario import MBIT, NOW, Cluster, end_guards, make_cluster, propose

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster() -> Cluster:
    return make_cluster()


def state(cluster: Cluster, workload: str, reservation: float, **more: object) -> Allocation:
    return inventory.set_allocation(
        resource=cluster.uplink,
        workload_name=workload,
        host_name=None,
        adapter_kind=AdapterKind.VNIC,
        adapter="p9",
        reservation=reservation,
        **more,  # type: ignore[arg-type]  # options of the service
    )


def members(pool: Pool) -> list[str]:
    return [one.workload.name for one in pool.members.order_by("workload__name")]


def publish(cluster: Cluster) -> Policy:
    """A policy with the pools as they are stated."""
    recommendation = propose(cluster)
    pools = [asdict(one) for one in pool_terms(cluster.uplink)]
    recommendation.inputs = json.dumps({"pools_after": pools})
    recommendation.save()
    policy = approve(recommendation=recommendation, user=cluster.people.owner, now=NOW)
    assert policy is not None
    return policy


def know_pools(cluster: Cluster) -> None:
    """As if the agent had reported that each of its mechanisms holds pools."""
    knowing = tuple(replace(one, selectors=(*one.selectors, POOL)) for one in SUPPORT)
    state_support(cluster.enrolment.host, knowing)


def test_pool_has_the_members_that_are_stated(cluster: Cluster) -> None:
    set_pool(resource=cluster.uplink, name="web", members=["web-1", "web-2"])

    pool = set_pool(resource=cluster.uplink, name="web", members=["web-2", "web-3"])

    assert members(pool) == ["web-2", "web-3"]


def test_pool_keeps_its_members_unless_others_are_stated(cluster: Cluster) -> None:
    set_pool(resource=cluster.uplink, name="web", limit=80 * MBIT, members=["web-2"])

    pool = set_pool(resource=cluster.uplink, name="web", shares=2000)

    assert (members(pool), pool.limit, pool.shares) == (["web-2"], None, 2000)


def test_member_of_another_pool_leaves_it(cluster: Cluster) -> None:
    first = set_pool(resource=cluster.uplink, name="first", members=["web-2", "web-3"])

    second = set_pool(resource=cluster.uplink, name="second", members=["web-3"])

    assert (members(first), members(second)) == (["web-2"], ["web-3"])


def test_pool_outlives_new_terms_of_its_members(cluster: Cluster) -> None:
    pool = set_pool(resource=cluster.uplink, name="web", members=["web-2"])

    state(cluster, "web-2", 0.0, shares=500)

    assert members(pool) == ["web-2"]


def test_removed_pool_leaves_its_members(cluster: Cluster) -> None:
    set_pool(resource=cluster.uplink, name="web", members=["web-1", "web-2"])

    remove_pool(resource=cluster.uplink, name="web")

    assert not Pool.objects.exists()
    assert Allocation.objects.filter(pool=None).count() == 3


@pytest.mark.parametrize(
    ("terms", "problem"),
    [
        ({"reservation": 20 * MBIT, "limit": 10 * MBIT}, "limit 10.0 Mbit/s is below"),
        ({"limit": 60 * MBIT, "members": ["web-1"]}, "reserve 75.0 Mbit/s, above its limit 60"),
        ({"limit": 0.0}, "limit must be above 0"),
        ({"shares": 0}, "shares must be 1 to 1,000,000"),
        ({"members": ["web-9"]}, "no allocation on h1/up0: web-9"),
        ({"name": " "}, "needs a name"),
    ],
    ids=["limit below reservation", "members above limit", "no limit", "no shares", "unknown",
         "no name"],
)  # fmt: skip
def test_contradictory_pool_is_refused(
    cluster: Cluster, terms: dict[str, object], problem: str
) -> None:
    with pytest.raises(InventoryError, match=problem):
        set_pool(resource=cluster.uplink, **{"name": "web", **terms})  # type: ignore[arg-type]

    assert not Pool.objects.exists()


def test_pool_on_a_datastore_is_refused(cluster: Cluster) -> None:
    disk = inventory.add_resource(
        organisation=cluster.organisation,
        name="ds1",
        kind=ResourceKind.DATASTORE,
        attachments=[("h1", "sdb")],
    )

    with pytest.raises(InventoryError, match="pools on uplinks alone"):
        set_pool(resource=disk, name="web")


def test_own_traffic_of_a_host_is_in_no_pool(cluster: Cluster) -> None:
    state_support(cluster.enrolment.host, ())
    state(cluster, "nfs", 0.0, selector=("host_kind", "nfs"))

    with pytest.raises(InventoryError, match="nfs is the host's own traffic"):
        set_pool(resource=cluster.uplink, name="web", members=["nfs"])


def test_what_members_reserve_is_in_the_pools_reservation(cluster: Cluster) -> None:
    # 75 of the line rate's 100 Mbit/s may be reserved: the pool has all of it for its members
    set_pool(resource=cluster.uplink, name="web", reservation=75 * MBIT, members=["web-1"])
    state(cluster, "web-1", 40 * MBIT)

    set_pool(
        resource=cluster.uplink,
        name="web",
        reservation=75 * MBIT,
        members=["web-1", "web-2"],
    )
    admitted = state(cluster, "web-2", 35 * MBIT)

    assert admitted.reservation == 35 * MBIT


@pytest.mark.parametrize("is_member", [True, False])
def test_reservation_beside_a_pool_counts_what_the_pool_reserves(
    cluster: Cluster, is_member: bool
) -> None:
    state(cluster, "web-1", 40 * MBIT)
    inside = ["web-1", "web-2"] if is_member else ["web-1"]
    set_pool(resource=cluster.uplink, name="web", reservation=75 * MBIT, members=inside)

    if is_member:
        assert state(cluster, "web-2", 10 * MBIT).reservation == 10 * MBIT
    else:
        with pytest.raises(InventoryError, match=r"10.0 Mbit/s for web-2 .* for pool web \(75%"):
            state(cluster, "web-2", 10 * MBIT)


def test_pool_that_does_not_fit_beside_others_is_refused(cluster: Cluster) -> None:
    with pytest.raises(InventoryError, match=r"1.00 Mbit/s for pool web .* reserved for web-1"):
        set_pool(resource=cluster.uplink, name="web", reservation=MBIT, members=["web-2"])


def test_member_that_reserves_more_than_the_limit_is_refused(cluster: Cluster) -> None:
    state(cluster, "web-1", 0.0)
    set_pool(resource=cluster.uplink, name="web", limit=20 * MBIT, members=["web-1"])

    with pytest.raises(InventoryError, match=r"reserve 30.0 Mbit/s, above its limit 20.0 Mbit/s"):
        state(cluster, "web-1", 30 * MBIT)

    assert Allocation.objects.get(workload__name="web-1").reservation == 0


def test_members_that_leave_a_pool_must_fit_beside_it(cluster: Cluster) -> None:
    set_pool(resource=cluster.uplink, name="web", reservation=75 * MBIT, members=["web-1"])

    with pytest.raises(InventoryError, match="does not fit"):
        set_pool(resource=cluster.uplink, name="web", reservation=75 * MBIT, members=[])


def test_document_carries_pools_to_an_agent_that_holds_them(cluster: Cluster) -> None:
    know_pools(cluster)
    pool = set_pool(
        resource=cluster.uplink, name="web", limit=80 * MBIT, shares=2000,
        members=["web-1", "web-2"],
    )  # fmt: skip
    publish(cluster)

    document = current_document(host=cluster.enrolment.host, now=NOW)

    (sent,) = document.pools
    assert (sent.name, sent.resource, sent.limit) == ("web", "h1/up0", 80 * MBIT)
    assert (sent.reservation, sent.shares) == (0.0, 2000)
    web_1, web_2, web_3, host = document.allocations
    assert {web_1.pool, web_2.pool} == {sent.id} == {f"pool-{pool.pk}"}
    assert {web_3.pool, host.pool} == {None}


def test_agent_that_holds_no_pools_gets_their_members_and_the_page_says_so(
    cluster: Cluster,
) -> None:
    unknowing = tuple(
        replace(one, selectors=tuple(kind for kind in one.selectors if kind != POOL))
        for one in SUPPORT
    )
    state_support(cluster.enrolment.host, unknowing)
    set_pool(resource=cluster.uplink, name="web", limit=80 * MBIT, members=["web-1"])
    publish(cluster)

    document = current_document(host=cluster.enrolment.host, now=NOW)

    assert document.pools == ()
    assert [one.pool for one in document.allocations] == [None] * 4
    (gap,) = PublishedDocument.objects.latest("revision").content["left_out"]
    assert gap["what"] == "pool web on h1/up0"
    assert gap["reason"].startswith("tc_htb of its agent holds no pools")


def test_policy_keeps_the_pools_that_were_approved(cluster: Cluster) -> None:
    know_pools(cluster)
    set_pool(resource=cluster.uplink, name="web", limit=80 * MBIT, members=["web-1"])
    publish(cluster)

    set_pool(resource=cluster.uplink, name="web", limit=90 * MBIT, members=["web-1"])
    remove_pool(resource=cluster.uplink, name="web")

    assert current_document(host=cluster.enrolment.host, now=NOW).pools[0].limit == 80 * MBIT


def test_rollback_brings_the_pools_of_the_version_back(cluster: Cluster) -> None:
    know_pools(cluster)
    for limit in (80 * MBIT, 90 * MBIT):
        set_pool(resource=cluster.uplink, name="web", limit=limit, members=["web-1"])
        publish(cluster)
        end_guards()

    policy = rollback(resource=cluster.uplink, user=cluster.people.owner, now=NOW)

    assert policy.pools[0]["limit"] == 80 * MBIT
    assert current_document(host=cluster.enrolment.host, now=NOW).pools[0].limit == 80 * MBIT


def test_joining_and_removing_a_pool_reserves_nothing_more(cluster: Cluster) -> None:
    """Also where more is reserved than fits, which a person allowed."""
    cluster.uplink.allocations.filter(workload__name="web-1").update(reservation=90 * MBIT)

    set_pool(resource=cluster.uplink, name="web", reservation=80 * MBIT, members=["web-1"])
    remove_pool(resource=cluster.uplink, name="web")

    assert not Pool.objects.exists()
