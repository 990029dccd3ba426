"""What systemd is told, and that nothing depends on its listening."""

import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from enforcers import signals
from enforcers.service_manager import ServiceManager
from enforcers.signals import Call


@pytest.fixture(params=["a path", "an abstract name"])
def listener(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[socket.socket]:
    name = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(name if request.param == "a path" else f"\0{name}")
        listening.setblocking(False)
        yield listening


def address(listener: socket.socket) -> str:
    """As systemd writes it."""
    name = listener.getsockname()
    return name if isinstance(name, str) else f"@{name[1:].decode()}"


def heard(listener: socket.socket) -> list[str]:
    messages = []
    while True:
        try:
            messages.append(listener.recv(4096).decode())
        except BlockingIOError:
            return messages


def test_assignments_come_as_one_message(listener: socket.socket) -> None:
    manager = ServiceManager({"NOTIFY_SOCKET": address(listener)})

    manager.tell("READY=1", "STATUS=enforces")

    assert heard(listener) == ["READY=1\nSTATUS=enforces"]


def test_wait_gives_a_sign_of_life(listener: socket.socket) -> None:
    manager = ServiceManager({"NOTIFY_SOCKET": address(listener)})

    with signals.listening() as calls:
        call = manager.wait(calls, 0.0)

    assert call is None
    assert heard(listener) == ["WATCHDOG=1"]


@pytest.mark.parametrize(
    ("numbers", "call"),
    [
        ([signal.SIGTERM], Call.STOP),
        ([signal.SIGHUP], Call.RELOAD),
        ([signal.SIGUSR1], Call.HAND_OVER),
        ([signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP], Call.STOP),
        ([signal.SIGUSR1, signal.SIGTERM], Call.STOP),
    ],
)
def test_wait_ends_at_a_call(numbers: list[signal.Signals], call: Call) -> None:
    with signals.listening() as calls:
        for number in numbers:
            os.kill(os.getpid(), number)

        assert ServiceManager({}).wait(calls, 3600.0) is call


def test_reload_is_done_once_and_a_stop_stays() -> None:
    with signals.listening() as calls:
        os.kill(os.getpid(), signal.SIGHUP)
        first, second = calls.wait(0.0), calls.wait(0.0)
        os.kill(os.getpid(), signal.SIGTERM)
        third, fourth = calls.wait(0.0), calls.wait(0.0)

    assert (first, second, third, fourth) == (Call.RELOAD, None, Call.STOP, Call.STOP)


@pytest.mark.parametrize("given", [{}, {"NOTIFY_SOCKET": "/nobody/listens"}], ids=str)
def test_nobody_listening_is_no_error(given: dict[str, str]) -> None:
    ServiceManager(given).tell("READY=1")
