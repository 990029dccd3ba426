"""The window loop through the service: hosts of one datastore hear of each other, and of no other.

With the real endpoint, token, database and valkey; the hosts run the agent's own law.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from unittest import mock

import pytest
import redis
from django.db import OperationalError, connection
from django.http import HttpResponse
from django.test import Client, override_settings
from django.test.utils import CaptureQueriesContext

from accounts.models import Scope, Token
from advisor.decisions import told_figures
from advisor.decisions.enrolment import enroll
from advisor.models import Attachment, Resource, ResourceKind
from enforcers.exchange import (
    DatastoreLoad,
    Exchange,
    HostPart,
    decode_load,
    encode_exchange,
    pooled,
)
from enforcers.exchange import exchange_of as told_on_the_wire
from tests.config.queued import empty
from tests.enforcers.fluid_datastore import BACKLOG, FluidDatastore, FluidHost
from tests.web.fleet import Fleet
from web.api.enforcer import MAX_EXCHANGE_BYTES

pytestmark = pytest.mark.valkey

EXCHANGE = "/api/v1/enforcer/exchange"
NOBODY_ANSWERS = "redis://127.0.0.1:1/0"
PART = HostPart(
    ios=4000,
    mean_device_latency_ms=20.5,
    outstanding_io=20.5,
    active_shares=3000.0,
    met_io=1.5,
    done_iops=1000.0,
    met_iops=75.5,
    shares=5000.0,
    reserved_iops=100.0,
    capacity_iops=1950.5,
)
OTHER = HostPart(
    ios=1000,
    mean_device_latency_ms=30.5,
    outstanding_io=7.5,
    active_shares=500.0,
    met_io=0.25,
    done_iops=250.0,
    met_iops=12.25,
    shares=1000.0,
    reserved_iops=0.0,
    capacity_iops=None,
)
THRESHOLD_MS = 20.0
BEGAN = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


def as_a_new_process() -> None:
    told_figures._script.cache_clear()
    told_figures._Server.away_until_s = 0.0


@pytest.fixture(autouse=True)
def valkey(valkey_url: str) -> Iterator[str]:
    """A real valkey that knows of no host."""
    as_a_new_process()
    empty(valkey_url)
    yield valkey_url
    empty(valkey_url)
    as_a_new_process()


class Hosts:
    """Enrolled hosts on one datastore `shared`, and what they say."""

    def __init__(self, fleet: Fleet, *names: str) -> None:
        for name in names:
            fleet.add_host(name, last_sample_at=None)
        self.resource = fleet.add_resource(
            "shared",
            ResourceKind.DATASTORE,
            capacity=2000.0,
            threshold=20.0,
            attachments=tuple((name, "sdb") for name in names),
        )
        self.tokens = {
            name: enroll(organisation=fleet.organisation, host_name=name).token for name in names
        }
        self._client = Client(enforce_csrf_checks=True)
        self._periods = 0

    def send(self, name: str, body: bytes) -> HttpResponse:
        return self._client.post(
            EXCHANGE,
            body,
            content_type="application/json",
            headers={"Authorization": f"Bearer {self.tokens[name]}"},
        )

    def tell(
        self, name: str, part: HostPart, *, at: datetime = BEGAN, resource: str = "shared"
    ) -> HttpResponse:
        return self.send(name, encode_exchange(exchange_of(name, part, at=at, resource=resource)))

    def load(self, name: str, part: HostPart, *, at: datetime = BEGAN) -> DatastoreLoad:
        answer = self.tell(name, part, at=at)
        assert answer.status_code == 200, answer.content
        return decode_load(answer.content)

    def ask(self, told: Sequence[tuple[str, HostPart]]) -> list[DatastoreLoad | None]:
        """One after the other, as hosts come: each hears of the others' newest period."""
        self._periods += 1
        at = BEGAN + timedelta(seconds=4 * self._periods)
        return [self.load(name, part, at=at) for name, part in told]


def exchange_of(
    name: str, part: HostPart, *, at: datetime = BEGAN, resource: str = "shared"
) -> Exchange:
    """Of a host that holds windows, with what it must say beside them."""
    whole = replace(
        part,
        done_iops=part.done_iops or 0.0,
        met_iops=part.met_iops or 0.0,
        shares=part.shares or 0.0,
        reserved_iops=part.reserved_iops or 0.0,
    )
    return told_on_the_wire(whole, host=name, resource=resource, period_end=at)


def answered(*parts: HostPart, is_shared: bool = True) -> DatastoreLoad:
    """The sums, and what the service adds."""
    return replace(pooled(parts), threshold_ms=THRESHOLD_MS, is_shared=is_shared)


@pytest.fixture
def hosts(nothing_yet: Fleet) -> Hosts:
    return Hosts(nothing_yet, "a", "b", "c")


def held(url: str, resource: Resource) -> dict[str, str]:
    with redis.Redis.from_url(url, decode_responses=True) as client:
        found: dict[str, str] = client.hgetall(f"sluice:window:{resource.pk}")
    return found


def make_older(url: str, resource: Resource, *, seconds: float) -> None:
    """As if what is held had come so long ago; below 0 as if the server's clock were set back."""
    with redis.Redis.from_url(url, decode_responses=True) as client:
        for host, line in client.hgetall(f"sluice:window:{resource.pk}").items():
            at, rest = line.split(" ", 1)
            aged = f"{int(at) - round(1000 * seconds)} {rest}"
            client.hset(f"sluice:window:{resource.pk}", host, aged)


def test_host_alone_hears_its_own_figures(hosts: Hosts) -> None:
    assert hosts.load("a", PART) == answered(PART)


def test_answer_is_over_all_hosts_of_the_datastore(hosts: Hosts) -> None:
    hosts.load("a", PART)
    quiet = HostPart(
        ios=0,
        mean_device_latency_ms=None,
        outstanding_io=0.0,
        active_shares=0.0,
        met_io=0.0,
        done_iops=0.0,
        met_iops=0.0,
        shares=700.0,
        reserved_iops=0.0,
    )
    hosts.load("b", quiet)

    load = hosts.load("c", OTHER)

    # (4000·20.5 + 1000·30.5) / 5000
    assert load == DatastoreLoad(
        latency_ms=22.5,
        outstanding_io=28.0,
        total_active_shares=3500.0,
        met_io=1.75,
        hosts=3,
        done_iops=1250.0,
        met_iops=87.75,
        total_shares=6700.0,
        reserved_iops=100.0,
        capacity_iops=1950.5,
        threshold_ms=THRESHOLD_MS,
        is_shared=True,
    )


FORMER = {
    "schema_version": 1,
    "host": "a",
    "resource": "shared",
    "period_end": "2026-11-20T12:00:00.000000Z",
    "ios": 4000,
    "mean_device_latency_ms": 20.0,
    "outstanding_io": 20.0,
    "active_shares": 3000.0,
    "met_io": 2.0,
}


def test_agent_of_the_former_version_is_heard_and_answered_as_it_reads(hosts: Hosts) -> None:
    answer = hosts.send("a", json.dumps(FORMER).encode())

    assert answer.json() == {
        "schema_version": 1,
        "latency_ms": 20.0,
        "outstanding_io": 20.0,
        "total_active_shares": 3000.0,
        "met_io": 2.0,
        "hosts": 1,
    }
    # 20 and 2 slots of 20 ms are 1,000 and 100 a second.
    load = hosts.load("b", OTHER)
    assert (load.hosts, load.done_iops, load.met_iops) == (2, 1250, 112.25)
    assert load.total_shares == 4000


def test_line_that_a_former_process_of_the_service_wrote_is_read(
    hosts: Hosts, valkey: str
) -> None:
    hosts.load("a", PART)
    with redis.Redis.from_url(valkey, decode_responses=True) as client:
        key = f"sluice:window:{hosts.resource.pk}"
        for host, line in client.hgetall(key).items():
            client.hset(key, host, " ".join(line.split()[:7]))

    load = hosts.load("b", OTHER)

    assert (load.outstanding_io, load.total_active_shares) == (28, 3500)
    assert load.done_iops == pytest.approx(1250)


def test_host_that_uses_a_datastore_alone_is_told_so(hosts: Hosts, nothing_yet: Fleet) -> None:
    nothing_yet.add_resource(
        "own",
        ResourceKind.DATASTORE,
        capacity=2000.0,
        threshold=0.0,
        attachments=(("a", "sdc"),),
    )

    load = decode_load(hosts.tell("a", PART, resource="own").content)

    assert (load.is_shared, load.threshold_ms) == (False, None)


def test_next_period_takes_the_place_of_the_last(hosts: Hosts) -> None:
    hosts.load("a", PART)

    later = hosts.load("a", OTHER, at=BEGAN + timedelta(seconds=4))

    assert later == answered(OTHER)


def test_figures_that_come_after_those_of_a_later_period_change_nothing(hosts: Hosts) -> None:
    hosts.load("a", PART, at=BEGAN + timedelta(seconds=4))

    late = hosts.load("a", OTHER, at=BEGAN)

    assert late == answered(PART)


def test_host_that_says_nothing_for_three_periods_counts_no_more(
    hosts: Hosts, valkey: str
) -> None:
    hosts.load("a", PART)
    make_older(valkey, hosts.resource, seconds=11)
    assert hosts.load("b", OTHER) == answered(PART, OTHER)

    make_older(valkey, hosts.resource, seconds=1)

    assert hosts.load("b", OTHER, at=BEGAN + timedelta(seconds=4)) == answered(OTHER)
    assert len(held(valkey, hosts.resource)) == 1


def test_host_whose_clock_was_set_back_is_heard_again_after_three_periods(
    hosts: Hosts, valkey: str
) -> None:
    hosts.load("a", PART)
    a_day_before = BEGAN - timedelta(days=1)
    assert hosts.load("a", OTHER, at=a_day_before) == answered(PART)

    make_older(valkey, hosts.resource, seconds=12)

    assert hosts.load("a", OTHER, at=a_day_before) == answered(OTHER)


def test_figures_from_the_future_of_the_servers_clock_count_no_more(
    hosts: Hosts, valkey: str
) -> None:
    hosts.load("a", PART)

    make_older(valkey, hosts.resource, seconds=-86_400)

    assert hosts.load("b", OTHER) == answered(OTHER)


def test_what_is_held_ends_with_its_hosts(hosts: Hosts, valkey: str) -> None:
    hosts.load("a", PART)

    with redis.Redis.from_url(valkey) as client:
        left_ms = client.pttl(f"sluice:window:{hosts.resource.pk}")
    assert 0 < left_ms <= 12_000


def test_same_name_in_another_organisation_is_another_datastore(
    hosts: Hosts, fleet: Fleet
) -> None:
    theirs = Hosts(fleet, "a")
    hosts.load("a", PART)

    assert theirs.load("a", OTHER) == answered(OTHER, is_shared=False)
    assert hosts.load("b", PART) == answered(PART, PART)


def test_period_asks_the_database_nothing_once_the_host_is_known(hosts: Hosts) -> None:
    hosts.load("a", PART)

    with CaptureQueriesContext(connection) as asked:
        hosts.load("a", PART, at=BEGAN + timedelta(seconds=4))

    assert [query["sql"] for query in asked.captured_queries] == []


def test_host_speaks_for_no_other(hosts: Hosts, valkey: str) -> None:
    answer = hosts.send("a", encode_exchange(exchange_of("b", PART)))

    assert (answer.status_code, answer.json()["code"]) == (422, "refused")
    assert 'this token is for "a"' in answer.json()["message"]
    assert held(valkey, hosts.resource) == {}


@pytest.mark.parametrize("name", ["elsewhere", "uplink", "unused"])
def test_host_speaks_of_its_own_datastores_only(
    hosts: Hosts, nothing_yet: Fleet, name: str
) -> None:
    nothing_yet.add_resource(
        "uplink",
        ResourceKind.UPLINK,
        capacity=1e9,
        threshold=0.9,
        attachments=(("a", "eth0"),),
    )
    nothing_yet.add_resource(
        "unused", ResourceKind.DATASTORE, capacity=1.0, threshold=9.0, attachments=(("b", "sdx"),)
    )

    answer = hosts.tell("a", PART, resource=name)

    assert (answer.status_code, answer.json()["code"]) == (422, "refused")
    assert f'a uses no datastore named "{name}"' in answer.json()["message"]


@pytest.mark.parametrize("kind", ["none", "unknown", "another scope", "bound to no host"])
def test_token_that_is_no_agents_is_refused(hosts: Hosts, nothing_yet: Fleet, kind: str) -> None:
    scopes = {"another scope": Scope.INGEST, "bound to no host": Scope.ENFORCE}
    if kind in scopes:
        _, secret = Token.objects.issue(
            organisation=nothing_yet.organisation, scope=scopes[kind], name="other"
        )
    else:
        secret = {"none": "", "unknown": "slu_x"}[kind]
    hosts.tokens["a"] = secret

    answer = hosts.tell("a", PART)

    assert answer.status_code == (403 if kind in scopes else 401)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"surprise": 1}, "$.surprise"),
        ({"schema_version": 99}, "$.schema_version"),
        ({"ios": 1e300}, "$.ios"),
        ({"active_shares": -1}, "$.active_shares"),
        ({"outstanding_io": 1e13}, "$.outstanding_io"),
        ({"mean_device_latency_ms": None}, "$.mean_device_latency_ms"),
    ],
)
def test_figures_that_cannot_be_are_refused_and_not_held(
    hosts: Hosts, valkey: str, change: dict[str, object], reason: str
) -> None:
    body = json.loads(encode_exchange(exchange_of("a", PART))) | change

    answer = hosts.send("a", json.dumps(body).encode())

    assert (answer.status_code, answer.json()["code"]) == (400, "invalid")
    assert reason in answer.json()["message"]
    assert held(valkey, hosts.resource) == {}


@pytest.mark.parametrize("body", [b" ", b"{", b"null", b"\xff\xfe", b"[" * 5000])
def test_body_that_is_no_exchange_is_400(hosts: Hosts, body: bytes) -> None:
    answer = hosts.send("a", body)

    assert (answer.status_code, answer.json()["code"]) == (400, "invalid")


def test_body_above_the_limit_is_413(hosts: Hosts) -> None:
    answer = hosts.send("a", b" " * (MAX_EXCHANGE_BYTES + 1))

    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")


def test_largest_figures_of_many_hosts_still_have_a_sum(hosts: Hosts) -> None:
    largest = HostPart(
        ios=10**12,
        mean_device_latency_ms=1e12,
        outstanding_io=1e12,
        active_shares=1e12,
        met_io=1e12,
        done_iops=1e12,
        met_iops=1e12,
        shares=1e12,
        reserved_iops=1e12,
        capacity_iops=1e12,
    )
    for name in ("a", "b"):
        hosts.load(name, largest)

    assert hosts.load("c", largest) == answered(*[largest] * 3)


def test_another_method_is_405(hosts: Hosts) -> None:
    answer = Client().get(EXCHANGE, headers={"Authorization": f"Bearer {hosts.tokens['a']}"})

    assert (answer.status_code, answer.json()["code"]) == (405, "method_not_allowed")


def test_host_goes_on_alone_while_the_queues_server_is_away(hosts: Hosts) -> None:
    with override_settings(REDIS_URL=NOBODY_ANSWERS):
        first = hosts.tell("a", PART)
    # Nobody waits for it again so soon.
    with mock.patch.object(told_figures, "_script", side_effect=AssertionError):
        second = hosts.tell("b", PART)

    assert [(one.status_code, one.json()["code"]) for one in (first, second)] == [
        (503, "unavailable")
    ] * 2


def test_host_is_asked_to_come_back_when_the_database_is_away(hosts: Hosts) -> None:
    with mock.patch("web.api.enforcer.share_load", side_effect=OperationalError):
        answer = hosts.tell("a", PART)

    assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")


def test_detached_host_is_refused_once_it_is_looked_up_again(hosts: Hosts) -> None:
    Attachment.objects.filter(resource=hosts.resource, host__name="a").delete()

    assert hosts.tell("a", PART).status_code == 422


def busy(name: str, *shares: float) -> FluidHost:
    return FluidHost([(each, BACKLOG) for each in shares], name=name)


def test_equal_workloads_on_uneven_hosts_get_the_same_through_the_service(hosts: Hosts) -> None:
    few, many = busy("a", *[1000] * 4), busy("b", *[1000] * 12)
    datastore = FluidDatastore(hosts=[few, many])

    pressures = datastore.run(6, hosts.ask)

    # 20 ms at 2,000 IOPS are 40 slots: 2.5 for each of 16.
    assert (few.slots / 4, many.slots / 12) == pytest.approx((2.5, 2.5), rel=0.05)
    assert pressures[-1] == pytest.approx(1, rel=0.05)


def test_tiers_hold_and_a_host_that_pauses_has_its_part_back_through_the_service(
    hosts: Hosts,
) -> None:
    high, medium, low = busy("a", 4000), busy("b", 2000), busy("c", 1000)
    datastore = FluidDatastore(hosts=[high, medium, low], capacity_iops=3500)
    datastore.run(6, hosts.ask)
    # 70 slots for 7,000 shares.
    assert [host.slots for host in datastore.hosts] == pytest.approx([40, 20, 10], rel=0.05)

    high.workloads = [(4000, 0.0)]
    datastore.run(6, hosts.ask)
    assert [host.slots for host in datastore.hosts] == pytest.approx(
        [4, 70 * 2 / 3, 70 / 3], rel=0.05
    )

    high.workloads = [(4000, BACKLOG)]
    again = datastore.run(6, hosts.ask)
    assert [host.slots for host in datastore.hosts] == pytest.approx([40, 20, 10], rel=0.05)
    assert max(again) <= 1.25


def test_killed_hosts_slots_go_to_the_others_through_the_service(
    hosts: Hosts, valkey: str
) -> None:
    one, other, killed = busy("a", 1000), busy("b", 1000), busy("c", 2000)
    datastore = FluidDatastore(hosts=[one, other, killed])
    datastore.run(6, hosts.ask)

    datastore.hosts.remove(killed)
    # It is heard for three periods more; these are three of its silence.
    datastore.run(3, hosts.ask)
    make_older(valkey, hosts.resource, seconds=12)
    datastore.run(5, hosts.ask)

    assert (one.slots, other.slots) == pytest.approx((20, 20), rel=0.05)
