"""The server's package on a Debian 13 with systemd: started, killed, stopped, upgraded, purged.

Its processor is emulated, so it takes as long as all other guests together. What needs no systemd
is in tests/appliance/test_server_package.py.
"""

from __future__ import annotations

from typing import Any

import pytest

from scripts.server_deb import pack
from scripts.server_tree import build_tree, server_version
from tests.testbed.package.prepared import CHECKOUT, HOST_FILES
from tests.testbed.programs import debian13
from tests.testbed.storage.guest import KERNELS, Root, StorageGuest

pytestmark = [
    pytest.mark.root,
    pytest.mark.guests,
    pytest.mark.slow,
    pytest.mark.long,
    pytest.mark.timeout(9000),
]

NEWER = "99.0"
STEP_S = 3000.0


@pytest.fixture(scope="module")
def life(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What was seen after each step of `tests/testbed/package/server_life.py`."""
    if not (debian13() / ".built").exists():
        pytest.skip("no Debian 13; make testbed-programs obtains it (package debootstrap)")
    folder = tmp_path_factory.mktemp("server")
    tree = folder / "tree"
    tree.mkdir(mode=0o755)
    build_tree(tree, base=debian13())
    pack(tree, server_version(), folder).rename(folder / "first.deb")
    pack(tree, NEWER, folder).rename(folder / "second.deb")
    root = Root(
        first=CHECKOUT / "tests/testbed/package/init",
        python="/usr/bin/python3",
        parameters=f"guest_debian={debian13()}",
        prefix=HOST_FILES,
        memory_mb=6144,
    )
    module = "tests.testbed.package.server_life"
    # The other kernel's processor is older than NumPy takes.
    with StorageGuest(KERNELS[1], folder, root=root, clock=(), deadline_s=STEP_S) as guest:
        return {
            step: guest.run(module, step=step, folder=f"{HOST_FILES}{folder}")
            for step in ("install", "kill", "stand still", "upgrade", "purge")
        }


def test_installed_service_starts_and_answers(life: dict[str, Any]) -> None:
    seen = life["install"]

    assert (seen["version"], seen["enabled"], seen["health"]) == (server_version(), "enabled", 200)
    assert seen["restarts"] == 0
    assert seen["owners"]["web"] == seen["owners"]["work"] == ["sluice"]
    assert seen["owners"]["signer"] == ["sluice-signer"]
    assert seen["owners"]["database"] == ["sluice-database"]


def test_pages_show_the_disks_of_the_machine(life: dict[str, Any]) -> None:
    seen = life["install"]

    assert seen["disks"]
    assert set(seen["disks"]) <= set(seen["shown"])


def test_killed_service_comes_back_by_systemd(life: dict[str, Any]) -> None:
    seen = life["kill"]

    assert (seen["restarts"], seen["health"]) == (1, 200)
    assert seen["organisations"] == ["acme", "demo"]


def test_service_that_stands_still_is_started_anew_by_systemd(life: dict[str, Any]) -> None:
    seen = life["stand still"]

    assert (seen["restarts"], seen["health"], seen["told"]) == (2, 200, True)


def test_upgrade_starts_the_new_version_with_all_that_was_there(life: dict[str, Any]) -> None:
    seen = life["upgrade"]

    assert (seen["version"], seen["health"]) == (NEWER, 200)
    assert seen["organisations"] == ["acme", "demo"]
    assert life["install"]["counts"][1] > 0
    assert seen["counts"][0] >= life["kill"]["counts"][0] > 0


def test_purge_stops_the_service_and_leaves_the_data(life: dict[str, Any]) -> None:
    seen = life["purge"]

    assert seen["left"] == ["/var/lib/sluice/postgres"]
    assert "left behind: /var/lib/sluice" in seen["said"]
    assert seen["state"] == "inactive"
