"""One child process of the supervisor: how it is started, awaited and stopped."""

import contextlib
import logging
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from appliance.embedded.errors import ChildFailed
from appliance.embedded.fork_server import ForkedProcess, ForkRequest, fork_process
from appliance.embedded.kill_order import KillOrder, put_in_order
from appliance.embedded.parent_death import ends_with
from appliance.embedded.service_user import ServiceUser, process_identity
from config.signing_keys import SIGNING_VARIABLES

log = logging.getLogger(__name__)

POLL_INTERVAL_S = 0.05
LOG_TAIL_LINES = 5
SYSTEMD = ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildSpec:
    """What to start and how to stop it.

    `is_ready` answers whether the started child does its work; None means as soon as it runs.
    `is_alive` answers whether it does anything, as `is_ready` does unless it is given: one that
    waits for somebody else, or mends its files, is alive and not ready. If it is not alive for
    `silent_timeout_s` it is started anew.
    It gets the processor after those with a smaller `nice` (nice(2)), where all want it.
    Where memory runs out, it is ended before those with a smaller `kill_order`.
    It `needs` the children of these names, and is started and judged only while they work.
    A first start goes on without a child that is not essential.
    One with an `alive_file` says by it that it is ready and alive: it touches it each few seconds
    while it works.
    One with a `fork_server`, the socket of one, is a copy of that process instead of a new
    program; it runs as the fork server's user, and `argv` is then Python with a module's name.
    """

    name: str
    argv: tuple[str, ...]
    log: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    user: ServiceUser | None = None
    nice: int = 0
    kill_order: KillOrder = KillOrder.WEB
    stop_signal: signal.Signals = signal.SIGTERM
    stop_timeout_s: float = 15.0
    ready_timeout_s: float = 60.0
    silent_timeout_s: float = 90.0
    is_ready: Callable[[], bool] | None = None
    is_alive: Callable[[], bool] | None = None
    needs: tuple[str, ...] = ()
    essential: bool = True
    alive_file: Path | None = None
    fork_server: Path | None = None


class Child:
    """A running child process."""

    def __init__(self, spec: ChildSpec) -> None:
        self.spec = spec
        self.started_at = time.monotonic()
        self._is_asked_to_stop = False
        self._failure = ""
        self._touched_ns: int | None = None
        if spec.alive_file is not None:
            # That of the process before it says nothing of this one.
            spec.alive_file.unlink(missing_ok=True)
        with spec.log.open("ab") as log:
            if spec.fork_server is None:
                self.process: subprocess.Popen[bytes] | ForkedProcess = _program(spec, log)
            else:
                self.process = _copy(spec, spec.fork_server, log)
        # From here: a process that became another user may not write its own.
        put_in_order(self.process.pid, spec.kill_order)

    @property
    def exit_status(self) -> int | None:
        """How it ended; None while it runs."""
        return self.process.poll()

    def wait_until_ready(self) -> None:
        """Return when the child does its work.

        Raises ChildFailed with the end of its log when it ends first or takes too long.
        """
        deadline = time.monotonic() + self.spec.ready_timeout_s
        while not self.is_ready():
            if self.exit_status is not None:
                raise ChildFailed(self.describe_end())
            if time.monotonic() > deadline:
                raise ChildFailed(
                    self.failure(f"was not ready after {self.spec.ready_timeout_s:.0f} s")
                )
            time.sleep(POLL_INTERVAL_S)

    def is_ready(self) -> bool:
        """Whether it does its work."""
        if self.spec.alive_file is not None:
            return self.spec.alive_file.exists()
        return self.spec.is_ready is None or self._says(self.spec.is_ready)

    def is_alive(self) -> bool:
        """Whether it does anything; by its file, since it was asked last."""
        if self.spec.alive_file is not None:
            before, self._touched_ns = self._touched_ns, _touched_ns(self.spec.alive_file)
            return self._touched_ns not in (None, before)
        return self.is_ready() if self.spec.is_alive is None else self._says(self.spec.is_alive)

    def _says(self, question: Callable[[], bool]) -> bool:
        """What a question says; one that fails, however it does, is one without an answer."""
        try:
            answer = question()
        except Exception as error:  # noqa: BLE001  whatever a library raises
            failure = f"{type(error).__name__}: {error}"
            if failure != self._failure:
                log.warning("%s cannot be asked: %s", self.spec.name, failure)
            self._failure = failure
            return False
        self._failure = ""
        return answer

    def request_stop(self) -> None:
        """Ask it to end, once: some programs take a second signal for haste."""
        if self.exit_status is None and not self._is_asked_to_stop:
            self._is_asked_to_stop = True
            self.process.send_signal(self.spec.stop_signal)

    def stop(self, *, at_once: bool = False) -> None:
        """Return when it and whatever it started have ended, by force after its time is over."""
        if not at_once:
            self.request_stop()
        try:
            self.process.wait(0 if at_once else self.spec.stop_timeout_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        # What it started shares its process group, which lives on while one of them does.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def describe_end(self) -> str:
        """How the child ended, and the end of its log."""
        status = self.exit_status
        return self.failure("is running" if status is None else f"ended with {_ending(status)}")

    def failure(self, what: str) -> str:
        """A sentence on this child, and the end of its log."""
        return f"{self.spec.name} {what}; its log is {self.spec.log}{_tail(self.spec.log)}"


def _touched_ns(path: Path) -> int | None:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return None


def _program(spec: ChildSpec, log: IO[bytes]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        spec.argv,
        cwd="/",
        env={**_own_environment(), **spec.environment},
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT,
        # Ctrl-C reaches the supervisor alone, which stops the children in order.
        start_new_session=True,
        preexec_fn=_before_start(spec),  # noqa: PLW1509  no threads here
        **process_identity(spec.user),
    )


def _copy(spec: ChildSpec, fork_server: Path, log: IO[bytes]) -> ForkedProcess:
    _python, _m, module, *arguments = spec.argv
    request = ForkRequest(
        module=module,
        arguments=arguments,
        environment={**_own_environment(), **spec.environment},
        stop_signal=spec.stop_signal,
        nice=spec.nice,
    )
    return fork_process(fork_server, request, log.fileno())


def _own_environment() -> dict[str, str]:
    """Ours without what systemd tells this process alone; some programs would answer for it.

    Nor are secrets of the signer in it, which its own specification adds.
    """
    left_out = {*SYSTEMD, *SIGNING_VARIABLES}
    return {name: value for name, value in os.environ.items() if name not in left_out}


def _ending(status: int) -> str:
    if status < 0:
        return f"signal {signal.Signals(-status).name}"
    return f"status {status}"


def _tail(log: Path) -> str:
    """The last lines of a log, indented below the message that names it."""
    try:
        lines = log.read_text(errors="replace").splitlines()[-LOG_TAIL_LINES:]
    except OSError:
        return ""
    return "".join(f"\n    {line}" for line in lines)


def _before_start(spec: ChildSpec) -> Callable[[], None]:
    """What the child runs before the program."""
    # Made here, in the parent, because a forked child should not load libraries.
    bind = ends_with(os.getpid(), spec.stop_signal)

    def begin() -> None:
        bind()
        os.nice(spec.nice)

    return begin
