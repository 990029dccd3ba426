"""The checklist of a host that joined: each state with its reason and the next step."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from advisor.core.join_checklist import (
    PATIENCE,
    CheckState,
    Held,
    JoinedHost,
    checklist,
    is_connected,
)

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
AGO = timedelta(seconds=5)
CONNECTED = JoinedHost(
    name="h1", joined_at=NOW - timedelta(minutes=5), address="192.0.2.7", system="Debian 12",
    kernel="6.1.0", is_service=True, is_observing=True, collects="reader", why_collects="",
    clock_ahead=timedelta(0), last_report_at=NOW - AGO, agent_version="0.1.0", refusal="",
    last_sample_at=NOW - AGO, heard_at=NOW - AGO, disk_count=8, interface_count=1,
    workloads={"vm": 25}, makers=frozenset({"libvirt"}),
    held=(Held(mechanism="cgroup_io", is_supported=False, reason="cgroup v1"),),
)  # fmt: skip
NOTHING_CAME: dict[str, Any] = {
    "last_report_at": None, "last_sample_at": None, "heard_at": None, "disk_count": 0,
    "interface_count": 0, "workloads": {},
}  # fmt: skip


def test_connected_host_says_what_was_found_and_what_its_kernel_lacks() -> None:
    checks = checklist(CONNECTED, now=NOW)

    assert is_connected(checks)
    assert {one.name: one.text for one in checks} == {
        "Joined": "5 min ago from 192.0.2.7: Debian 12, kernel 6.1.0",
        "Clock": "agrees with the server's",
        "Samples": "The agent's reader sends them; the last ones came 5 s ago",
        "Agent": "version 0.1.0 observes and changes nothing; it reported 5 s ago",
        "Devices": "8 disks and 1 interface",
        "Workloads": "25 VMs, named by libvirt",
        "Storage limits": "unavailable: cgroup v1",
    }
    assert checks[-1].state == CheckState.LIMITED
    assert "sluice-enforcer doctor --fix" in checks[-1].next_step


def test_what_has_not_come_is_waited_for_and_then_wrong_with_a_next_step() -> None:
    late = replace(CONNECTED, **NOTHING_CAME, held=())
    early = replace(late, joined_at=NOW - PATIENCE / 2)

    waiting = checklist(early, now=NOW)[2:]
    wrong = checklist(late, now=NOW)[2:]

    assert {one.state for one in waiting} == {CheckState.WAITING}
    assert {one.state for one in wrong} == {CheckState.WRONG}
    assert [bool(one.next_step) for one in (*waiting, *wrong)] == [False] * 4 + [True] * 4
    assert not is_connected(waiting)


@pytest.mark.parametrize(
    ("changed", "name", "said", "step"),
    [
        ({"clock_ahead": -timedelta(minutes=7)}, "Clock", "was 7 min behind", "set-ntp"),
        ({"clock_ahead": timedelta(minutes=7)}, "Clock", "was 7 min ahead of", "set-ntp"),
        ({"heard_at": NOW - timedelta(hours=1)}, "Samples", "came 1 h ago", "sluice-enforcer"),
        ({"last_report_at": NOW - timedelta(hours=2)}, "Agent", "came 2 h ago", "journalctl"),
        ({"refusal": "not signed with this host's key"}, "Agent", "not signed", "journalctl"),
        (
            {"heard_at": NOW - timedelta(hours=2), "is_service": False},
            "Samples", "came 2 h ago", "terminal",
        ),
        (
            {"heard_at": NOW - timedelta(hours=2), "collects": "telegraf"},
            "Samples", "came 2 h ago", "sluice-telegraf",
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_has_a_reason_and_a_next_step(
    changed: dict[str, Any], name: str, said: str, step: str
) -> None:
    host = replace(CONNECTED, **changed)

    (found,) = [one for one in checklist(host, now=NOW) if one.name == name]

    assert found.state == CheckState.WRONG
    assert said in found.text
    assert step in found.next_step
