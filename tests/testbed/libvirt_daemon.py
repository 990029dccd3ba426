"""A libvirtd of its own with one virtual machine, whose whole system is its disk's first sector.

That sector is a loop that reads and writes through the BIOS, so there is a virtual disk at work a
second after the start. The machine's own libvirt is not touched: the daemon is one of a user.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

DOMAIN = "db-orders"
DISK = "vda"
READ_BYTES, WRITTEN_BYTES = 8 * 512, 512
IOS_PER_S = 200
_NOBODY = 65534
_LOOP = bytes.fromhex(
    "31c0 8ed8"  # xor ax, ax; mov ds, ax
    "b442 be007d cd13"  # read as the packet at 7d00 says
    "b80043 be107d cd13"  # write as the one at 7d10 says
    "ebef"  # once more
)
_READ_PACKET = bytes.fromhex("1000 0800 0080 0000 0800000000000000")
_WRITE_PACKET = bytes.fromhex("1000 0100 0080 0000 4000000000000000")
_XML = """
<domain type='qemu'>
  <name>{name}</name>
  <memory unit='MiB'>32</memory>
  <os><type arch='x86_64'>hvm</type><boot dev='hd'/></os>
  <devices>
    <emulator>{emulator}</emulator>
    <disk type='file' device='disk'>
      <driver name='qemu' type='raw'/>
      <source file='{disk}'/>
      <target dev='{target}' bus='virtio'/>
      <iotune><total_iops_sec>{ios_per_s}</total_iops_sec></iotune>
    </disk>
    <memballoon model='none'/>
  </devices>
</domain>
"""


def boot_sector() -> bytes:
    """512 bytes that a BIOS takes for a system."""
    code = _LOOP.ljust(0x100, b"\0") + _READ_PACKET + _WRITE_PACKET
    return code.ljust(510, b"\0") + b"\x55\xaa"


@contextmanager
def libvirt_with_domain(log: Path) -> Iterator[str]:
    """The address under which Telegraf finds the daemon, while its virtual machine runs."""
    # The user passes through no folder of pytest's, and the path of a socket must be short.
    own = Path(tempfile.mkdtemp(prefix="sluice-libvirt-", dir="/tmp"))
    disk, definition = own / "disk", own / "domain.xml"
    disk.write_bytes(boot_sector().ljust(1 << 20, b"\0"))
    definition.write_text(
        _XML.format(
            name=DOMAIN,
            emulator=shutil.which("qemu-system-x86_64"),
            disk=disk,
            target=DISK,
            ios_per_s=IOS_PER_S,
        )
    )
    settings = own / ".config/libvirt/qemu.conf"
    settings.parent.mkdir(parents=True)
    # Else a daemon for logs is started, which goes on for two minutes after all others.
    settings.write_text('stdio_handler = "file"\n')
    as_user = _as_user(own, disk, definition, settings.parent.parent, settings.parent)
    environment = {"PATH": os.environ["PATH"], "HOME": str(own), "XDG_RUNTIME_DIR": str(own)}
    with log.open("wb") as output:
        daemon = subprocess.Popen(
            [*as_user, "libvirtd"], env=environment, cwd=own, stdout=output, stderr=output
        )
    address = f"qemu+unix:///session?socket={own}/libvirt/libvirt-sock"

    def virsh(*words: str) -> str:
        done = subprocess.run(
            [*as_user, "virsh", "--connect", address, *words], env=environment, cwd=own,
            check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60,
        )  # fmt: skip
        return "" if done.returncode == 0 else done.stdout

    try:
        _wait_for(own / "libvirt/libvirt-sock", log)
        refused = virsh("create", str(definition))
        assert not refused, f"{refused}\n{log.read_text()}"
        yield address
    finally:
        try:
            virsh("destroy", DOMAIN)
        finally:
            _end(daemon)
            _kill_machine(own)
            shutil.rmtree(own, ignore_errors=True)


def _end(daemon: subprocess.Popen[bytes]) -> None:
    daemon.terminate()
    try:
        daemon.wait(30)
    except subprocess.TimeoutExpired:
        daemon.kill()
        daemon.wait()


def _kill_machine(own: Path) -> None:
    """The machine goes on without its daemon, should that not have ended it."""
    with suppress(ProcessLookupError, ValueError, FileNotFoundError):
        os.kill(int((own / f"libvirt/qemu/run/{DOMAIN}.pid").read_text()), signal.SIGKILL)


def _as_user(*owned: Path) -> list[str]:
    """How to start programs that are not root's, to whom these files belong."""
    if os.geteuid() != 0:
        return []
    # As root libvirtd would be the machine's own.
    for path in owned:
        os.chown(path, _NOBODY, _NOBODY)
    return ["setpriv", f"--reuid={_NOBODY}", f"--regid={_NOBODY}", "--clear-groups"]


def _wait_for(path: Path, log: Path) -> None:
    deadline = time.monotonic() + 30
    while not path.exists():
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.05)
