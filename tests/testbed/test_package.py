"""The agent's package on a Debian 13 with systemd, from its installation to its purge.

It is installed and started by the lines of its README, with addresses, version and disk filled in.
"""

from __future__ import annotations

from typing import Any

import pytest
from pytest_django import DjangoDbBlocker

from tests.testbed.package.prepared import (
    PORT,
    debian_root,
    lines_of_the_readme,
    prepare,
)
from tests.testbed.programs import debian13
from tests.testbed.storage.guest import KERNELS, StorageGuest
from tests.testbed.storage.null_disk import NAME

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.root,
    pytest.mark.guests,
    pytest.mark.slow,
    pytest.mark.long,
    pytest.mark.timeout(1500),
]

CAPACITY = 2000.0
NOTHING = [""] * 4


def test_package_is_installed_and_started_by_five_lines() -> None:
    programs = [line.split()[0] for line in lines_of_the_readme()]

    assert programs == ["sluice", "dpkg", "cp", "sluice-enforcer", "systemctl"]


@pytest.fixture(scope="module")
def life(
    tmp_path_factory: pytest.TempPathFactory,
    django_db_setup: None,
    django_db_blocker: DjangoDbBlocker,
) -> dict[str, Any]:
    """What was seen at each step of `tests/testbed/package/life.py`."""
    if not (debian13() / ".built").exists():
        pytest.skip("no Debian 13; make testbed-programs obtains it (package debootstrap)")
    folder = tmp_path_factory.mktemp("package")
    with django_db_blocker.unblock():
        prepared = prepare(folder)
    with StorageGuest(KERNELS[0], folder, root=debian_root()) as guest:
        seen: dict[str, Any] = guest.run(
            "tests.testbed.package.life",
            folder=prepared.folder,
            lines=prepared.lines,
            port=PORT,
            key=prepared.key,
            capacity_iops=CAPACITY,
        )
    return seen


def holds_limit(limits: list[str]) -> bool:
    """Whether the first unit alone has its limit of 400, give or take the agent's correction.

    That is a fifth, and two steps of ten (test_parts_never_go_far_beyond_the_limit); where the
    load has ended, the last one stays.
    """
    words = dict(word.split("=") for word in limits[0].split()[1:])
    return (
        words.get("riops", "").isdecimal() and int(words["riops"]) <= 500 and not any(limits[1:])
    )


def test_installed_agent_waits_until_its_host_is_enrolled(life: dict[str, Any]) -> None:
    assert life["found"] == NOTHING
    assert life["before it is enrolled"]["active"] == "inactive"
    assert life["before it is enrolled"]["enabled"] == "enabled"
    assert life["started"]["active"] == "active"
    # The doctor, asked before the agent runs.
    assert NAME in life["said"][1]


def test_shares_reservation_and_limit_hold(life: dict[str, Any]) -> None:
    first, *others = life["shares"]
    assert first / (sum(others) / 3) == pytest.approx(3.0, rel=0.05)
    assert sum(life["shares"]) >= 0.97 * CAPACITY
    # A plain quarter would be 500.
    assert life["reservation"][0] >= 0.95 * 0.6 * CAPACITY
    assert sum(life["reservation"]) >= 0.97 * CAPACITY
    assert life["limit"]["iops"] == pytest.approx(400.0, rel=0.02)
    assert life["limit"]["outcomes"]["vm1.service"][0] in {"applied", "unchanged"}
    assert holds_limit(life["limit"]["limits"])


def test_hanging_agent_is_replaced_by_the_watchdog(life: dict[str, Any]) -> None:
    assert 100 < life["hanging"]["took_s"] < 200
    assert int(life["hanging"]["state"]["restarts"]) == 1
    assert all(map(holds_limit, life["hanging"]["limits"]))


def test_new_version_takes_over_and_the_limit_never_went(life: dict[str, Any]) -> None:
    assert life["upgraded"]["state"]["active"] == "active"
    assert all(map(holds_limit, life["upgraded"]["limits"]))


def test_lease_of_an_agent_that_cannot_start_ends_with_what_was_found(
    life: dict[str, Any],
) -> None:
    assert holds_limit(life["cannot start"]["left"])
    # The lease, and then the next attempt to start it or a minute at most.
    assert life["cannot start"]["took_s"] < 20 + 60 + 30


def test_purge_puts_back_what_was_found_and_leaves_no_file(life: dict[str, Any]) -> None:
    assert holds_limit(life["in force again"])
    assert life["purged"] == life["found"]
    assert life["left behind"] == []
