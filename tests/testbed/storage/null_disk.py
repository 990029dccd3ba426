"""A null_blk disk of the guest: it stores nothing and has a true capacity.

The disk takes `queue_depth` requests at once, and each of them takes `queue_depth / iops` seconds
on a timer of its own (Documentation/block/null_blk.rst: irqmode=2, completion_nsec,
hw_queue_depth). So it completes `iops` a second when that many wait, and fewer otherwise.
Its own limit (mbps) is of no use: it counts bytes and lets them through 50 times a second.
"""

from __future__ import annotations

from pathlib import Path

NAME = "nullb0"
PLACE = Path("/dev") / NAME
# The kernel calls a disk as its folder.
_FOLDER = Path("/sys/kernel/config/nullb") / NAME
QUEUE = Path("/sys/block") / NAME / "queue"
_WAITING = 256
# Between two requests the kernel itself works so long, at 4 ns an instruction.
_HANDLING_S = 18e-6


def make_disk(*, iops: float, queue_depth: int = 8) -> str:
    """Make the disk anew, without limits and iocost, and give its MAJ:MIN."""
    taken_s = queue_depth * (1 / iops - _HANDLING_S)
    if _FOLDER.exists():
        (_FOLDER / "power").write_text("0")
        _FOLDER.rmdir()
    _FOLDER.mkdir()
    for name, value in (
        ("size", 8192),
        ("blocksize", 4096),
        ("irqmode", 2),
        ("completion_nsec", round(taken_s * 1e9)),
        ("hw_queue_depth", queue_depth),
        ("power", 1),
    ):
        (_FOLDER / name).write_text(str(value))
    # Requests wait in a scheduler, as those of a SATA disk do, and the disk idles for nobody.
    (QUEUE / "scheduler").write_text("mq-deadline")
    (QUEUE / "nr_requests").write_text(str(_WAITING))
    return (Path("/sys/block") / NAME / "dev").read_text().strip()
