"""When the kernel changed traffic classes, as it tells by netlink (RTNLGRP_TC)."""

from __future__ import annotations

import os
import socket
import struct
import threading
import time
from types import TracebackType

_NETLINK_ROUTE = 0
# From linux/rtnetlink.h: the group as a bit, and the message of a class that was set.
_RTNLGRP_TC = 4
_RTM_NEWTCLASS = 40
_HEADER = struct.Struct("=IHHII")
_ROOM_BYTES = 1 << 22
_QUIET_S = 0.2


class ClassChanges:
    """A block in which changes of classes in this network namespace are watched.

    After it `took_s` is the time from the first to the last of them as a reader saw them, which
    is late by as much as the reader waited for a processor; `count` is how many there were.
    """

    def __init__(self) -> None:
        self.times_s: list[float] = []
        self._line = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_ROUTE)
        self._line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _ROOM_BYTES)
        self._line.bind((0, 1 << (_RTNLGRP_TC - 1)))
        self._line.settimeout(_QUIET_S)
        self._is_over = threading.Event()
        self._reader = threading.Thread(target=self._read)

    @property
    def count(self) -> int:
        """How many changes there were."""
        return len(self.times_s)

    @property
    def took_s(self) -> float:
        """From the first to the last."""
        return self.times_s[-1] - self.times_s[0] if self.times_s else 0.0

    def __enter__(self) -> ClassChanges:
        self._reader.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._is_over.set()
        self._reader.join()
        self._line.close()

    def _read(self) -> None:
        """Until the block is over and nothing came for a while."""
        # Before all others, so that it sees when things happen; of this thread alone.
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
        while True:
            try:
                data = self._line.recv(1 << 16)
            except TimeoutError:
                if self._is_over.is_set():
                    return
                continue
            now_s = time.monotonic()
            if _HEADER.unpack_from(data)[1] == _RTM_NEWTCLASS:
                self.times_s.append(now_s)
