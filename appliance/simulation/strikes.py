"""Faults that lie in wait within a step of an agent: at the n-th change of disk or kernel."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum


class Killed(BaseException):
    """The process of an agent ends here, without any last word."""


class Strike(StrEnum):
    """What happens at a step."""

    KILL = "agent killed"
    POWER_LOSS = "power lost"
    DISK_ERROR = "disk error"
    KERNEL_REFUSES = "kernel refuses a write"


_AT_DISK = frozenset({Strike.KILL, Strike.POWER_LOSS, Strike.DISK_ERROR})
_AT_KERNEL = frozenset({Strike.KILL, Strike.POWER_LOSS, Strike.KERNEL_REFUSES})
_DEADLY = frozenset({Strike.KILL, Strike.POWER_LOSS})


@dataclass(slots=True, kw_only=True)
class Armed:
    """A strike at the n-th change from now on."""

    strike: Strike
    left: int


class Strikes:
    """What lies in wait for one host. Once its agent was struck dead nothing has any effect."""

    def __init__(self, struck: Callable[[Strike], None]) -> None:
        """`struck` is told what struck, before it does."""
        self._struck = struck
        self._armed: Armed | None = None
        self.is_dead = False
        self.is_disk_full = False

    def arm(self, strike: Strike, after: int) -> None:
        """Let it strike at a change to come; it takes the place of what was armed before."""
        self._armed = Armed(strike=strike, left=after)

    def disarm(self) -> None:
        """Nothing strikes any more."""
        self._armed = None
        self.is_disk_full = False

    def check_alive(self) -> None:
        """Call before what no fault strikes; the dead do not do it."""
        if self.is_dead:
            raise Killed

    def disk_step(self, halfway: Callable[[], object] | None = None) -> None:
        """Call before a change of the disk; `halfway` does a part of it."""
        strike = self._due(_AT_DISK)
        if strike in _DEADLY:
            if halfway is not None:
                halfway()
            raise Killed
        if strike is Strike.DISK_ERROR:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        if self.is_disk_full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def kernel_step(self) -> None:
        """Call before a change of the kernel."""
        strike = self._due(_AT_KERNEL)
        if strike in _DEADLY:
            raise Killed
        if strike is Strike.KERNEL_REFUSES:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))

    def _due(self, kinds: frozenset[Strike]) -> Strike | None:
        if self.is_dead:
            raise Killed
        armed = self._armed
        if armed is None or armed.strike not in kinds:
            return None
        armed.left -= 1
        if armed.left > 0:
            return None
        self._armed = None
        self.is_dead = armed.strike in _DEADLY
        self._struck(armed.strike)
        return armed.strike
