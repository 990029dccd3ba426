"""Long-running children of the demo: each has a log, and none outlives its parent."""

import ctypes
import os
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from config.demo.errors import DemoError

PR_SET_PDEATHSIG = 1  # prctl(2)
STOP_DEADLINE_S = 20.0


@dataclass(slots=True)
class Processes:
    """The children, with one log file each in `logs`; leaving the context stops them all."""

    logs: Path
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def __enter__(self) -> "Processes":
        self.logs.mkdir(parents=True, exist_ok=True)
        return self

    def __exit__(self, *_: object) -> None:
        # The newest first: a child may need an older one to stop in good order.
        for name in reversed(list(self.running)):
            self.stop(name)

    def start(
        self,
        name: str,
        argv: list[str],
        *,
        prefix: tuple[str, ...] = (),
        environment: dict[str, str] | None = None,
    ) -> None:
        """Start a child; `prefix` is a command that runs it elsewhere, such as a namespace."""
        tied = [sys.executable, "-m", "config.demo.processes", str(os.getpid()), *prefix, *argv]
        with self.log(name).open("ab") as log:
            # Its own session keeps the terminal's Ctrl-C from it: the parent stops it in order.
            self.running[name] = subprocess.Popen(
                tied,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment,
                start_new_session=True,
            )

    def stop(self, name: str) -> None:
        """Ask the child to end, and end it when it does not."""
        child = self.running.pop(name)
        child.terminate()
        try:
            child.wait(STOP_DEADLINE_S)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()

    def check(self) -> None:
        """Raise DemoError if a child has ended on its own."""
        for name, child in self.running.items():
            if child.poll() is not None:
                raise DemoError(
                    f"{name} ended with status {child.returncode}; see {self.log(name)}"
                )

    def log(self, name: str) -> Path:
        """Give the log file of a child."""
        return self.logs / f"{name}.log"


def become_tied(parent_pid: int, argv: list[str]) -> None:
    """Become the command, with the kernel's promise to end it when the parent dies."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) failed")
    if os.getppid() == parent_pid:  # else the parent died before the promise was made
        os.execvp(argv[0], argv)


if __name__ == "__main__":
    become_tied(int(sys.argv[1]), sys.argv[2:])
