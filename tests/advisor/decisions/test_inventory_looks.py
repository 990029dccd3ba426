"""Looks at the inventory: what they cost, and that one at a time is taken."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from django.db import connection, connections
from django.test.utils import CaptureQueriesContext

from accounts.models import Organisation
from advisor.decisions.found import keep
from advisor.decisions.found.keep import keep_inventory
from advisor.decisions.found.look import Look, look
from advisor.errors import InventoryError
from advisor.models import Allocation, Attachment, Resource, Workload
from tests.advisor.decisions.found_inventory import (
    WWN,
    attached,
    cgroup,
    disk,
    guest,
    number,
    tell,
)
from tests.advisor.samples import send
from tests.advisor.scenario import NOW

pytestmark = pytest.mark.django_db


def test_inventory_of_many_takes_as_many_statements_as_that_of_few(acme: Organisation) -> None:
    def statements(hosts: range, minutes: float) -> int:
        lines = [
            line
            for at in hosts
            for line in (
                *disk(f"h{at}", "sda"), number(f"h{at}", "sda", 0),
                *(cgroup(f"h{at}", f"/system.slice/u{unit}.service") for unit in range(3)),
            )
        ]  # fmt: skip
        at = NOW + timedelta(minutes=minutes)
        stamp = int(at.timestamp()) * 1_000_000_000
        send(acme, "\n".join(f"{line} {stamp}" for line in lines), now=at)
        with CaptureQueriesContext(connection) as asked:
            keep_inventory(acme, now=at)
        return len([one for one in asked if "advisor_incident" not in one["sql"]])

    few, many = statements(range(2), 0), statements(range(2, 40), 1)

    assert Allocation.objects.count() == 120
    assert many <= few + 4


def test_look_at_what_has_not_changed_writes_nothing(acme: Organisation) -> None:
    lines = [
        line
        for at in range(30)
        for line in (
            *disk(f"h{at}", "sda", serial=f"S3Z9NB0K{at:06}", model="X", transport="sata"),
            *disk(f"h{at}", "sdb", wwn=WWN, size_bytes="1000", model="LUN", transport="fc"),
            number(f"h{at}", "sda", 0), number(f"h{at}", "sdb", 16),
            *(cgroup(f"h{at}", f"/qemu.slice/{vmid}.scope", "8:16") for vmid in range(101, 104)),
            *(guest(f"h{at}", f"qemu/{vmid}", name=f"vm-{at}-{vmid}") for vmid in range(101, 104)),
        )
    ]  # fmt: skip
    tell(acme, *lines)
    rows = [
        [*model.objects.order_by("pk").values()]
        for model in (Resource, Attachment, Workload, Allocation)
    ]
    assert [len(found) for found in rows] == [31, 60, 90, 90]

    with CaptureQueriesContext(connection) as asked:
        assert keep_inventory(acme, now=NOW + timedelta(minutes=6))

    wrote = [
        one["sql"] for one in asked if one["sql"].startswith(("INSERT", "UPDATE", "DELETE FROM"))
    ]
    assert wrote == []
    # The usual order of rows joins all that they are of, and of many rows takes seconds.
    ordered = [one["sql"] for one in asked if 'ORDER BY "accounts_organisation"' in one["sql"]]
    assert not [sql for sql in ordered if "advisor_a" in sql.partition(" FROM ")[2][:20]]
    assert len(asked) < 26
    assert rows == [
        [*model.objects.order_by("pk").values()]
        for model in (Resource, Attachment, Workload, Allocation)
    ]


def test_nothing_new_reads_nothing(acme: Organisation) -> None:
    at = tell(acme, *disk("h1", "sda"))

    assert keep_inventory(acme, now=at + timedelta(minutes=1)) is False
    assert keep_inventory(acme, now=at + timedelta(minutes=6)) is True


def test_what_is_said_during_a_look_is_seen_by_the_next(
    acme: Organisation, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = [look]

    def look_and_hear(organisation: Organisation, *, now: datetime) -> Look:
        seen = look(organisation, now=now)
        if looks:
            looks.pop()
            stamp = int(now.timestamp()) * 1_000_000_000
            send(acme, "\n".join(f"{line} {stamp}" for line in disk("h2", "sdb")), now=now)
        return seen

    monkeypatch.setattr(keep, "look", look_and_hear)
    at = tell(acme, *disk("h1", "sda"))

    assert keep_inventory(acme, now=at + timedelta(minutes=1)) is True
    assert attached() == {"h1/sda": ["h1:sda"], "h2/sdb": ["h2:sdb"]}


def test_look_that_somebody_else_takes_is_left_to_them_unless_it_was_asked_for(
    acme: Organisation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keep, "LONGEST_WAIT_S", 0.5)
    other = connections.create_connection("default")
    try:
        with other.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_lock(hashtextextended('inventory', %s))", [acme.pk])

        assert keep_inventory(acme, now=NOW) is False
        with pytest.raises(InventoryError, match="try again"):
            keep_inventory(acme, now=NOW, is_asked=True)
    finally:
        other.close()
    monkeypatch.setattr(keep, "LONGEST_WAIT_S", 60.0)

    assert keep_inventory(acme, now=NOW, is_asked=True) is True
