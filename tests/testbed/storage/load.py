"""Workloads: processes inside a control group that keep I/O of a disk outstanding.

A worker is forked, so it reads no file, and is at work after some milliseconds.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import random
import signal
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.testbed.storage.aio import Queue
from tests.testbed.storage.groups import folder


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What one group does: so many workers, each with so many I/Os outstanding at any time."""

    group: str
    disk: Path
    workers: int = 1
    outstanding: int = 32
    read_ratio: float = 1.0
    block_bytes: int = 16384


class Tally(ctypes.Structure):
    """What a worker has submitted so far, and what of it ended, rightly or not."""

    _fields_ = (
        ("is_over", ctypes.c_uint64), ("submitted", ctypes.c_uint64),
        ("ended", ctypes.c_uint64), ("failed", ctypes.c_uint64),
    )  # fmt: skip


@contextmanager
def counted(load: Load) -> Iterator[Tally]:
    """One worker, which at the end of the block waits for all that it has submitted."""
    process, tally = _start_counted(load)
    try:
        yield tally
    finally:
        tally.is_over = 1
        os.waitpid(process, 0)


def start_counted(load: Load) -> Tally:
    """One worker, which goes on for as long as the guest does."""
    return _start_counted(load)[1]


def keep_busy() -> None:
    """Something always works from here on, so that no time runs off while programs wait."""
    if not os.fork():
        os.nice(19)
        while True:
            pass


@contextmanager
def running(*loads: Load) -> Iterator[None]:
    """The workers of all loads, from their start to the end of the block."""
    processes = [_start(load, seed=worker) for load in loads for worker in range(load.workers)]
    try:
        yield
    finally:
        for process in processes:
            os.kill(process, signal.SIGKILL)
        for process in processes:
            os.waitpid(process, 0)


def _start_counted(load: Load) -> tuple[int, Tally]:
    tally = Tally.from_buffer(mmap.mmap(-1, ctypes.sizeof(Tally)))
    return _start(load, seed=0, tally=tally), tally


def _start(load: Load, *, seed: int, tally: Tally | None = None) -> int:
    process = os.fork()
    if process:
        return process
    try:
        (folder(load.group) / "cgroup.procs").write_text("0")
        _work(load, random.Random(f"{load.group} {seed}"), tally or Tally())
    except OSError:
        traceback.print_exc()
    finally:
        os._exit(1)


def _work(load: Load, chance: random.Random, tally: Tally) -> None:
    disk = os.open(load.disk, os.O_RDWR | os.O_DIRECT)
    blocks = os.lseek(disk, 0, os.SEEK_END) // load.block_bytes
    queue = Queue(disk, depth=load.outstanding, block_bytes=load.block_bytes)
    ready = list(range(load.outstanding))
    while not tally.is_over or tally.ended < tally.submitted:
        if tally.is_over:
            ready = []
        for place in ready:
            is_read = chance.random() < load.read_ratio
            queue.prepare(place, int(chance.random() * blocks) * load.block_bytes, is_read=is_read)
        queue.submit(ready)
        tally.submitted += len(ready)
        ready = queue.ended()
        tally.ended += len(ready)
        tally.failed = queue.failed
