"""Several signals before the agent looks: the one that ends it is not lost."""

import signal
import socket
from collections.abc import Iterator

import pytest

from enforcers.signals import Call, Calls


@pytest.fixture
def calls() -> Iterator[Calls]:
    """Of a process that gets no signals but those of the test."""
    woken, waker = socket.socketpair()
    with woken, waker:
        yield Calls(woken)


@pytest.mark.parametrize(
    ("numbers", "call"),
    [
        ((signal.SIGUSR1, signal.SIGHUP), Call.HAND_OVER),
        ((signal.SIGHUP, signal.SIGUSR1), Call.HAND_OVER),
        ((signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP), Call.STOP),
        ((signal.SIGUSR1, signal.SIGTERM), Call.STOP),
        ((signal.SIGHUP, signal.SIGHUP), Call.RELOAD),
    ],
)
def test_gravest_of_several_signals_counts(
    calls: Calls, numbers: tuple[signal.Signals, ...], call: Call
) -> None:
    for number in numbers:
        calls.take(number, None)

    assert calls.wait(0.0) is call


def test_reload_is_done_once(calls: Calls) -> None:
    calls.take(signal.SIGHUP, None)

    assert (calls.wait(0.0), calls.wait(0.0)) == (Call.RELOAD, None)
