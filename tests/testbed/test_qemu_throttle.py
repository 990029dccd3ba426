"""The agent limits disks of a real QEMU, whose guest reads and writes without end."""

from __future__ import annotations

import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from enforcers.contract import LimitScope, Outcome
from enforcers.qmp import Order, converse
from tests.enforcers.rig import Rig
from tests.testbed.throttled_qemu import DISKS, Qemu, enforce, rate, start, throttling_rig

pytestmark = [
    pytest.mark.guests,
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("qemu-system-x86_64") is None, reason="no QEMU"),
]


@pytest.fixture
def folder() -> Iterator[Path]:
    # The path of a socket must be short.
    root = Path(tempfile.mkdtemp(prefix="sluice-qemu-"))
    yield root
    shutil.rmtree(root, ignore_errors=True)


@pytest.fixture
def qemu(folder: Path) -> Iterator[Qemu]:
    running = start(folder, "db")
    yield running
    running.stop()


@pytest.fixture
def rig(tmp_path: Path, folder: Path) -> Rig:
    return throttling_rig(tmp_path, folder)


def test_limit_holds_and_what_was_there_comes_back_word_for_word(qemu: Qemu, rig: Rig) -> None:
    found = qemu.blocks()

    (first,) = enforce(rig, qemu, qemu.disk("virtio0", 100.0)).enforced
    limited = qemu.blocks()
    hundred = rate(rig, qemu, 100.0, seconds=5.0)
    forty = rate(rig, qemu, 40.0, seconds=5.0)
    unlimited = rate(rig, qemu, None, seconds=2.0)
    result = enforce(rig, qemu)

    assert found["virtio0"]["iops"] == 200
    assert (first.outcome, limited["virtio0"]["iops"]) == (Outcome.APPLIED, 100)
    # What the guest's start said in bytes/s stays.
    assert limited["virtio0"]["bps_rd"] == 9_000_000
    # A busy machine keeps the guest, which has one request under way, from using up its limit.
    assert 60 < hundred <= 103
    assert 24 < forty <= 42
    assert unlimited > 60
    assert not result.problems
    assert qemu.blocks() == found


def test_disks_of_one_limit_are_one_group_and_leave_it_again(qemu: Qemu, rig: Rig) -> None:
    found = qemu.blocks()
    # Bytes/s beside the limit cannot go into a group with another disk.
    disks = [qemu.disk(name, 100.0, limit_scope=LimitScope.POOLED) for name in DISKS]
    refused = enforce(rig, qemu, *disks)
    converse(
        str(qemu.socket),
        [Order(command="block_set_io_throttle", arguments=no_limit("virtio0"))],
        limit_s=10.0,
    )

    result = enforce(rig, qemu, *disks)
    limited = qemu.blocks()
    enforce(rig, qemu)

    assert found["virtio1"] == dict.fromkeys(limited["virtio1"].keys() - {"group"}, 0)
    assert {one.outcome for one in refused.enforced} == {Outcome.UNSUPPORTED}
    assert {one.outcome for one in result.enforced} == {Outcome.APPLIED}
    assert limited["virtio0"] == limited["virtio1"]
    assert limited["virtio0"]["group"] == f"sluice/{qemu.folder}/{qemu.name}"
    assert qemu.blocks()["virtio0"] == qemu.blocks()["virtio1"] == found["virtio1"]


def test_guest_that_starts_again_is_replaced(qemu: Qemu, rig: Rig) -> None:
    wanted = qemu.disk("virtio0", 100.0)
    found = qemu.blocks()
    enforce(rig, qemu, wanted)
    qemu.stop()
    gone = enforce(rig, qemu, wanted).enforced[0]
    second = start(qemu.folder, "db")
    try:
        again = enforce(rig, second, wanted).enforced[0]
        limited = second.blocks()
        enforce(rig, second)

        assert gone.outcome is Outcome.FAILED
        assert gone.reason == f"no guest vm/{qemu.name} runs here"
        assert again.outcome is Outcome.REPLACED
        assert limited["virtio0"]["iops"] == 100
        assert second.blocks() == found
    finally:
        second.stop()


def test_guest_that_hangs_takes_a_second_and_is_served_when_it_is_back(
    qemu: Qemu, rig: Rig
) -> None:
    qemu.process.send_signal(signal.SIGSTOP)
    started_s = time.monotonic()
    (hung,) = enforce(rig, qemu, qemu.disk("virtio0", 100.0)).enforced
    took_s = time.monotonic() - started_s
    qemu.process.send_signal(signal.SIGCONT)
    time.sleep(0.2)
    (back,) = enforce(rig, qemu, qemu.disk("virtio0", 100.0), now_s=60.0).enforced

    assert hung.outcome is Outcome.FAILED
    assert "did not answer in 1 s" in hung.reason
    assert took_s < 3
    assert back.outcome is Outcome.APPLIED
    assert qemu.blocks()["virtio0"]["iops"] == 100


def test_socket_that_another_guest_has_taken_over_is_told_nothing(qemu: Qemu, rig: Rig) -> None:
    found = qemu.blocks()
    other = start(qemu.folder, "web")
    try:
        (result,) = enforce(rig, other, qemu.disk("virtio0", 100.0)).enforced

        assert result.outcome is Outcome.FAILED
        expected = f"belongs to process {other.process.pid}, not to {qemu.process.pid}"
        assert expected in result.reason
        assert other.blocks() == found
    finally:
        other.stop()


def no_limit(disk: str) -> dict[str, Any]:
    rates = ("bps", "bps_rd", "bps_wr", "iops", "iops_rd", "iops_wr")
    return {"id": f"/machine/peripheral/{disk}/virtio-backend", **dict.fromkeys(rates, 0)}
