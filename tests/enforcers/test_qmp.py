"""Conversations with monitors over real sockets, as orders are given."""

from __future__ import annotations

import json
import os
import shutil
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

from enforcers.errors import MonitorError, MonitorRefused
from enforcers.qmp import Monitor, Order, SocketMonitors

ORDER = Order(command="block_set_io_throttle", arguments={"id": "a", "iops": 5})
Serve = Callable[[list[dict[str, Any]]], tuple[str, list[dict[str, Any]]]]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Starts a monitor with these answers after the first; gives its path and what it heard."""
    # The path of a socket must be short.
    folder = Path(tempfile.mkdtemp(prefix="sluice-qmp-"))
    with ExitStack() as started:

        def start(answers: list[dict[str, Any]]) -> tuple[str, list[dict[str, Any]]]:
            listening = started.enter_context(socket.socket(socket.AF_UNIX))
            listening.bind(str(folder / "qmp"))
            listening.listen()
            heard: list[dict[str, Any]] = []
            threading.Thread(
                target=_monitor, args=(listening, answers, heard), daemon=True
            ).start()
            return str(folder / "qmp"), heard

        yield start
    shutil.rmtree(folder)


def _monitor(
    listening: socket.socket, answers: list[dict[str, Any]], heard: list[dict[str, Any]]
) -> None:
    with suppress(OSError):
        while True:
            client, _ = listening.accept()
            with suppress(OSError), client, client.makefile("rwb") as wire:
                wire.write(b'{"QMP": {}}\r\n')
                wire.flush()
                for line in wire:
                    heard.append(json.loads(line))
                    said = [{"return": {}}] if len(heard) == 1 else answers
                    wire.writelines(json.dumps(one).encode() + b"\r\n" for one in said)
                    wire.flush()


def test_order_is_given_with_its_arguments(serve: Serve) -> None:
    path, heard = serve([{"event": "RESUME"}, {"return": 7}])

    answers = SocketMonitors().say(Monitor(path=path, pid=os.getpid()), [ORDER])

    assert answers == [7]
    assert heard[1] == {"execute": ORDER.command, "arguments": ORDER.arguments}


def test_refusal_has_the_words_of_qemu(serve: Serve) -> None:
    path, _ = serve([{"error": {"class": "GenericError", "desc": "Device 'a' not found"}}])

    with pytest.raises(
        MonitorRefused, match="refused block_set_io_throttle: Device 'a' not found"
    ):
        SocketMonitors().say(Monitor(path=path, pid=os.getpid()), [ORDER])


def test_socket_of_another_process_hears_nothing(serve: Serve) -> None:
    path, heard = serve([{"return": {}}])
    belongs = f"belongs to process {os.getpid()}, not to 1"

    with pytest.raises(MonitorRefused, match=belongs):
        SocketMonitors().say(Monitor(path=path, pid=1), [ORDER])

    assert heard == []


def test_monitor_that_hangs_is_left_alone_for_a_while(serve: Serve) -> None:
    path, _ = serve([])
    monitor = Monitor(path=path, pid=os.getpid())
    monitors = SocketMonitors(limit_s=0.2, rest_s=60.0)
    with pytest.raises(MonitorError, match=r"did not answer in 0\.2 s"):
        monitors.say(monitor, [ORDER])

    with pytest.raises(MonitorRefused, match="did not answer lately; it is asked again in 60 s"):
        monitors.say(monitor, [ORDER])


def test_socket_without_a_process_is_not_left_alone() -> None:
    monitors = SocketMonitors()
    for _ in range(2):
        with pytest.raises(MonitorError, match="No such file or directory"):
            monitors.say(Monitor(path="/nonexistent/qmp", pid=1), [ORDER])
