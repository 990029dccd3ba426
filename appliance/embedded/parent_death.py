"""A process that ends with its parent, so that nothing is left where that is killed."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable

PR_SET_PDEATHSIG = 1  # prctl(2)


def ends_with(parent: int, stop_signal: int) -> Callable[[], None]:
    """What a process calls to get this signal when its parent, which has this number, ends.

    It ends at once where the parent has ended before. Linux forgets the signal when a process
    becomes another user, and a child does not inherit it.
    """
    try:
        prctl = ctypes.CDLL(None).prctl
    except (OSError, AttributeError):
        return _nothing

    def bind() -> None:
        prctl(PR_SET_PDEATHSIG, int(stop_signal), 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)

    return bind


def _nothing() -> None:
    """Where the system cannot bind a child to its parent."""
