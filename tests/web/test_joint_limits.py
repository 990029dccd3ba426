"""A limit of a workload that runs on several hosts: what each is sent, tells and is granted."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest
from django.http import HttpResponse
from django.test import Client

from advisor.decisions import told_figures
from advisor.decisions.documents import current_document
from advisor.decisions.enrolment import enroll
from advisor.models import Allocation, LimitScope, ResourceKind, Tier
from enforcers.contract import Allocation as WireAllocation
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

    def add(self, host: str, *, limit: float = 600.0, reservation: float = 0.0) -> None:
        self.fleet.add_allocation(
            self.resource, "db", host, Tier.MEDIUM, reservation=reservation, limit=limit
        )
        Allocation.objects.update(limit_scope=LimitScope.POOLED)

    def sent(self, host: str, *, version: int = 2) -> WireAllocation:
        """What the document of a host says of db, once the host has told what it can."""
        now = self.fleet.now
        publish(self.resource, by=self.fleet.people.owner, now=now, entitlements={"db": 0.0})
        report(self.fleet.hosts[host], now=now, rates={"db": 0.0}, support=SUPPORT)
        found = current_document(host=self.fleet.hosts[host], now=now, schema_version=version)
        return found.allocations[0]

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


def use(rate: float, claimed: float, *, held: bool) -> LimitUse:
    return LimitUse(workload="db", own=300.0, claimed=claimed, rate=rate, is_held=held)


def test_each_host_is_sent_its_part_and_the_parts_add_up(cluster: Cluster) -> None:
    one, other = cluster.sent("a"), cluster.sent("b")

    # 400 of 600 are reserved; the other 200 are halved.
    assert (one.limit, one.joint_limit, one.reservation) == (400, 600, 300)
    assert (other.limit, other.joint_limit, other.reservation) == (200, 600, 100)


def test_agent_of_the_former_version_holds_its_part(cluster: Cluster) -> None:
    sent = cluster.sent("a", version=1)

    assert (sent.limit, sent.joint_limit) == (400, None)


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


def test_host_alone_keeps_its_part(cluster: Cluster) -> None:
    assert cluster.part("a", use(300.0, 300.0, held=True), second=0) == 300


def test_what_one_leaves_goes_to_the_other_once_it_claims_less(cluster: Cluster) -> None:
    cluster.part("b", use(0.0, 300.0, held=False), second=0)
    assert cluster.part("a", use(300.0, 300.0, held=True), second=1) == 300

    assert cluster.part("b", use(0.0, 300.0, held=False), second=4) == 15
    cluster.part("b", use(0.0, 15.0, held=False), second=5)

    assert cluster.part("a", use(300.0, 300.0, held=True), second=6) == 600


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
