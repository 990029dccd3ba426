"""A null_blk disk of the guest: it stores nothing and has a true capacity.

The disk takes `queue_depth` requests at once, and each of them takes `queue_depth / iops` seconds
on a timer of its own (Documentation/block/null_blk.rst: irqmode=2, completion_nsec,
hw_queue_depth). So it completes `iops` a second when that many wait, and fewer otherwise.
Its own limit (mbps) is of no use: it counts bytes and lets them through 50 times a second.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

NAME = "nullb0"
PLACE = Path("/dev") / NAME
_DISKS = Path("/sys/kernel/config/nullb")
QUEUE = Path("/sys/block") / NAME / "queue"
_WAITING = 256
# Between two requests the kernel itself works so long, at 4 ns an instruction.
_HANDLING_S = 18e-6
_QUEUE_DEPTH = 8
SHARED_QUEUE_DEPTH = 4
"""Of disks that share their requests: of so few the kernel keeps none for a disk that is idle
(hctx_may_queue of block/blk-mq.h)."""
SHARED_PARAMETER = f"null_blk.hw_queue_depth={SHARED_QUEUE_DEPTH}"
"""The kernel must be told of it before the first of these disks is made."""


def make_disk(*, iops: float, queue_depth: int = _QUEUE_DEPTH) -> str:
    """Make the disk anew, without limits and iocost, and give its MAJ:MIN."""
    return _make(NAME, iops=iops, queue_depth=queue_depth)


def make_shared_disks(names: Sequence[str], *, iops: float) -> list[str]:
    """Disks that do so much together, as those of hosts with one datastore; of each its MAJ:MIN.

    A request takes one of the four places of all disks (`shared_tags`), whoever comes first.
    """
    depth = SHARED_QUEUE_DEPTH
    return [_make(name, iops=iops, queue_depth=depth, shared_tags=1) for name in names]


def _make(name: str, *, iops: float, queue_depth: int, **more: int) -> str:
    taken_s = queue_depth * (1 / iops - _HANDLING_S)
    # The kernel calls a disk as its folder.
    folder, queue = _DISKS / name, Path("/sys/block") / name / "queue"
    if folder.exists():
        (folder / "power").write_text("0")
        folder.rmdir()
    folder.mkdir()
    settings = {
        "size": 8192, "blocksize": 4096, "irqmode": 2, "completion_nsec": round(taken_s * 1e9),
        "hw_queue_depth": queue_depth, **more, "power": 1,
    }  # fmt: skip
    for key, value in settings.items():
        (folder / key).write_text(str(value))
    # Requests wait in a scheduler, as those of a SATA disk do, and the disk idles for nobody.
    (queue / "scheduler").write_text("mq-deadline")
    (queue / "nr_requests").write_text(str(_WAITING))
    return (queue.parent / "dev").read_text().strip()
