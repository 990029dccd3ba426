"""Workloads: processes inside a control group that keep I/O of a disk outstanding.

Linux's own asynchronous I/O by ctypes (io_submit(2)), past the page cache; nothing to compile.
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

from tests.testbed.storage.groups import folder

_IO_SETUP, _IO_GETEVENTS, _IO_SUBMIT = 206, 208, 209  # x86-64: asm/unistd_64.h
_READ, _WRITE = 0, 1  # IOCB_CMD_PREAD and IOCB_CMD_PWRITE: linux/aio_abi.h


class _Request(ctypes.Structure):
    """struct iocb of linux/aio_abi.h, on a machine with the least byte first."""

    _fields_ = (
        ("data", ctypes.c_uint64), ("key", ctypes.c_uint32), ("flags_of_rw", ctypes.c_int32),
        ("opcode", ctypes.c_uint16), ("priority", ctypes.c_int16), ("file", ctypes.c_uint32),
        ("buffer", ctypes.c_uint64), ("length", ctypes.c_uint64), ("offset", ctypes.c_int64),
        ("reserved", ctypes.c_uint64), ("flags", ctypes.c_uint32), ("event_file", ctypes.c_uint32),
    )  # fmt: skip


class _Event(ctypes.Structure):
    """struct io_event of linux/aio_abi.h."""

    _fields_ = (
        ("data", ctypes.c_uint64), ("request", ctypes.c_uint64),
        ("result", ctypes.c_int64), ("result2", ctypes.c_int64),
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What one group does: so many workers, each with so many I/Os outstanding at any time."""

    group: str
    disk: Path
    workers: int = 1
    outstanding: int = 32
    read_ratio: float = 1.0
    block_bytes: int = 16384


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


def _start(load: Load, *, seed: int) -> int:
    process = os.fork()
    if process:
        return process
    try:
        (folder(load.group) / "cgroup.procs").write_text("0")
        _work(load, random.Random(f"{load.group} {seed}"))
    except OSError:
        traceback.print_exc()
    finally:
        os._exit(1)


def _work(load: Load, chance: random.Random) -> None:
    disk = os.open(load.disk, os.O_RDWR | os.O_DIRECT)
    blocks = os.lseek(disk, 0, os.SEEK_END) // load.block_bytes
    # Memory of a mapping starts at a page's border, as I/O past the page cache wants it.
    memory = mmap.mmap(-1, load.block_bytes)
    buffer = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    requests = (_Request * load.outstanding)()
    for number, request in enumerate(requests):
        request.data, request.file = number, disk
        request.buffer, request.length = buffer, load.block_bytes
    places = [ctypes.addressof(request) for request in requests]
    events = (_Event * load.outstanding)()
    queue = ctypes.c_ulong(0)
    _system_call(_IO_SETUP, load.outstanding, ctypes.byref(queue))
    ready = list(range(load.outstanding))
    while True:
        for number in ready:
            request = requests[number]
            request.opcode = _READ if chance.random() < load.read_ratio else _WRITE
            request.offset = int(chance.random() * blocks) * load.block_bytes
        _submit(queue, [places[number] for number in ready])
        ended = _system_call(_IO_GETEVENTS, queue, 1, load.outstanding, events, None)
        ready = [events[number].data for number in range(ended)]


def _submit(queue: ctypes.c_ulong, places: list[int]) -> None:
    while places:
        given = (ctypes.c_uint64 * len(places))(*places)
        places = places[_system_call(_IO_SUBMIT, queue, len(places), given) :]


_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.syscall.restype = ctypes.c_long


def _system_call(number: int, *arguments: object) -> int:
    answer: int = _LIBC.syscall(ctypes.c_long(number), *arguments)
    if answer < 0:
        raise OSError(ctypes.get_errno(), f"system call {number}")
    return answer
