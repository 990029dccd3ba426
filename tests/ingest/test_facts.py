"""Facts are stored once a value, and those that hold are read."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from ingest.core.mapping import Fact
from ingest.core.point import Point
from ingest.facts import MEMORY, FactMemory, current_facts, drop_old_facts, note_facts
from ingest.models import StatedFact
from ingest.write import store_file
from tests.ingest.scenario import Tenant, make_tenant, now

pytestmark = pytest.mark.django_db


@pytest.fixture
def northgate() -> Tenant:
    return make_tenant("northgate")


def fact(name: str, value: str, subject: str = "sda", host: str = "h1") -> Fact:
    return Fact(host=host, kind="device", subject=subject, name=name, value=value)


def read(tenant: Tenant, *, minutes: float = 0) -> list[tuple[str, str, str]]:
    found = current_facts(tenant.organisation, now=now() + timedelta(minutes=minutes))
    return sorted((one.subject, one.name, one.value) for one in found)


class Collector:
    """Says facts of one organisation, through a process of its own."""

    def __init__(self, tenant: Tenant) -> None:
        self.tenant, self.memory = tenant, FactMemory()

    def say(self, *facts: Fact, minutes: float = 0) -> int:
        at = now() + timedelta(minutes=minutes)
        return note_facts(self.tenant.organisation, facts, now=at, memory=self.memory)


def test_body_of_known_facts_takes_no_statement_and_a_new_one_takes_one(northgate: Tenant) -> None:
    collector = Collector(northgate)
    collector.say(fact("serial", "S1"), fact("model", "M"))

    with CaptureQueriesContext(
        connection,
    ) as known:
        wrote = collector.say(fact("serial", "S1"), fact("model", "M"), minutes=1)
    with CaptureQueriesContext(connection) as new:
        collector.say(fact("serial", "S2"), fact("model", "M"), minutes=2)

    assert (wrote, len(known), len(new)) == (0, 0, 1)


def test_known_fact_is_written_again_after_ten_minutes(northgate: Tenant) -> None:
    collector = Collector(northgate)
    begun = now()

    written = [collector.say(fact("serial", "S1"), minutes=at) for at in (0, 9, 11)]

    assert written == [1, 0, 1]
    found = StatedFact.objects.get().last_seen_at - timedelta(minutes=11)
    assert begun <= found <= now()


def test_newer_value_ends_the_older_at_once(northgate: Tenant) -> None:
    collector = Collector(northgate)
    collector.say(fact("name", "db1", "qemu/101"))

    collector.say(fact("name", "web9", "qemu/101"), minutes=1)

    assert read(northgate, minutes=1) == [("qemu/101", "name", "web9")]


def test_values_that_are_said_together_all_hold(northgate: Tenant) -> None:
    collector = Collector(northgate)
    collector.say(fact("parent", "sda1"))

    collector.say(fact("parent", "sda1"), fact("parent", "sdb1"), minutes=3)

    assert [value for *_, value in read(northgate, minutes=3)] == ["sda1", "sdb1"]


def test_value_that_comes_back_holds_again(northgate: Tenant) -> None:
    collector = Collector(northgate)
    for minutes, value in ((0, "S1"), (60, "S2"), (120, "S1")):
        collector.say(fact("serial", value), minutes=minutes)

    assert [value for *_, value in read(northgate, minutes=120)] == ["S1"]


def test_what_a_host_stops_saying_ends_and_a_silent_host_keeps_what_it_said_for_a_day(
    northgate: Tenant,
) -> None:
    collector = Collector(northgate)
    collector.say(fact("name", "db1", "qemu/101"), fact("serial", "S1"))

    collector.say(fact("serial", "S1"), minutes=30)

    assert read(northgate, minutes=30) == [("sda", "serial", "S1")]
    assert read(northgate, minutes=60 * 23) == [("sda", "serial", "S1")]
    assert read(northgate, minutes=60 * 25) == []


def test_organisations_do_not_share_facts(northgate: Tenant) -> None:
    southgate = make_tenant("southgate")
    memory = FactMemory()

    for tenant in (northgate, southgate):
        note_facts(tenant.organisation, [fact("serial", "S1")], now=now(), memory=memory)

    assert read(northgate) == read(southgate) == [("sda", "serial", "S1")]


@pytest.mark.parametrize(
    "wrong",
    [
        fact("serial", "S\0"),
        fact("serial", "\ud800"),
        fact("serial", "x" * 3000),
        fact("serial", "S1", host="h" * 254),
        fact("n" * 129, "S1"),
    ],
    ids=["NUL", "surrogate", "long value", "long host", "long name"],
)
def test_fact_that_cannot_be_kept_leaves_the_others(northgate: Tenant, wrong: Fact) -> None:
    assert Collector(northgate).say(wrong, fact("model", "M")) == 1

    assert read(northgate) == [("sda", "model", "M")]


def test_fact_that_cannot_be_kept_is_no_news_each_time(northgate: Tenant) -> None:
    collector = Collector(northgate)
    said = [fact("serial", "x" * 3000), fact("model", "M")]

    assert [collector.say(*said, minutes=at) for at in (0, 1, 11)] == [1, 0, 1]


def said_in_file(tenant: Tenant, host: str, value: str, *, at: float, sent: float) -> None:
    """A file with a sample of minute `at` is imported in minute `sent`."""
    point = Point(
        measurement="diskio",
        tags=(("host", host), ("name", "sda"), ("serial", value)),
        fields={"reads": 1},
        time=round((now() + timedelta(minutes=at)).timestamp()) * 1_000_000_000,
    )
    store_file(
        [point], organisation=tenant.organisation, now=now() + timedelta(minutes=sent),
        retention=timedelta(days=30),
    )  # fmt: skip


def test_old_file_ends_nothing_that_its_host_says_now(northgate: Tenant) -> None:
    MEMORY.forget()
    said_in_file(northgate, "h1", "S2", at=0, sent=0)

    said_in_file(northgate, "h1", "S1", at=-60, sent=1)

    assert read(northgate, minutes=1) == [("sda", "serial", "S2")]


@pytest.mark.parametrize(("at", "sent"), [(-5, 1), (120, 121)], ids=["a moment ago", "later"])
def test_file_of_a_host_that_says_nothing_else_now_is_believed(
    northgate: Tenant, at: float, sent: float
) -> None:
    MEMORY.forget()
    said_in_file(northgate, "h1", "S2", at=0, sent=0)
    said_in_file(northgate, "h2", "S1", at=-600, sent=0)

    said_in_file(northgate, "h1", "S1", at=at, sent=sent)
    said_in_file(northgate, "h2", "S0", at=-60 * 20, sent=sent)

    facts = current_facts(northgate.organisation, now=now() + timedelta(minutes=sent))
    assert sorted((one.host, one.value) for one in facts if one.name == "serial") == [
        ("h1", "S1"), ("h2", "S0"),
    ]  # fmt: skip


def test_old_facts_go(northgate: Tenant) -> None:
    Collector(northgate).say(fact("serial", "S1"))

    assert drop_old_facts(before=now() + timedelta(minutes=1)) == 1
