"""Run a command that moves a workload: no shell, no secrets, a time limit, a bounded log."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import IO

LONGEST_S = 240.0
"""Shorter than a worker's task may take."""
LOG_BYTES = 8000
_PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "SSH_AUTH_SOCK")
"""Nothing else of the worker's environment, which holds secrets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a command ended; `exit_status` None: it did not by itself, or never began."""

    exit_status: int | None
    said: str
    lasted_s: float = 0.0


def run(words: Sequence[str], *, limit_s: float = LONGEST_S) -> Ended:
    """Run the command to its end, or until the limit; the end of what it prints is kept."""
    began = time.monotonic()
    with tempfile.TemporaryFile() as printed:
        try:
            child = subprocess.Popen(
                list(words),
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=subprocess.STDOUT,
                env={name: os.environ[name] for name in _PASSED_ON if name in os.environ},
                start_new_session=True,
            )
        except OSError as error:
            return Ended(exit_status=None, said=f"it could not be started: {error}")
        try:
            status: int | None = child.wait(timeout=limit_s)
            note = ""
        except subprocess.TimeoutExpired:
            status, note = None, f"it was ended after {limit_s:g} s"
        finally:
            _end(child)
        said = "\n".join(filter(None, (_last(printed), note)))
        return Ended(exit_status=status, said=said, lasted_s=time.monotonic() - began)


def _end(child: subprocess.Popen[bytes]) -> None:
    """End it with all that it started, also where the worker itself is interrupted.

    What it started lives on in its session when it ends first itself.
    """
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def _last(printed: IO[bytes]) -> str:
    length = printed.seek(0, os.SEEK_END)
    printed.seek(max(0, length - LOG_BYTES))
    return printed.read().decode(errors="replace").replace("\x00", "").strip()
