"""How the agent starts other programs: argument lists only, never a shell."""

import os
import subprocess
from collections.abc import Sequence
from typing import Protocol

from enforcers.errors import CommandError

TIMEOUT_S = 15.0


class Runner(Protocol):
    """Starts a program and gives back what it printed."""

    def run(self, argv: Sequence[str], *, stdin: str = "") -> str:
        """The standard output. Raises CommandError if the program fails or is not there."""
        ...


class SubprocessRunner:
    """Starts real programs, with a time limit and in the C locale."""

    def __init__(self, *, timeout_s: float | None = None) -> None:
        """Without a time limit of its own it is that of the kernel's tools."""
        self._timeout_s = timeout_s

    def run(self, argv: Sequence[str], *, stdin: str = "") -> str:
        environment = {**os.environ, "LC_ALL": "C"}
        timeout_s = TIMEOUT_S if self._timeout_s is None else self._timeout_s
        try:
            done = subprocess.run(
                list(argv),
                input=stdin,
                capture_output=True,
                text=True,
                timeout=timeout_s,
                check=False,
                env=environment,
                # What ends the agent at a terminal must not end what it has just started.
                process_group=0,
            )
        except subprocess.TimeoutExpired as error:
            raise CommandError(argv, f"no answer within {timeout_s:.0f} s") from error
        except OSError as error:
            raise CommandError(argv, error.strerror or str(error)) from error
        if done.returncode != 0:
            answer = " ".join((done.stderr or done.stdout).split())
            raise CommandError(argv, answer or f"exit status {done.returncode}")
        return done.stdout
