"""io_uring by ctypes, past the page cache: the same I/Os as those of `aio`, by the newer calls.

Nothing has to be compiled or installed in a guest for it. One thread submits and reaps, and each
step ends in a system call, so the rings need no barriers on x86.
"""

from __future__ import annotations

import ctypes
import math
import mmap
import os
from collections.abc import Sequence

_SETUP, _ENTER = 425, 426  # asm-generic/unistd.h
# linux/io_uring.h
_READ, _WRITE, _TIMEOUT = 22, 23, 11
_GET_EVENTS, _EXTENDED = 1 << 0, 1 << 3
_SUBMISSIONS, _COMPLETIONS, _ENTRIES = 0, 0x8000000, 0x10000000
_ETIME = 62


class _Offsets(ctypes.Structure):
    """struct io_sqring_offsets and io_cqring_offsets, whose first four words mean the same.

    The fifth is `flags` of one and `overflow` of the other, the sixth `dropped` and `cqes`, and
    the seventh `array` and `flags`.
    """

    _fields_ = (
        ("head", ctypes.c_uint32), ("tail", ctypes.c_uint32), ("mask", ctypes.c_uint32),
        ("entries", ctypes.c_uint32), ("fifth", ctypes.c_uint32), ("sixth", ctypes.c_uint32),
        ("seventh", ctypes.c_uint32), ("reserved", ctypes.c_uint32), ("address", ctypes.c_uint64),
    )  # fmt: skip


class _Parameters(ctypes.Structure):
    """struct io_uring_params."""

    _fields_ = (
        ("submissions", ctypes.c_uint32), ("completions", ctypes.c_uint32),
        ("flags", ctypes.c_uint32), ("cpu", ctypes.c_uint32), ("idle", ctypes.c_uint32),
        ("features", ctypes.c_uint32), ("workers", ctypes.c_uint32),
        ("reserved", ctypes.c_uint32 * 3), ("submission", _Offsets), ("completion", _Offsets),
    )  # fmt: skip


class _Entry(ctypes.Structure):
    """struct io_uring_sqe."""

    _fields_ = (
        ("opcode", ctypes.c_uint8), ("flags", ctypes.c_uint8), ("priority", ctypes.c_uint16),
        ("file", ctypes.c_int32), ("offset", ctypes.c_uint64), ("address", ctypes.c_uint64),
        ("length", ctypes.c_uint32), ("flags_of_rw", ctypes.c_uint32), ("data", ctypes.c_uint64),
        ("rest", ctypes.c_uint64 * 3),
    )  # fmt: skip


class _Event(ctypes.Structure):
    """struct io_uring_cqe."""

    _fields_ = (("data", ctypes.c_uint64), ("result", ctypes.c_int32), ("flags", ctypes.c_uint32))


class _Time(ctypes.Structure):
    """struct __kernel_timespec."""

    _fields_ = (("seconds", ctypes.c_int64), ("nanoseconds", ctypes.c_int64))

    @classmethod
    def of(cls, seconds: float) -> _Time:
        whole = math.floor(seconds)
        return cls(whole, int((seconds - whole) * 1e9))


class _Wait(ctypes.Structure):
    """struct io_uring_getevents_arg."""

    _fields_ = (
        ("mask", ctypes.c_uint64), ("mask_bytes", ctypes.c_uint32), ("pad", ctypes.c_uint32),
        ("time", ctypes.c_uint64),
    )  # fmt: skip


class Queue:
    """I/Os of one size on an open disk; each has one of `depth` places, and so has its event.

    `failed` of them have ended with an error, or with less than was asked for.
    """

    def __init__(self, disk: int, *, depth: int, block_bytes: int) -> None:
        self._disk, self._block_bytes, self.failed = disk, block_bytes, 0
        # Memory of a mapping starts at a page's border, as I/O past the page cache wants it.
        self._memory = mmap.mmap(-1, block_bytes)
        self._buffer = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))
        self._ring = _Ring(depth)

    def prepare(self, place: int, offset: int, *, is_read: bool) -> None:
        """What the I/O of this place will be."""
        entry = self._ring.entries[place]
        entry.opcode = _READ if is_read else _WRITE
        entry.file, entry.offset = self._disk, offset
        entry.address, entry.length, entry.data = self._buffer, self._block_bytes, place

    def submit(self, places: Sequence[int]) -> None:
        """Begin the I/Os of these places."""
        self._ring.submit(places)

    def ended(self, timeout_s: float | None = None) -> list[int]:
        """The places whose I/O has ended; waits for the first, at most so long."""
        events = self._ring.ended(timeout_s)
        self.failed += sum(result != self._block_bytes for _, result in events)
        return [place for place, _ in events]


def idle(seconds: float) -> None:
    """Wait as a service does that has nothing to do: in the kernel, for a timer of its ring.

    Linux counts it as waiting for I/O, so the pressure of its control group is near 100 %.
    """
    ring, time = _Ring(1), _Time.of(seconds)
    entry = ring.entries[0]
    entry.opcode, entry.address, entry.length = _TIMEOUT, ctypes.addressof(time), 1
    ring.submit([0])
    ring.ended(None)


class _Ring:
    """Both rings of the kernel, mapped; entry n is always at place n."""

    def __init__(self, depth: int) -> None:
        said = _Parameters()
        self._ring = _system_call(_SETUP, depth, ctypes.byref(said))
        first, second = said.submission, said.completion
        size = first.seventh + 4 * said.submissions
        self._first = _Words(mmap.mmap(self._ring, size, offset=_SUBMISSIONS))
        size = second.sixth + ctypes.sizeof(_Event) * said.completions
        self._second = _Words(mmap.mmap(self._ring, size, offset=_COMPLETIONS))
        size = ctypes.sizeof(_Entry) * said.submissions
        self._memory = mmap.mmap(self._ring, size, offset=_ENTRIES)
        self.entries = (_Entry * said.submissions).from_buffer(self._memory)
        self._events = (_Event * said.completions).from_buffer(self._second.memory, second.sixth)
        self._submission, self._completion = first, second

    def submit(self, places: Sequence[int]) -> None:
        words, at = self._first, self._submission
        tail, mask = words.read(at.tail), words.read(at.mask)
        for number, place in enumerate(places):
            words.write(at.seventh + 4 * ((tail + number) & mask), place)
        words.write(at.tail, (tail + len(places)) & 0xFFFFFFFF)
        left = len(places)
        while left:
            left -= _system_call(_ENTER, self._ring, left, 0, 0, None, 0)

    def ended(self, timeout_s: float | None) -> list[tuple[int, int]]:
        """Data and result of each event that is there; waits for the first, at most so long."""
        words, at = self._second, self._completion
        head = words.read(at.head)
        if words.read(at.tail) == head:
            self._wait(timeout_s)
        mask, found = words.read(at.mask), []
        while head != words.read(at.tail):
            event = self._events[head & mask]
            found.append((event.data, event.result))
            head = (head + 1) & 0xFFFFFFFF
        words.write(at.head, head)
        return found

    def _wait(self, timeout_s: float | None) -> None:
        time = None if timeout_s is None else _Time.of(timeout_s)
        wait = _Wait(time=0 if time is None else ctypes.addressof(time))
        flags, size = _GET_EVENTS | _EXTENDED, ctypes.sizeof(wait)
        try:
            _system_call(_ENTER, self._ring, 0, 1, flags, ctypes.byref(wait), size)
        except OSError as error:
            if error.errno != _ETIME:
                raise


class _Words:
    """32-bit words of memory that the kernel shares."""

    def __init__(self, memory: mmap.mmap) -> None:
        self.memory = memory

    def read(self, offset: int) -> int:
        return ctypes.c_uint32.from_buffer(self.memory, offset).value

    def write(self, offset: int, value: int) -> None:
        ctypes.c_uint32.from_buffer(self.memory, offset).value = value


_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.syscall.restype = ctypes.c_long


def _system_call(number: int, *arguments: object) -> int:
    # The kernel takes whole registers, of which ctypes fills a half for a plain int.
    whole = [ctypes.c_long(one) if isinstance(one, int) else one for one in arguments]
    answer: int = _LIBC.syscall(ctypes.c_long(number), *whole)
    if answer < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return answer
