"""Disks of several kinds in a guest, each with a capacity of its own that requests wait for."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.testbed.storage.null_disk import PLACE, make_disk

_TOO_MANY = 8
_SERVED_S = 0.004


def _null() -> str:
    make_disk(iops=2000)
    return PLACE.name


def _slow() -> str:
    make_disk(iops=180)
    return PLACE.name


def _scsi(modules: Path) -> str:
    """Eight requests at once, each of which takes 4 ms."""
    name, _ = scsi_disk(modules, iops=_TOO_MANY / _SERVED_S, queue_depth=_TOO_MANY)
    return name


def scsi_disk(modules: Path, *, iops: float, queue_depth: int) -> tuple[str, str]:
    """The name and MAJ:MIN of a disk of scsi_debug, which does so much, so many at once."""
    known = set(Path("/sys/block").iterdir())
    delay_ns = round(queue_depth / iops * 1e9)
    for name in ("scsi_common", "scsi_mod", "sd_mod"):
        _insert(modules, name)
    _insert(
        modules,
        "scsi_debug",
        f"ndelay={delay_ns}",
        f"max_queue={queue_depth}",
        "dev_size_mb=64",
        "statistics=1",
    )
    (found,) = set(Path("/sys/block").iterdir()) - known
    (found / "queue" / "scheduler").write_text("mq-deadline")
    return found.name, (found / "dev").read_text().strip()


def hang(disk: str) -> None:
    """From now on the disk of scsi_debug takes I/Os and completes none, and nobody gives up."""
    Path("/sys/block", disk, "device", "timeout").write_text("100000")
    driver = Path("/sys/bus/pseudo/drivers/scsi_debug")
    (driver / "every_nth").write_text("1")
    (driver / "opts").write_text("4")  # SDEBUG_OPT_TIMEOUT: such a command is ignored


def _delayed(modules: Path) -> str:
    """Device mapper, which holds each request up for 5 ms, above a disk of 1000."""
    make_disk(iops=1000)
    for name in ("dm-mod", "dm-delay"):
        _insert(modules, name)
    sectors = int((Path("/sys/block") / PLACE.name / "size").read_text())
    table = f"0 {sectors} delay {PLACE} 0 5"
    subprocess.run(["dmsetup", "create", "--noudevsync", "late", "--table", table], check=True)
    return "dm-0"


def _loop(modules: Path) -> str:
    """A loop device, past the page cache, above a disk of 1000."""
    make_disk(iops=1000)
    _insert(modules, "loop")
    subprocess.run(["losetup", "--direct-io=on", "/dev/loop0", str(PLACE)], check=True)
    return "loop0"


KINDS: Mapping[str, Callable[[Path], str]] = {
    "null_blk, 8 requests at once": lambda _: _null(),
    "null_blk, 180 IOPS": lambda _: _slow(),
    "SCSI (scsi_debug)": _scsi,
    "device mapper (dm-delay)": _delayed,
    "loop device": _loop,
}
"""By name, what makes the disk and gives its name. Those on top of another come last."""


def _insert(modules: Path, name: str, *parameters: str) -> None:
    """Load a driver from beside the kernel, unless it is there or a part of it."""
    file = modules / f"{name}.ko"
    if file.exists() and not (Path("/sys/module") / name.replace("-", "_")).exists():
        subprocess.run(["busybox", "insmod", str(file), *parameters], check=True)
