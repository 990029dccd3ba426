"""The commands show what was found with its reasons, and take rules or name every wrong line."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from accounts.models import Organisation
from advisor.decisions.found import keep
from ingest import facts as stored_facts
from tests.advisor.decisions.found_inventory import WWN, cgroup, disk, guest, number, tell

pytestmark = pytest.mark.django_db


@pytest.fixture
def acme(monkeypatch: pytest.MonkeyPatch) -> Organisation:
    # A busy machine would rest between two looks.
    monkeypatch.setattr(keep, "MOST_OF_TIME", 1e9)
    stored_facts.MEMORY.forget()
    return Organisation.objects.create(slug="acme", name="Acme")


def sluice(*words: str) -> Any:
    out = StringIO()
    call_command(*words, "--json", stdout=out)
    return json.loads(out.getvalue())


def test_workloads_are_listed_with_where_they_run_and_why(acme: Organisation) -> None:
    tell(
        acme, *disk("pve1", "sda"), number("pve1", "sda", 0),
        cgroup("pve1", "/qemu.slice/101.scope"), guest("pve1", "qemu/101", name="db1"),
    )  # fmt: skip

    (row,) = sluice("workloads")

    assert (row["name"], row["kind"], row["runs_on"], row["uses"], row["state"]) == (
        "db1", "vm", "pve1", "pve1/sda", "found",
    )  # fmt: skip
    assert "they are the guest of one number on one machine" in [
        one["text"] for one in row["reasons"]
    ]
    assert row["allocations"][0]["default"] is True


def test_resource_says_why_its_devices_are_one(acme: Organisation) -> None:
    tell(acme, *disk("h1", "sdb", wwn=WWN), *disk("h2", "sdb", wwn=WWN))

    (row,) = sluice("resource")

    assert row["name"] == WWN
    assert row["reasons"][0]["rule"] == "wwn"
    assert row["reasons"][0]["places"] == ["h1:sdb", "h2:sdb"]


def test_rules_are_taken_from_a_file_and_act_at_the_next_look(
    acme: Organisation, tmp_path: Path
) -> None:
    file = tmp_path / "rules"
    file.write_text("tier: high where name ~ db*\n")

    shown = sluice("rules", "set", str(file))
    tell(acme, guest("h1", "libvirt/db1", name="db1"))

    assert shown == [{"rule": "tier: high where name ~ db*"}]
    assert [row["tier"] for row in sluice("workloads")] == ["high"]


def test_file_with_a_wrong_line_changes_nothing(acme: Organisation, tmp_path: Path) -> None:
    file = tmp_path / "rules"
    file.write_text("tier: high where name ~ db*\ntier: gold where name = x\nboo\n")

    with pytest.raises(CommandError) as refused:
        sluice("rules", "set", str(file))

    assert 'line 2: "gold" is no tier' in str(refused.value)
    assert 'line 3: "boo" is no rule' in str(refused.value)
    assert sluice("rules") == []


def test_stated_split_parts_what_a_rule_joined(acme: Organisation, tmp_path: Path) -> None:
    lines = [*disk("h1", "sdb", wwn=WWN), *disk("h2", "sdb", wwn=WWN)]
    tell(acme, *lines)
    file = tmp_path / "rules"
    file.write_text("apart: h1:sdb h2:sdb\n")
    sluice("rules", "set", str(file))

    tell(acme, *lines, minutes=1)

    assert sorted(row["name"] for row in sluice("resource")) == ["h1/sdb", "h2/sdb"]
