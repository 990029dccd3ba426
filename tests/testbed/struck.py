"""Work in a process of its own, of which one system call goes wrong, whichever is wanted.

strace tampers with the n-th call of a name: it fails, or the process is killed at it.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

CALLS = ("write", "rename", "fsync", "ftruncate")
"""By which Python writes, renames and syncs on x86-64; `calls_of` tells if there are more."""
SOCKET_CALLS = ("sendto", "recvfrom")
"""By which it speaks with another process, where the work does."""
ERROR, KILL = "error=EIO", "signal=KILL"
OTHER_ERRORS = tuple(f"error={name}" for name in ("EBUSY", "EINVAL", "ENOSPC", "ENODEV"))
"""What control files, disks that are gone and full ones answer besides."""
_CHANGING = "/^(p?write|rename|.*sync|truncate|ftruncate|send|recv)"
_DEADLINE_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Struck:
    """How it ended: `is_reached` if there was such a call, `is_well` if nothing was raised."""

    is_reached: bool
    is_well: bool


def calls_of(work: Callable[[], object]) -> frozenset[str]:
    """The names of the calls by which the work writes, renames, syncs, and speaks by sockets."""
    _, log = _traced(work, ["-e", f"trace={_CHANGING}"])
    return frozenset(re.findall(r"^(?:\d+ +)?(\w+)\(", log, re.MULTILINE))


def struck(work: Callable[[], object], *, call: str, fault: str, at: int) -> Struck:
    """Do the work where the n-th such call goes wrong."""
    tampering = ["-e", f"trace={call}", "-e", f"inject={call}:{fault}:when={at}"]
    status, log = _traced(work, tampering)
    is_killed = os.WIFSIGNALED(status)
    return Struck(is_reached="INJECTED" in log or is_killed, is_well=status == 0)


def alone(work: Callable[[], object]) -> bool:
    """Do it in a process of its own in which nothing goes wrong; whether it raised nothing."""
    _, status = os.waitpid(_forked(work, is_held=False), 0)
    return status == 0


def _traced(work: Callable[[], object], options: list[str]) -> tuple[int, str]:
    child = _forked(work, is_held=True)
    os.waitpid(child, os.WUNTRACED)
    with tempfile.NamedTemporaryFile() as log:
        argv = ["strace", "-q", "-o", log.name, *options, "-p", str(child)]
        tracer = subprocess.Popen(argv, stdin=subprocess.DEVNULL)
        deadline_s = time.monotonic() + _DEADLINE_S
        while "TracerPid:\t0\n" in Path(f"/proc/{child}/status").read_text():
            if time.monotonic() > deadline_s or tracer.poll() is not None:
                os.kill(child, signal.SIGKILL)
                raise TimeoutError("strace does not trace")
            time.sleep(0.01)
        os.kill(child, signal.SIGCONT)
        _, status = os.waitpid(child, 0)
        tracer.wait()
        return status, Path(log.name).read_text()


def _forked(work: Callable[[], object], *, is_held: bool) -> int:
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        if is_held:
            os.kill(os.getpid(), signal.SIGSTOP)
        work()
        status = 0
    finally:
        # Whatever was raised, nothing of the parent's is run here.
        if status:
            traceback.print_exc()
        os._exit(status)
