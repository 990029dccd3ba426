"""`python -m appliance.web_server`: the product's web server, on an address and a socket.

Connections are kept by event loops, so those that are idle or slow hold nobody up.
"""

from __future__ import annotations

import argparse
import gc
import os
import pickle
import resource
import signal
import socket
import sys
from collections.abc import Sequence
from multiprocessing.connection import wait
from pathlib import Path
from typing import TYPE_CHECKING

import uvicorn
from uvicorn.supervisors import multiprocess

from appliance.embedded.become import become
from appliance.embedded.parent_death import ends_with
from appliance.front_door import GuardedProtocol
from config.log_format import log_configuration

if TYPE_CHECKING:
    from ingest.asgi import Application

KEPT_ALIVE_S = 75
"""A connection without requests; collectors send every ten seconds or every minute."""
STOPPING_S = 25
"""For the requests that are on their way when the server is stopped."""
STANDS_STILL_S = 30
"""A process that says nothing for so long is replaced.

On a loaded machine, loading all modules takes longer than uvicorn's 5 s of silence, so that it
would end each new process before it is up.
"""
SWITCHED_AFTER_S = 0.0005
"""A thread that computes gives way to the event loop so soon.

A request takes some ten turns of the loop. After Python's 5 ms for each of them the loop is what
all wait for, while the processor is half idle.
"""
_BACKLOG = 2048
_COLLECTED_AFTER = (20_000, 20, 100)
"""New objects that live, and rounds of a generation before the next one has one."""


def main() -> None:
    """Serve until SIGTERM or SIGINT."""
    parser = argparse.ArgumentParser(prog="python -m appliance.web_server", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument(
        "--socket", type=Path, metavar="FILE", help="another way in, for this host"
    )
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--user", help="become this user before anything is served")
    options = parser.parse_args()
    _allow_many_sockets()
    sockets = [_listening(options.host, options.port)]
    if options.socket:
        sockets.append(_listening_at(options.socket))
    if options.user:
        become(options.user)
    factory = f"appliance.web_server:{make_application.__name__}"
    serve(factory, sockets, processes=options.processes)


def make_application() -> Application:
    """The application in a process of the server, which ends with its parent."""
    ends_with(os.getppid(), signal.SIGTERM)()
    from config.asgi import application

    spare_collector()
    sys.setswitchinterval(SWITCHED_AFTER_S)
    return application


def spare_collector() -> None:
    """Keep the garbage collector from going through all modules, which are no garbage.

    A full round over them takes as long as a page, and large pages would often have one.
    """
    from django.urls import get_resolver

    # All views, and what they are made of, are imported by it.
    assert get_resolver().url_patterns
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_COLLECTED_AFTER)


class WatchedProcess(multiprocess.Process):
    """A process that dies while it is asked whether it lives is seen to be dead at once.

    uvicorn waits for its answer as long as for one that stands still, since the parent holds both
    ends of the pipe: `bench.chaos` found a server gone for half a minute after a kill (seed 18).
    """

    def _healthcheck(self, timeout: float) -> bool | None:
        try:
            self.parent_conn.send(b"ping")
            if self.parent_conn in wait([self.parent_conn, self.process.sentinel], timeout):
                started: bool = self.parent_conn.recv()
                return started
        except (OSError, EOFError, pickle.UnpicklingError):
            pass
        return None


def serve(factory: str, sockets: Sequence[socket.socket], *, processes: int) -> None:
    """Serve on these sockets; a process that ends or stands still is replaced."""
    config = uvicorn.Config(
        factory,
        factory=True,
        workers=processes,
        http=GuardedProtocol,
        loop="appliance.front_door:Loop",
        ws="none",
        lifespan="off",
        interface="asgi3",
        backlog=_BACKLOG,
        access_log=False,
        log_config=log_configuration(),
        server_header=False,
        timeout_keep_alive=KEPT_ALIVE_S,
        timeout_graceful_shutdown=STOPPING_S,
        timeout_worker_healthcheck=STANDS_STILL_S,
    )
    # The supervisor makes its processes by this name.
    multiprocess.Process = WatchedProcess  # type: ignore[misc]
    multiprocess.Multiprocess(config, sockets=list(sockets)).run()


def _allow_many_sockets() -> None:
    """Most systems allow a process 1,024 files until it asks for more."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind((host, port))
    listening.set_inheritable(True)
    return listening


def _listening_at(path: Path) -> socket.socket:
    path.unlink(missing_ok=True)
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(path))
    # Who may come is decided by the folder.
    path.chmod(0o666)
    listening.set_inheritable(True)
    return listening


if __name__ == "__main__":
    main()
