"""Linux's own asynchronous I/O by ctypes (io_submit(2)), past the page cache.

Nothing has to be compiled or installed in a guest for it.
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Sequence

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


class _Time(ctypes.Structure):
    """struct timespec."""

    _fields_ = (("seconds", ctypes.c_int64), ("nanoseconds", ctypes.c_int64))

    @classmethod
    def of(cls, seconds: float) -> _Time:
        whole = int(seconds)
        return cls(whole, int((seconds - whole) * 1e9))


class Queue:
    """I/Os of one size on an open disk; each has one of `depth` places, and so has its event.

    `failed` of them have ended with an error, or with less than was asked for.
    """

    def __init__(self, disk: int, *, depth: int, block_bytes: int) -> None:
        # Memory of a mapping starts at a page's border, as I/O past the page cache wants it.
        self._memory = mmap.mmap(-1, block_bytes)
        self._block_bytes, self.failed = block_bytes, 0
        buffer = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))
        self._requests = (_Request * depth)()
        for number, request in enumerate(self._requests):
            request.data, request.file = number, disk
            request.buffer, request.length = buffer, block_bytes
        self._places = [ctypes.addressof(request) for request in self._requests]
        self._events = (_Event * depth)()
        self._queue = ctypes.c_ulong(0)
        _system_call(_IO_SETUP, depth, ctypes.byref(self._queue))

    def prepare(self, place: int, offset: int, *, is_read: bool) -> None:
        """What the I/O of this place will be."""
        request = self._requests[place]
        request.opcode = _READ if is_read else _WRITE
        request.offset = offset

    def submit(self, places: Sequence[int]) -> None:
        """Begin the I/Os of these places."""
        left = [self._places[place] for place in places]
        while left:
            given = (ctypes.c_uint64 * len(left))(*left)
            left = left[_system_call(_IO_SUBMIT, self._queue, len(left), given) :]

    def ended(self, timeout_s: float | None = None) -> list[int]:
        """The places whose I/O has ended; waits for the first, at most so long."""
        wait = None if timeout_s is None else ctypes.byref(_Time.of(timeout_s))
        arguments = (1, len(self._events), self._events, wait)
        count = _system_call(_IO_GETEVENTS, self._queue, *arguments)
        events = [self._events[number] for number in range(count)]
        self.failed += sum(event.result != self._block_bytes for event in events)
        return [event.data for event in events]


_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.syscall.restype = ctypes.c_long


def _system_call(number: int, *arguments: object) -> int:
    answer: int = _LIBC.syscall(ctypes.c_long(number), *arguments)
    if answer < 0:
        raise OSError(ctypes.get_errno(), f"system call {number}")
    return answer
