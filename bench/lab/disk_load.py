"""Loads of the laboratory's disks, each a process in a control group of a guest.

| kind | how | what it does |
|---|---|---|
| steady | asynchronous | begins I/O at a rate; what a full queue of its own holds up is dropped |
| deferred | asynchronous | begins I/O at a rate; what is held up is done later |
| bursts | asynchronous | as steady while on, and nothing while off |
| greedy | asynchronous | always has its queue full |
| clients | blocking | so many threads wait for an I/O each, and think |
| idle | io_uring | none: it waits for a timer of its ring |

Asynchronous I/O is by io_submit, or by io_uring where the load `is_by_ring`.

Nobody but the laboratory knows which load a workload has: what is scored is told from its rates.
A guest has no more than Python's own library.
"""

from __future__ import annotations

import math
import mmap
import os
import random
import struct
import threading
import time
import traceback
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bench.lab.disk_case import PIECE_BYTES
from tests.testbed.storage import aio, ring
from tests.testbed.storage.groups import folder

DROPPING = frozenset({"steady", "bursts"})
LATE_S = 0.1
"""What is so late is dropped by a load that drops."""

_BOOK = struct.Struct("qd")


class Book:
    """I/Os that a load has done and the seconds that they took together, for its parent to read.

    What an I/O takes has the time in it that it waits in the kernel's controllers.
    """

    def __init__(self) -> None:
        self._shared = mmap.mmap(-1, mmap.PAGESIZE)
        self._lock = threading.Lock()

    def add(self, ios: int, took_s: float) -> None:
        """Note I/Os that have ended."""
        with self._lock:
            count, seconds = self.read()
            _BOOK.pack_into(self._shared, 0, count + ios, seconds + took_s)

    def read(self) -> tuple[int, float]:
        """All so far."""
        count, seconds = _BOOK.unpack_from(self._shared)
        return count, seconds


def start(load: Mapping[str, Any], *, group: str, disk: Path, book: Book) -> None:
    """Begin a load in a process of its own, which never ends."""
    if os.fork():
        return
    try:
        (folder(group) / "cgroup.procs").write_text("0")
        _work(load, disk, book)
    except BaseException:  # noqa: BLE001  (a fork must not go on as its parent)
        traceback.print_exc()
    finally:
        os._exit(1)


def _work(load: Mapping[str, Any], disk: Path, book: Book) -> None:
    while load["kind"] == "idle":
        ring.idle(1000)
    opened = os.open(disk, os.O_RDWR | os.O_DIRECT)
    pieces = max(1, load["block_bytes"] // PIECE_BYTES)
    if load["kind"] != "clients":
        _Asynchronous(load, opened, book, pieces).run()
        return
    for number in range(load["clients"]):
        chance = random.Random(f"{load['seed']} {number}")
        arguments = (load, opened, book, pieces, chance)
        threading.Thread(target=_client, args=arguments, daemon=True).start()
    while True:
        time.sleep(1000)


def _client(
    load: Mapping[str, Any], disk: int, book: Book, pieces: int, chance: random.Random
) -> None:
    """Wait for each I/O, and think."""
    size, think_s = load["block_bytes"], load["think_s"]
    memory = mmap.mmap(-1, size)
    blocks = os.lseek(disk, 0, os.SEEK_END) // size
    time.sleep(chance.uniform(0, think_s + 0.01))
    while True:
        offset = int(chance.random() * blocks) * size
        began_s = time.monotonic()
        if chance.random() < load["read_ratio"]:
            os.preadv(disk, [memory], offset)
        else:
            os.pwritev(disk, [memory], offset)
        book.add(pieces, pieces * (time.monotonic() - began_s))
        if think_s:
            time.sleep(chance.expovariate(1 / think_s))


class _Asynchronous:
    """A load that begins I/O when it is due and its own queue has a place."""

    def __init__(self, load: Mapping[str, Any], disk: int, book: Book, pieces: int) -> None:
        self._load, self._book, self._pieces = load, book, pieces
        self._chance = random.Random(load["seed"])
        size = load["block_bytes"]
        way = ring if load.get("is_by_ring") else aio
        self._queue = way.Queue(disk, depth=load["depth"], block_bytes=size)
        self._blocks = os.lseek(disk, 0, os.SEEK_END) // size
        self._free = list(range(load["depth"]))
        self._began_s = [0.0] * load["depth"]

    def run(self) -> None:
        """Never ends."""
        drops = self._load["kind"] in DROPPING
        for due_s in _times(self._load, self._pieces, self._chance):
            self._wait_until(due_s)
            while not self._free:
                self._collect(None)
            if not drops or time.monotonic() - due_s < LATE_S:
                self._begin()

    def _wait_until(self, due_s: float) -> None:
        while (left_s := due_s - time.monotonic()) > 0:
            if len(self._free) == len(self._began_s):
                time.sleep(left_s)
            else:
                self._collect(left_s)

    def _begin(self) -> None:
        place = self._free.pop()
        offset = int(self._chance.random() * self._blocks) * self._load["block_bytes"]
        is_read = self._chance.random() < self._load["read_ratio"]
        self._queue.prepare(place, offset, is_read=is_read)
        self._began_s[place] = time.monotonic()
        self._queue.submit([place])

    def _collect(self, timeout_s: float | None) -> None:
        ended = self._queue.ended(timeout_s)
        now_s = time.monotonic()
        took_s = sum(now_s - self._began_s[place] for place in ended)
        self._book.add(len(ended) * self._pieces, took_s * self._pieces)
        self._free += ended


def _times(load: Mapping[str, Any], pieces: int, chance: random.Random) -> Iterator[float]:
    """When each I/O is due; minus infinity is as soon as there is a place."""
    if load["kind"] == "greedy":
        while True:
            yield -math.inf
    gap_s = pieces / load["iops"]
    due_s = time.monotonic() + chance.uniform(0, gap_s)
    if load["kind"] != "bursts":
        while True:
            yield due_s
            due_s += gap_s * chance.uniform(0.5, 1.5)
    while True:
        ends_s = due_s + load["on_s"] * chance.uniform(0.5, 1.5)
        while due_s < ends_s:
            yield due_s
            due_s += gap_s * chance.uniform(0.5, 1.5)
        due_s = ends_s + load["off_s"] * chance.uniform(0.5, 1.5)
