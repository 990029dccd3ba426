"""What systemd is told of the whole, and that nothing depends on its listening."""

import socket
import sys
from pathlib import Path

import pytest

from appliance.embedded import service_manager
from appliance.embedded.child import Child, ChildSpec
from appliance.embedded.service_manager import ServiceManager


@pytest.fixture
def listener(tmp_path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(str(tmp_path / "notify"))
        listening.setblocking(False)
        yield listening


def heard(listener):
    messages = []
    while True:
        try:
            messages.append(listener.recv(4096).decode())
        except BlockingIOError:
            return messages


def test_systemd_hears_that_all_works_and_that_it_ends(listener):
    manager = ServiceManager({"NOTIFY_SOCKET": listener.getsockname()})

    manager.ready("http://127.0.0.1:8000")
    manager.stopping()

    assert heard(listener) == ["READY=1\nSTATUS=http://127.0.0.1:8000", "STOPPING=1"]


def test_watchdog_is_told_three_times_in_its_time(listener, monkeypatch):
    times = iter([0.0, 5.0, 10.0, 10.5, 19.0, 20.0])
    monkeypatch.setattr(service_manager.time, "monotonic", lambda: next(times))
    environment = {"NOTIFY_SOCKET": listener.getsockname(), "WATCHDOG_USEC": "30000000"}
    manager = ServiceManager(environment)

    for _ in range(6):
        manager.alive()

    assert heard(listener) == ["WATCHDOG=1"] * 3  # At 0, 10 and 20 s.


def test_without_a_watchdog_nothing_is_told_of_life(listener):
    ServiceManager({"NOTIFY_SOCKET": listener.getsockname()}).alive()

    assert heard(listener) == []


@pytest.mark.parametrize("address", ["", "/nowhere/notify", "@nobody-listens-here"])
def test_nobody_who_listens_is_no_error(address):
    manager = ServiceManager({"NOTIFY_SOCKET": address, "WATCHDOG_USEC": "1"})

    manager.ready("")
    manager.alive()
    manager.stopping()


def test_children_do_not_speak_for_the_whole(listener, tmp_path: Path, monkeypatch):
    """PostgreSQL tells systemd that it is ready, if it may."""
    for name in ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"):
        monkeypatch.setenv(name, "1")
    program = (
        "import os; print(sorted(one for one in os.environ if one[:5] in ('NOTIF', 'WATCH')))"
    )
    argv = (sys.executable, "-c", program)

    child = Child(ChildSpec(name="child", argv=argv, log=tmp_path / "log"))
    child.process.wait(20)
    child.stop(at_once=True)

    assert (tmp_path / "log").read_text() == "[]\n"
