"""Whichever system call of the agent goes wrong while it limits disks of a real QEMU."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import mkdtemp

import pytest

from enforcers.contract import PolicyDocument
from enforcers.host_fs import HostFs
from enforcers.mechanisms.qemu_throttle.config import QemuThrottleConfig
from enforcers.qmp import SocketMonitors
from tests.enforcers.policies import datastore, document
from tests.enforcers.recorded_runner import RecordedRunner
from tests.enforcers.rig import Rig, start_rig
from tests.testbed.failing_pass import Host, Kernel, failing_pass, other_calls
from tests.testbed.struck import CALLS, ERROR, KILL, SOCKET_CALLS
from tests.testbed.throttled_qemu import DISKS, Qemu, start

pytestmark = [
    pytest.mark.root,
    pytest.mark.guests,
    pytest.mark.slow,
    pytest.mark.timeout(400),
    pytest.mark.skipif(shutil.which("qemu-system-x86_64") is None, reason="no QEMU"),
]
FEWEST = {"write": 4, "sendto": 4, "recvfrom": 4}
"""Fewer would mean that the agent writes no files of its own, or that QEMU is not spoken with."""


@pytest.fixture(scope="module")
def qemu() -> Iterator[Qemu]:
    if shutil.which("strace") is None:
        pytest.skip("no strace (package strace)")
    folder = Path(mkdtemp(prefix="sluice-qemu-"))
    running = start(folder, "db")
    yield running
    running.stop()
    shutil.rmtree(folder, ignore_errors=True)


def policy(qemu: Qemu, *limits: float, revision: int) -> PolicyDocument:
    disks = [qemu.disk(name, limit) for name, limit in zip(DISKS, limits, strict=True)]
    spec = datastore(device=str(qemu.folder), mechanism="qemu_throttle")
    return document(*disks, revision=revision, resources=(spec,))


def host_of(qemu: Qemu, state: Path) -> Host:
    config = QemuThrottleConfig(devices=frozenset({str(qemu.folder)}))

    def begin() -> Rig:
        return start_rig(
            state,
            RecordedRunner(),
            host_fs=HostFs(),
            monitors=SocketMonitors(limit_s=5.0, rest_s=0.0),
            configs={"qemu_throttle": config},
        )

    def kernel() -> Kernel:
        return {disk: json.dumps(said, sort_keys=True) for disk, said in qemu.blocks().items()}

    return Host(state=state, start=begin, kernel=kernel)


def test_calls_that_go_wrong_here_are_all_by_which_it_changes_anything(
    qemu: Qemu, tmp_path: Path
) -> None:
    known = (*CALLS, *SOCKET_CALLS)

    assert (
        other_calls(host_of(qemu, tmp_path), policy(qemu, 100.0, 90.0, revision=1), known=known)
        == []
    )


# How ledger and document are renamed and synced is the same for all mechanisms, and tried there.
@pytest.mark.parametrize("fault", [ERROR, KILL])
@pytest.mark.parametrize("call", ["write", *SOCKET_CALLS])
def test_each_disk_has_the_old_or_the_new_limit_whichever_call_goes_wrong(
    qemu: Qemu, tmp_path: Path, call: str, fault: str
) -> None:
    old = policy(qemu, 100.0, 90.0, revision=1)
    new = policy(qemu, 60.0, 50.0, revision=2)

    found = []
    while True:
        state = tmp_path / f"{len(found)}"
        state.mkdir()
        one = failing_pass(
            host_of(qemu, state), old, new, call=call, fault=fault, at=len(found) + 1
        )
        if one is None:
            break
        found.append(one)

    # Disks are told one after the other, and the next pass goes on from there.
    assert {one.pop("kernel") for one in found} <= {"old", "new", "between"}
    assert [one for one in found if not all(one.values())] == []
    assert len(found) >= FEWEST[call]
