"""Workers and scheduler are copies of one process that has loaded the product's programs.

Each would load the same for itself; copies share it until they write (fork(2)). The supervisor
asks over a socket, and a copy begins only when the supervisor has its number. It is the
supervisor's own child from then on (PR_SET_CHILD_SUBREAPER), so that it lives on without this
process, and its end is seen as any other's.
"""

from __future__ import annotations

import ast
import ctypes
import errno
import gc
import importlib
import json
import os
import runpy
import signal
import socket
import struct
import subprocess
import sys
import time
from argparse import ArgumentParser
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from types import ModuleType

from appliance.embedded.parent_death import ends_with

PR_SET_CHILD_SUBREAPER = 36  # prctl(2)
READY, GO = b"ready", b"go"
READY_S, ANSWER_S = 2.0, 5.0
"""An idle fork server says at once that it is ready; a copy is a fork, which takes memory."""
MOST_BYTES = 128 * 1024
"""Of a request: arguments and environment, in one packet."""
LOADED_LATER = (
    "billiard.heap", "billiard.popen_fork", "billiard.sharedctypes", "billiard.synchronize",
    "celery.app.amqp", "celery.app.control", "celery.app.events", "celery.app.log",
    "celery.app.routes", "celery.apps.beat", "celery.apps.worker", "celery.bin.celery",
    "celery.concurrency.prefork", "celery.events", "celery.worker.autoscale",
    "celery.worker.components", "celery.worker.consumer",
    "celery.worker.consumer.delayed_delivery", "celery.worker.loops", "celery.worker.pidbox",
    "celery.worker.strategy", "kombu.transport.redis", "psycopg",
)  # fmt: skip
"""What Celery and Django load by themselves, in each copy, once there is work."""
TASKS = ("advisor.tasks", "ingest.tasks")
_LOOK_S = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkRequest:
    """Which module a copy runs as its program, and how, as subprocess.Popen takes it."""

    module: str
    arguments: Sequence[str]
    environment: Mapping[str, str]
    stop_signal: int
    nice: int = 0


class ForkedProcess:
    """A running copy, with what the supervisor needs of subprocess.Popen."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """How it ended, as Popen says it; None while it runs."""
        if self.returncode is None:
            try:
                ended, status = os.waitpid(self.pid, os.WNOHANG)
            except ChildProcessError:
                # Somebody else took the answer, where SIGCHLD is ignored.
                ended, status = self.pid, 0
            if ended:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Return how it ended; raises subprocess.TimeoutExpired after so many seconds."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while (status := self.poll()) is None:
            if deadline is not None and time.monotonic() >= deadline:
                raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0.0)
            time.sleep(_LOOK_S)
        return status

    def send_signal(self, number: int) -> None:
        """Send it, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it by force."""
        self.send_signal(signal.SIGKILL)


def adopt_orphans() -> bool:
    """From here on whose parent ends becomes a child of this process, and is its to await.

    False where the system cannot do that: no copy could be made.
    """
    return bool(ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)


def await_orphans(own: Collection[int]) -> None:
    """Take note of all that ended and that this process only adopted; the others are `own`."""
    # proc_pid_task_tid_children(5); it has one thread.
    with suppress(OSError):
        for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split():
            if int(pid) not in own:
                os.waitpid(int(pid), os.WNOHANG)


def is_open(path: Path) -> bool:
    """Whether the process behind this socket has loaded everything and answers."""
    try:
        with _connected(path):
            return True
    except OSError:
        return False


def fork_process(path: Path, request: ForkRequest, log_fd: int) -> ForkedProcess:
    """Have a copy made that writes to this file, a child of the caller, who adopts orphans.

    Raises OSError where nobody answers.
    """
    packet = json.dumps(asdict(request)).encode()
    if len(packet) > MOST_BYTES:
        raise OSError(errno.E2BIG, "too many arguments, or too large an environment")
    with _connected(path) as connection:
        connection.settimeout(ANSWER_S)
        socket.send_fds(connection, [packet], [log_fd])
        said = connection.recv(32)
        if not said.isdigit():
            raise ConnectionAbortedError(f"{path}: no copy was made; fork-server.log says why")
        # Raises where it is no child of this process.
        os.waitid(os.P_PID, int(said), os.WEXITED | os.WNOHANG | os.WNOWAIT)
        connection.send(GO)
    return ForkedProcess(int(said))


def _connected(path: Path) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        connection.settimeout(READY_S)
        connection.connect(str(path))
        if connection.recv(len(READY)) != READY:
            raise ConnectionAbortedError(f"{path} is closed to this process")
    except OSError:
        connection.close()
        raise
    return connection


def main() -> int:
    """Serve the process that started this one until a signal ends it."""
    parser = ArgumentParser(description="Make copies of a process that has loaded the product")
    parser.add_argument("--user", help="become this user once the socket is there")
    parser.add_argument("socket", type=Path)
    options = parser.parse_args()
    supervisor = os.getppid()
    options.socket.unlink(missing_ok=True)
    server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    server.bind(str(options.socket))
    options.socket.chmod(0o600)
    if options.user:
        from appliance.embedded.become import become

        become(options.user)
    _load()
    # Looking for garbage would write to pages that all copies share.
    gc.collect()
    gc.freeze()
    server.listen()
    while True:
        connection, _ = server.accept()
        request = _serve(connection, supervisor)
        if request is not None:
            server.close()
            return _run(request)


def _load() -> None:
    """Import what workers and scheduler run."""
    import django

    django.setup()
    from config.celery import app

    app.loader.import_default_modules()
    app.finalize()
    for name in LOADED_LATER:
        _load_module(name)
    for name in TASKS:
        _load_imports(Path(str(importlib.import_module(name).__file__)))


def _load_imports(source: Path) -> None:
    """Import what the functions of a module import when they are called."""
    for node in ast.walk(ast.parse(source.read_bytes())):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            module = _load_module(node.module)
            for name in node.names:
                if module is not None and not hasattr(module, name.name):
                    _load_module(f"{node.module}.{name.name}")


def _load_module(name: str) -> ModuleType | None:
    """One that cannot be loaded costs the task that asks for it, and no other."""
    try:
        return importlib.import_module(name)
    except (ImportError, OSError) as error:
        print(f"fork server: {name} is not loaded: {error}", file=sys.stderr, flush=True)
        return None


def _serve(connection: socket.socket, supervisor: int) -> ForkRequest | None:
    """Answer one question; the request in the copy that is made for it, None in this process."""
    descriptors: list[int] = []
    try:
        connection.settimeout(ANSWER_S)
        if _peer(connection) != supervisor:
            return None
        connection.send(READY)
        packet, descriptors, _, _ = socket.recv_fds(connection, MOST_BYTES, 1)
        if packet and _is_copy():
            try:
                return _after_go(
                    connection, ForkRequest(**json.loads(packet)), descriptors[0], supervisor
                )
            except OSError:
                os._exit(1)
    except OSError as error:
        print(f"fork server: {error}", file=sys.stderr, flush=True)
    finally:
        connection.close()
        for descriptor in descriptors:
            os.close(descriptor)
    return None


def _is_copy() -> bool:
    """Fork twice, so that the copy's parent ends at once and the supervisor gets it."""
    between = os.fork()
    if between:
        os.waitpid(between, 0)
        return False
    try:
        if os.fork():
            os._exit(0)
    except OSError:
        os._exit(1)
    return True


def _peer(connection: socket.socket) -> int:
    """The process at the other end."""
    said = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return int(struct.unpack("3i", said)[0])


def _after_go(
    connection: socket.socket, request: ForkRequest, log_fd: int, supervisor: int
) -> ForkRequest:
    """Wait for the supervisor's word; without it there would be a process that nobody knows.

    Raises OSError where the supervisor says nothing.
    """
    deadline = time.monotonic() + ANSWER_S
    while os.getppid() != supervisor:
        if time.monotonic() > deadline:
            os._exit(1)
        time.sleep(0.001)
    ends_with(supervisor, request.stop_signal)()
    os.setsid()
    connection.send(str(os.getpid()).encode())
    if connection.recv(len(GO)) != GO or os.getppid() != supervisor:
        os._exit(1)
    os.dup2(log_fd, 1)
    os.dup2(log_fd, 2)
    return request


def _run(request: ForkRequest) -> int:
    """Run the module as if it had been started as a program."""
    os.environ.clear()
    os.environ.update(request.environment)
    os.nice(request.nice)
    _be_called(" ".join((request.module, *request.arguments)))
    sys.argv = [request.module, *request.arguments]
    runpy.run_module(request.module, run_name="__main__", alter_sys=True)
    return 0


def _be_called(title: str) -> None:
    """What ps shows, in the place of the command line, and so cut where that ended.

    A library for it would write over the environment behind, by which processes are told.
    """
    # proc_pid_stat(5), fields 48 and 49.
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    start, end = int(fields[45]), int(fields[46])
    room = end - start - 1
    if start and room > 0:
        shown = os.fsencode(title)[:room]
        ctypes.memset(start, 0, end - start)
        ctypes.memmove(start, shown, len(shown))


if __name__ == "__main__":
    sys.exit(main())
