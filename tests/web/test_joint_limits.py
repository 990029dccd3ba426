"""A limit of a workload that runs on several hosts: what each is sent, tells and is granted."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest
from django.db.models.signals import post_init
from django.http import HttpResponse
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from advisor.decisions import told_figures
from advisor.decisions.documents import current_document
from advisor.decisions.enrolment import enroll
from advisor.models import Allocation, IoCount, LimitScope, ResourceKind, Tier
from enforcers.contract import Allocation as WireAllocation
from enforcers.contract import sign
from enforcers.limit_exchange import LimitUse, decode_granted, encode_told, told_of
from tests.advisor.agent_support import SUPPORT
from tests.config.queued import empty
from tests.web.agents import publish, report
from tests.web.fleet import Fleet
from web.api.enforcer import MAX_LIMITS_BYTES

pytestmark = pytest.mark.valkey

LIMITS = "/api/v1/enforcer/limits"
NAMES = ("a", "b", "c")


@pytest.fixture(autouse=True)
def valkey(valkey_url: str) -> Iterator[None]:
    """A real valkey that knows of no host."""
    told_figures._script.cache_clear()
    told_figures._Server.away_until_s = 0.0
    empty(valkey_url)
    yield
    empty(valkey_url)
    told_figures._script.cache_clear()


class Cluster:
    """Hosts a, b and c on one datastore; db runs on a and b with a limit of 600 over both."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        for name in NAMES:
            fleet.add_host(name, last_sample_at=None)
        self.resource = fleet.add_resource(
            "ds",
            ResourceKind.DATASTORE,
            capacity=2000.0,
            threshold=20.0,
            attachments=tuple((name, "sdb") for name in NAMES),
        )
        self.add("a", reservation=300.0)
        self.add("b", reservation=100.0)
        enrolled = {
            name: enroll(organisation=fleet.organisation, host_name=name) for name in NAMES
        }
        self.tokens = {name: each.token for name, each in enrolled.items()}
        self._client = Client(enforce_csrf_checks=True)

    def put_in_force(self) -> Cluster:
        """The policy as it is stated, of which both hosts have a document."""
        for host in ("a", "b"):
            self.sent(host)
        return self

    def add(self, host: str, *, limit: float = 600.0, reservation: float = 0.0) -> None:
        self.fleet.add_allocation(
            self.resource, "db", host, Tier.MEDIUM, reservation=reservation, limit=limit
        )
        Allocation.objects.update(limit_scope=LimitScope.POOLED)

    def sent(self, host: str, *, version: int = 2) -> WireAllocation:
        """What the document of a host says of db, once the host has told what it can."""
        now = self.fleet.now
        names = self.resource.allocations.values_list("workload__name", flat=True)
        entitlements = dict.fromkeys(names, 0.0)
        publish(self.resource, by=self.fleet.people.owner, now=now, entitlements=entitlements)
        report(self.fleet.hosts[host], now=now, rates={"db": 0.0}, support=SUPPORT)
        found = current_document(host=self.fleet.hosts[host], now=now, schema_version=version)
        # Signed, it is as an agent of this version reads it.
        return sign(found, b"key").allocations[0]

    def tell(
        self, host: str, use: LimitUse, *, at: datetime, resource: str = "ds"
    ) -> HttpResponse:
        told = told_of([use], host=host, resource=resource, period_end=at)
        return self.send(host, encode_told(told))

    def send(self, host: str, body: bytes) -> HttpResponse:
        return self._client.post(
            LIMITS,
            body,
            content_type="application/json",
            headers={"Authorization": f"Bearer {self.tokens[host]}"},
        )

    def part(self, host: str, use: LimitUse, *, second: int) -> float:
        answer = self.tell(host, use, at=self.fleet.now + timedelta(seconds=second))
        assert answer.status_code == 200, answer.content
        (grant,) = decode_granted(answer.content).limits
        return grant.part


@pytest.fixture
def cluster(nothing_yet: Fleet) -> Cluster:
    return Cluster(nothing_yet)


@pytest.fixture
def even(nothing_yet: Fleet) -> Cluster:
    """Nothing is reserved, and a policy is in force: 300 for a, and 300 for b."""
    cluster = Cluster(nothing_yet)
    Allocation.objects.update(reservation=0.0)
    return cluster.put_in_force()


def use(rate: float, claimed: float, *, held: bool, own: float = 300.0) -> LimitUse:
    return LimitUse(workload="db", own=own, claimed=claimed, rate=rate, is_held=held)


def test_each_host_is_sent_its_part_and_the_parts_add_up(cluster: Cluster) -> None:
    one, other = cluster.sent("a"), cluster.sent("b")

    # 400 of 600 are reserved; the other 200 are halved.
    assert (one.limit, one.joint_limit, one.reservation) == (400, 600, 300)
    assert (other.limit, other.joint_limit, other.reservation) == (200, 600, 100)


def test_agent_of_the_former_version_holds_its_part(cluster: Cluster) -> None:
    sent = cluster.sent("a", version=1)

    assert (sent.limit, sent.joint_limit) == (400, None)


def test_allocations_of_other_hosts_are_read_only_where_they_share_a_limit(
    cluster: Cluster,
) -> None:
    """Each host polls, so what one poll reads must not grow with the fleet."""
    for number in range(20):
        cluster.fleet.add_allocation(
            cluster.resource, f"w{number}", "c", Tier.MEDIUM, reservation=1.0, limit=2.0
        )
    pooled = Allocation.objects.filter(workload__name__in=[f"w{number}" for number in range(10)])
    pooled.update(limit_scope=LimitScope.POOLED)
    cluster.sent("a")
    # Another content, so that a document is written anew.
    Allocation.objects.filter(host__name="a").update(io_count=IoCount.PER_32_KIB)
    read: list[tuple[str, str]] = []

    def note(instance: Allocation, **_: object) -> None:
        read.append((instance.workload.name, instance.host.name))

    post_init.connect(note, sender=Allocation)
    try:
        found = current_document(host=cluster.fleet.hosts["a"], now=cluster.fleet.now)
    finally:
        post_init.disconnect(note, sender=Allocation)

    assert set(read) == {("db", "a"), ("db", "b")}
    (sent,) = found.allocations
    assert (sent.limit, sent.joint_limit, sent.io_count) == (400, 600, "per_32_kib")


def test_smallest_of_several_limits_holds_and_no_more_is_reserved(cluster: Cluster) -> None:
    Allocation.objects.filter(host__name="b").update(limit=200.0)

    # 300 and 100 are reserved of 200.
    assert [cluster.sent(host).limit for host in ("a", "b")] == pytest.approx([150, 50])
    assert [cluster.sent(host).reservation for host in ("a", "b")] == pytest.approx([150, 50])


def test_limit_of_each_host_by_itself_is_sent_as_it_is(cluster: Cluster) -> None:
    Allocation.objects.update(limit_scope=LimitScope.PER_VDISK)

    assert [(one.limit, one.joint_limit) for one in (cluster.sent("a"), cluster.sent("b"))] == [
        (600, None),
        (600, None),
    ]


def test_host_without_a_reservation_is_sent_a_limit_where_another_reserves_all(
    cluster: Cluster,
) -> None:
    Allocation.objects.filter(host__name="a").update(reservation=600.0)
    Allocation.objects.filter(host__name="b").update(reservation=0.0)

    # 5 % of 600 are left to both.
    assert [cluster.sent(host).limit for host in ("a", "b")] == pytest.approx([585, 15])


def test_host_alone_keeps_its_part(even: Cluster) -> None:
    assert even.part("a", use(300.0, 300.0, held=True), second=0) == 300


def test_what_one_leaves_goes_to_the_other_once_it_claims_less(even: Cluster) -> None:
    even.part("b", use(0.0, 300.0, held=False), second=0)
    assert even.part("a", use(300.0, 300.0, held=True), second=1) == 300

    assert even.part("b", use(0.0, 300.0, held=False), second=4) == 15
    even.part("b", use(0.0, 15.0, held=False), second=5)

    assert even.part("a", use(300.0, 300.0, held=True), second=6) == 600


def test_host_has_no_more_of_its_own_than_its_document_says(even: Cluster) -> None:
    even.part("b", use(300.0, 300.0, held=True), second=0)

    part = even.part("a", use(300.0, 900.0, held=True, own=900.0), second=1)

    assert part == 300  # and not three quarters of 600


def test_limit_that_a_host_does_not_hold_is_left_out(even: Cluster) -> None:
    even.part("a", use(0.0, 15.0, held=False), second=0)

    of_c = even.tell("c", use(0.0, 0.0, held=False), at=even.fleet.now)

    assert decode_granted(of_c.content).limits == ()
    # What c told counts for nobody.
    assert even.part("b", use(300.0, 300.0, held=True), second=1) == 600


def test_new_limit_is_known_as_soon_as_its_host_tells_of_it(cluster: Cluster) -> None:
    before = cluster.tell("a", use(0.0, 300.0, held=False), at=cluster.fleet.now)
    cluster.put_in_force()

    assert decode_granted(before.content).limits == ()
    assert cluster.part("a", use(300.0, 300.0, held=True), second=1) == 300


def test_host_that_has_told_of_a_later_period_is_granted_nothing(even: Cluster) -> None:
    """As where its clock was set back: the others count what it told before."""
    even.part("a", use(300.0, 300.0, held=True), second=9)

    late = even.tell("a", use(300.0, 600.0, held=True), at=even.fleet.now)

    assert late.status_code == 503


def test_limits_cost_no_query_while_the_host_is_remembered(
    even: Cluster, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    even.part("a", use(0.0, 300.0, held=False), second=0)

    with django_assert_num_queries(0):
        even.part("a", use(0.0, 300.0, held=False), second=4)


@pytest.mark.parametrize("resource", ["other", ""])
def test_host_tells_of_its_own_datastores_only(cluster: Cluster, resource: str) -> None:
    body = encode_told(
        told_of([use(0, 300, held=False)], host="a", resource="ds", period_end=cluster.fleet.now)
    ).replace(b'"resource":"ds"', f'"resource":"{resource}"'.encode())

    assert cluster.send("a", body).status_code == (422 if resource else 400)


def test_host_speaks_for_no_other(cluster: Cluster) -> None:
    told = told_of(
        [use(0, 300, held=False)], host="b", resource="ds", period_end=cluster.fleet.now
    )

    assert cluster.send("a", encode_told(told)).status_code == 422


def test_body_above_the_limit_is_413(cluster: Cluster) -> None:
    assert cluster.send("a", b" " * (MAX_LIMITS_BYTES + 1)).status_code == 413


def test_another_method_is_405(cluster: Cluster) -> None:
    assert Client().get(LIMITS).status_code == 405
