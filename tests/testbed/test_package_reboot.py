"""A Debian 13 with the agent's package loses its power while a policy is in force."""

from __future__ import annotations

import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pytest_django import DjangoDbBlocker

from tests.testbed.package.prepared import CHECKOUT, HOST_FILES, PORT, prepare
from tests.testbed.package.reboot import BY_HAND_IOPS, LIMIT_IOPS, add_units
from tests.testbed.programs import debian13
from tests.testbed.storage.agent import LEASE
from tests.testbed.storage.guest import KERNELS, VIRTUAL_TIME, Root, StorageGuest

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.root,
    pytest.mark.guests,
    pytest.mark.slow,
    pytest.mark.long,
    pytest.mark.timeout(1800),
]

CAPACITY = 2000.0
BOOTED = {"active": "active", "enabled": "enabled", "restarts": "0"}
UNSET = [""] * 4


@pytest.fixture(scope="module")
def boots(
    tmp_path_factory: pytest.TempPathFactory,
    django_db_setup: None,
    django_db_blocker: DjangoDbBlocker,
) -> dict[str, Any]:
    """What each boot of `tests/testbed/package/reboot.py` saw, each ended by a power failure."""
    if not (debian13() / ".built").exists():
        pytest.skip("no Debian 13; make testbed-programs obtains it (package debootstrap)")
    folder = tmp_path_factory.mktemp("package")
    disk = folder / "disk"
    subprocess.run(["cp", "--archive", debian13(), disk], check=True)
    add_units(disk, checkout=f"{HOST_FILES}{CHECKOUT}", capacity_iops=CAPACITY)
    with django_db_blocker.unblock():
        prepared = prepare(folder)
    first = {
        "folder": prepared.folder,
        # The doctor changes nothing, and takes its time.
        "lines": [line for line in prepared.lines if "doctor" not in line],
        "port": PORT,
        "key": prepared.key,
        "capacity_iops": CAPACITY,
    }
    now = datetime.now(UTC)
    seen = {}
    # A boot's time runs off, so the clock of the next one is set beyond it.
    for boot, at, more in (("first", now, first), ("second", now + LEASE / 2, {})):
        with started(folder, disk, at) as guest:
            seen[boot] = guest.run("tests.testbed.package.reboot", boot=boot, **more)
    shutil.rmtree(disk)
    return seen


def started(folder: Path, disk: Path, at: datetime) -> StorageGuest:
    """The host with its disk, whose clock shows this time when it starts."""
    root = Root(
        first=CHECKOUT / "tests/testbed/package/init",
        python="/usr/bin/python3",
        prefix=HOST_FILES,
        disk=disk,
    )
    clock = ("-rtc", f"base={at:%Y-%m-%dT%H:%M:%S}")
    return StorageGuest(KERNELS[0], folder, root=root, clock=(*VIRTUAL_TIME, *clock))


def asked_iops(line: str) -> int:
    """The reads a second that a line of io.max lets through."""
    return int(dict(word.split("=") for word in line.split()[1:])["riops"])


def test_policy_is_in_force_before_the_power_fails(boots: dict[str, Any]) -> None:
    first = boots["first"]

    assert [asked_iops(line) for line in first["found"]["limits"][:1]] == [BY_HAND_IOPS]
    assert asked_iops(first["in force"]["limits"][0]) == LIMIT_IOPS
    _, triple, *others = map(int, first["in force"]["weights"])
    assert others == [triple / 3, triple / 3]
    assert first["ledger"]["is_of_this_boot"]
    assert any(str(BY_HAND_IOPS) in found for _, found in first["ledger"]["found"])


def test_agent_takes_the_policy_up_again_after_a_boot_without_the_service(
    boots: dict[str, Any],
) -> None:
    second = boots["second"]

    assert second["state"] == BOOTED
    assert second["taken up"] == boots["first"]["in force"]


def test_ledger_of_the_boot_before_is_not_taken_for_what_was_found(boots: dict[str, Any]) -> None:
    ledger = boots["second"]["ledger"]

    assert ledger["is_of_this_boot"]
    assert not any(str(BY_HAND_IOPS) in found for _, found in ledger["found"])


def test_agent_that_ends_leaves_nothing_of_the_boot_before(boots: dict[str, Any]) -> None:
    stopped = boots["second"]["stopped"]

    assert stopped["limits"] == UNSET
    assert stopped["weights"] == UNSET
    # The kernel shows a line of a device once somebody has written one.
    assert stopped["io.cost.qos"].startswith("enable=0 ctrl=auto")
    assert stopped["io.cost.model"].startswith("ctrl=auto")
