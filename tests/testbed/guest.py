"""Virtual machines without an image and without KVM: their root is the host's files, read-only.

QEMU emulates the processor, so a guest is up after some ten seconds and no figure of time means
anything. It reaches servers of the host's loopback at `HOST`, and the one at `port` also at its
own loopback; a shared disk has the one WWN `WWN` in every guest that has it.
"""

from __future__ import annotations

import json
import subprocess
import time
import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from tests.testbed.programs import bed_file, find_virtiofsd

HOST = "10.0.2.2"
WWN = "5000c500a1b2c3d4"
_COMMAND_LINE = (
    "console=ttyS0 quiet panic=-1 mitigations=off random.trust_cpu=on tsc=reliable nokaslr audit=0"
    " apparmor=0 selinux=0 cryptomgr.notests rcupdate.rcu_expedited=1"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Boot:
    """What a guest starts with: `first` is its first program on the host's files.

    `disk` is a folder in which it may write, and which outlives it: the guest mounts it as `disk`
    (virtiofs). What it wrote is there however it ended.
    `-cx16`: QEMU 7.2 translates cmpxchg16b wrongly, and kernels before 7 stumble over it.
    """

    kernel: Path
    initramfs: Path
    first: Path
    clock: Sequence[str] = ()
    processor: str = "max,-cx16,-la57"
    parameters: str = ""
    disk: Path | None = None
    memory_mb: int = 512


def stock_boot() -> Boot:
    """This release's kernel, in real time, with udev and a network."""
    return Boot(
        kernel=bed_file("vmlinuz"),
        initramfs=bed_file("initramfs"),
        first=Path(__file__).with_name("guest_init"),
    )


def shared_disk(path: Path, *, iops: int) -> list[str]:
    """QEMU's arguments of a disk that other guests have too, as a LUN of a storage array."""
    file = {"driver": "file", "filename": str(path), "locking": "off"}
    raw = {"driver": "raw", "node-name": "lun-raw", "file": file}
    limits = {"qom-type": "throttle-group", "id": "limits", "x-iops-total": iops}
    slow = {
        "driver": "throttle",
        "node-name": "lun",
        "throttle-group": "limits",
        "file": "lun-raw",
    }
    return [
        "-object", json.dumps(limits), "-blockdev", json.dumps(raw), "-blockdev", json.dumps(slow),
        "-device", "virtio-scsi-pci,id=scsi",
        "-device", f"scsi-hd,drive=lun,bus=scsi.0,wwn=0x{WWN},share-rw=on,vendor=LAB,product=LUN",
    ]  # fmt: skip


class Guest:
    """A running guest; `console` is what its kernel and its script say."""

    def __init__(
        self,
        name: str,
        folder: Path,
        *,
        script: str,
        port: int,
        devices: Sequence[str] = (),
        boot: Boot | None = None,
    ) -> None:
        self._boot = boot or stock_boot()
        self.console = folder / f"{name}.console"
        self._shares = {"host": Path("/")}
        if self._boot.disk is not None:
            self._shares["disk"] = self._boot.disk
        self._sockets = {tag: folder / f"{name}.{tag}" for tag in self._shares}
        own_script = folder / f"{name}.sh"
        own_script.write_text(script)
        self._processes: list[subprocess.Popen[bytes]] = []
        try:
            for tag, place in self._shares.items():
                self._start_files(place, self._sockets[tag], folder / f"{name}.{tag}.virtiofsd")
            with (folder / f"{name}.qemu").open("wb") as log:
                qemu = [*self._qemu(name, own_script, port), *devices]
                self._start(qemu, log)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Take the guest away as a failing power supply does."""
        for process in reversed(self._processes):
            process.kill()
            process.wait()

    def said(self) -> str:
        """The end of what the guest wrote on its console."""
        with suppress(FileNotFoundError):
            return self.console.read_text(errors="replace")[-4000:]
        return "the guest said nothing"

    def _start(self, argv: list[str], log: BinaryIO) -> None:
        self._processes.append(
            subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        )

    def _start_files(self, place: Path, files: Path, log: Path) -> None:
        program = find_virtiofsd()
        assert program is not None
        options = f"source={place},sandbox=chroot,cache=always,no_writeback"
        # That of a guest before this one with the same name.
        files.unlink(missing_ok=True)
        with log.open("wb") as output:
            self._start([program, f"--socket-path={files}", "-o", options], output)
        deadline = time.monotonic() + 30
        while not files.exists():
            assert self._processes[-1].poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.02)

    def _qemu(self, name: str, script: Path, port: int) -> list[str]:
        own = uuid.uuid5(uuid.NAMESPACE_DNS, name)
        said = {
            "guest_name": name, "guest_machine": own.hex, "guest_init": self._boot.first,
            "guest_script": script, "guest_port": port,
            "guest_testbed": bed_file("guest"),
        }  # fmt: skip
        own_words = (f"{key}={said[key]}" for key in said)
        command_line = " ".join([_COMMAND_LINE, self._boot.parameters, *own_words])
        memory_mb = self._boot.memory_mb
        memory = f"memory-backend-memfd,id=mem,size={memory_mb}M,share=on"
        return [
            "qemu-system-x86_64", "-nodefaults", "-no-user-config", "-display", "none",
            "-machine", "q35,memory-backend=mem", "-accel", "tcg", "-cpu", self._boot.processor,
            *self._boot.clock, "-smp", "1", "-m", str(memory_mb), "-object", memory,
            "-no-reboot", "-uuid", str(own),
            "-kernel", str(self._boot.kernel), "-initrd", str(self._boot.initramfs),
            "-append", command_line,
            "-serial", f"file:{self.console}",
            *(word for tag, files in self._sockets.items() for word in _files_device(tag, files)),
            "-netdev", "user,id=net,ipv6=off", "-device", "virtio-net-pci,netdev=net",
        ]  # fmt: skip


def _files_device(tag: str, files: Path) -> list[str]:
    return [
        "-chardev", f"socket,id={tag},path={files}",
        "-device", f"vhost-user-fs-pci,chardev={tag},tag={tag}",
    ]  # fmt: skip
