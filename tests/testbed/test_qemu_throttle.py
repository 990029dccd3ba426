"""The agent limits disks of a real QEMU, whose guest reads and writes without end."""

from __future__ import annotations

import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from enforcers.contract import Allocation, LimitScope, Outcome, Selector
from enforcers.enforcement import PassResult
from enforcers.errors import MonitorError
from enforcers.host_fs import HostFs
from enforcers.mechanisms.qemu_throttle.config import QemuThrottleConfig
from enforcers.qmp import Order, SocketMonitors, converse
from enforcers.results import Enforced
from tests.enforcers.policies import datastore, document, group
from tests.enforcers.recorded_runner import RecordedRunner
from tests.enforcers.rig import Rig, start_rig
from tests.testbed.libvirt_daemon import boot_sector

pytestmark = [
    pytest.mark.guests,
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("qemu-system-x86_64") is None, reason="no QEMU"),
]

FOUND = "throttling.iops-total=200,throttling.iops-total-max=300,throttling.bps-read=9000000"
DISKS = ("virtio0", "virtio1")


@dataclass(frozen=True, kw_only=True)
class Qemu:
    """A running process; its guest is called `name`, its data lies in `folder`."""

    process: subprocess.Popen[bytes]
    folder: Path
    name: str
    socket: Path

    def blocks(self) -> dict[str, Any]:
        """What limits each disk, in QEMU's own words; it must hold word for word at the end."""
        (answer,) = converse(str(self.socket), [Order(command="query-block")], limit_s=10.0)
        told = {one["qdev"].split("/")[3]: one["inserted"] for one in answer}
        names = ("bps", "iops")
        return {
            disk: {k: v for k, v in said.items() if k == "group" or k.startswith(names)}
            for disk, said in told.items()
        }

    def disk(self, name: str, limit: float | None, **change: Any) -> Allocation:
        """What a policy says of a disk of its guest."""
        values: dict[str, Any] = {
            "id": name, "workload": self.name, "limit": limit,
            "selector": Selector(kind="vdisk", value=f"vm/{self.name}/{name}"),
        }  # fmt: skip
        return group("/x", **{**values, **change})

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


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
    return start_rig(
        tmp_path,
        RecordedRunner(),
        host_fs=HostFs(),
        monitors=SocketMonitors(limit_s=1.0, rest_s=0.1),
        configs={"qemu_throttle": QemuThrottleConfig(devices=frozenset({str(folder)}))},
    )


def start(folder: Path, name: str) -> Qemu:
    """A guest with a disk that was throttled at its start, and one that was not."""
    program = shutil.which("qemu-system-x86_64")
    assert program is not None
    own, place = f"{name}-{folder.name}", folder / "qmp"
    first, second = folder / f"{name}-first", folder / f"{name}-second"
    first.write_bytes(boot_sector().ljust(1 << 20, b"\0"))
    second.write_bytes(bytes(1 << 20))
    place.unlink(missing_ok=True)
    argv = [
        program, "-name", f"guest={own}", "-machine", "accel=tcg", "-m", "32",
        "-nodefaults", "-display", "none",
        "-drive", f"file={first},if=none,id=drive-virtio0,format=raw,{FOUND}",
        "-device", "virtio-blk-pci,drive=drive-virtio0,id=virtio0",
        "-blockdev", f"driver=raw,node-name=n1,file.driver=file,file.filename={second}",
        "-device", "virtio-blk-pci,drive=n1,id=virtio1",
        "-qmp", f"unix:{place},server=on,wait=off",
    ]  # fmt: skip
    running = Qemu(
        process=subprocess.Popen(argv, stderr=subprocess.DEVNULL),
        folder=folder,
        name=own,
        socket=place,
    )
    deadline_s = time.monotonic() + 30
    while time.monotonic() < deadline_s:
        try:
            running.blocks()
        except MonitorError:
            time.sleep(0.05)
        else:
            return running
    running.stop()
    pytest.fail("QEMU gave no answer")


def enforce(rig: Rig, qemu: Qemu, *allocations: Allocation, now_s: float = 0.0) -> PassResult:
    spec = datastore(device=str(qemu.folder), mechanism="qemu_throttle")
    wanted = document(*allocations, resources=(spec,)) if allocations else None
    return rig.enforcement.run(wanted, previous=None, now_s=now_s)


def total(found: Enforced) -> float:
    assert found.seen.counters is not None
    return found.seen.counters.total


def rate(rig: Rig, qemu: Qemu, limit: float | None, seconds: float) -> float:
    """IOPS of the guest, once what was saved up has been used."""
    enforce(rig, qemu, qemu.disk("virtio0", limit))
    time.sleep(1.0)
    before_s = time.monotonic()
    before = total(enforce(rig, qemu, qemu.disk("virtio0", limit)).enforced[0])
    time.sleep(seconds)
    after = total(enforce(rig, qemu, qemu.disk("virtio0", limit)).enforced[0])
    return (after - before) / (time.monotonic() - before_s)


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
