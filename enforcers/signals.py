"""What the process is told by signals: to end, to hand over, or to read its configuration."""

import select
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from types import FrameType

ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT)
LEAVING = (*ENDING, signal.SIGHUP)
HANDING_OVER = signal.SIGUSR1
ALL = (*ENDING, HANDING_OVER, signal.SIGHUP)
_ROOM_BYTES = 4096


class Call(StrEnum):
    """What a signal asks for; to hand over is to end and leave all in force for the next one."""

    STOP = "stop"
    HAND_OVER = "hand over"
    RELOAD = "reload"


class Calls:
    """The calls so far. A wait ends at a call, also at one that came before it."""

    def __init__(self, woken: socket.socket) -> None:
        self._woken = woken
        self._call: Call | None = None

    def take(self, number: int, _frame: FrameType | None) -> None:
        """Note a signal; safe wherever the process is just then."""
        if number in ENDING:
            self._call = Call.STOP
        elif number == HANDING_OVER and self._call is not Call.STOP:
            self._call = Call.HAND_OVER
        elif self._call is None:
            self._call = Call.RELOAD

    def wait(self, seconds: float) -> Call | None:
        """The call to follow, None if none came in time. No end is ever taken back."""
        if self._call is None:
            ready, _, _ = select.select([self._woken], [], [], seconds)
            if ready:
                self._woken.recv(_ROOM_BYTES)
        call = self._call
        if call is Call.RELOAD:
            self._call = None
        return call


def hold_back() -> None:
    """Let signals wait until somebody listens, so that none ends a process that just starts."""
    signal.pthread_sigmask(signal.SIG_BLOCK, ALL)


def let_through() -> None:
    """Signals do again what they do by themselves, or what a listener wants."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ALL)


@contextmanager
def listening() -> Iterator[Calls]:
    """Take the signals within the block; in the main thread only."""
    woken, waker = socket.socketpair()
    with woken, waker:
        woken.setblocking(False)
        waker.setblocking(False)
        calls = Calls(woken)
        former_waker = signal.set_wakeup_fd(waker.fileno(), warn_on_full_buffer=False)
        former = {number: signal.signal(number, calls.take) for number in ALL}
        let_through()
        try:
            yield calls
        finally:
            for number, handler in former.items():
                signal.signal(number, handler)
            signal.set_wakeup_fd(former_waker)


@contextmanager
def leaving_in_order() -> Iterator[None]:
    """Let a signal end the block by SystemExit, so that what it made is removed first."""

    def leave(number: int, _frame: FrameType | None) -> None:
        for other in LEAVING:
            signal.signal(other, signal.SIG_IGN)
        sys.exit(128 + number)

    # What is ignored, such as a hang-up under nohup, stays so.
    heeded = [one for one in LEAVING if signal.getsignal(one) is not signal.SIG_IGN]
    former = {number: signal.signal(number, leave) for number in heeded}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
