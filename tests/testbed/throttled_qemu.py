"""A real QEMU whose guest reads and writes without end, and the agent that limits its disks."""

from __future__ import annotations

import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from enforcers.contract import Allocation, Selector
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


def throttling_rig(own: Path, disks: Path) -> Rig:
    """The agent's enforcement, with files of its own, on the guests whose disks lie there."""
    return start_rig(
        own,
        RecordedRunner(),
        host_fs=HostFs(),
        monitors=SocketMonitors(limit_s=1.0, rest_s=0.1),
        configs={"qemu_throttle": QemuThrottleConfig(devices=frozenset({str(disks)}))},
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
    raise TimeoutError("QEMU gave no answer")


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
