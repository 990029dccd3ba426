"""Hears from the kernel that interfaces or their queues have changed (rtnetlink(7)).

To ask the kernel for all of them in each pass costs more than all else that a pass does. It does
not tell of the size of offload packets (`gso_max_size`, `gso_max_segs`).
"""

import errno
import logging
import socket
import weakref
from collections.abc import Callable
from enum import IntEnum

log = logging.getLogger(__name__)

_NOTHING_TO_READ = frozenset({errno.EAGAIN, errno.EWOULDBLOCK})

HasNews = Callable[[], bool]
"""Whether something may have changed since it was asked the last time; at first it may have."""
Hear = Callable[["Group"], HasNews]


class Group(IntEnum):
    """What the kernel tells about (RTMGRP_LINK and RTMGRP_TC of linux/rtnetlink.h)."""

    LINKS = 1
    QUEUES = 8


def deaf(group: Group) -> HasNews:
    """For a kernel that tells nothing: everything may always have changed."""
    del group
    return lambda: True


def hear(group: Group) -> HasNews:
    """Listen from now on, in the network namespace of this process."""
    try:
        return _News(group).has_any
    except OSError as error:
        log.warning("no news of the kernel", extra={"group": group.name, "error": str(error)})
        return deaf(group)


class _News:
    def __init__(self, group: Group) -> None:
        self._listening = socket.socket(
            socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_NONBLOCK, socket.NETLINK_ROUTE
        )
        weakref.finalize(self, self._listening.close)
        self._listening.bind((0, group))
        self._is_first = True

    def has_any(self) -> bool:
        """Take all that came; what did not fit into the socket (ENOBUFS) came, too."""
        has_any, self._is_first = self._is_first, False
        while True:
            try:
                self._listening.recv(1)
            except OSError as error:
                if error.errno in _NOTHING_TO_READ:
                    return has_any
                if error.errno != errno.ENOBUFS:
                    # It cannot be relied on.
                    return True
            has_any = True
