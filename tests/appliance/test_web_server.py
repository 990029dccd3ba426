"""A web server's process that is gone is replaced at once, however it was busy."""

from __future__ import annotations

import os
import signal
import threading
import time
from socket import socket

import uvicorn
from uvicorn.supervisors import multiprocess

from appliance.web_server import STANDS_STILL_S, WatchedProcess


class Busy(WatchedProcess):
    """It answers nothing, as one whose threads have the processor."""

    def target(self, sockets: list[socket] | None = None) -> None:
        time.sleep(60.0)


def test_process_that_is_killed_while_it_is_asked_is_dead() -> None:
    process = Busy(uvicorn.Config("nowhere:application"), [])
    process.start()
    kill = threading.Timer(0.3, lambda: os.kill(process.pid or 0, signal.SIGKILL))
    kill.start()
    began_s = time.monotonic()

    assert not process.is_alive(STANDS_STILL_S)

    assert time.monotonic() - began_s < STANDS_STILL_S / 2
    process.join()
    kill.join()


def test_process_that_stands_still_has_its_time() -> None:
    process = Busy(uvicorn.Config("nowhere:application"), [])
    process.start()
    began_s = time.monotonic()

    assert not process.is_alive(0.5)

    assert time.monotonic() - began_s >= 0.5
    process.kill()
    process.join()


def test_what_is_changed_is_what_uvicorn_asks_by() -> None:
    """A new version of it may ask otherwise."""
    assert "_healthcheck" in vars(multiprocess.Process)
    assert "Process" in multiprocess.Multiprocess.init_processes.__code__.co_names
    assert "Process" in multiprocess.Multiprocess.keep_subprocess_alive.__code__.co_names
