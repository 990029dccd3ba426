"""Whom the kernel ends where memory runs out: first who can do its work again, last the database.

A score is what a process seems to take more than it does, in thousandths of the memory
(proc_pid_oom_score_adj(5)). Children of a process begin with its own.
"""

from __future__ import annotations

import logging
from enum import IntEnum
from pathlib import Path

log = logging.getLogger(__name__)

_MOST = 1000


class KillOrder(IntEnum):
    """How much higher than the supervisor's the score of a child is."""

    DATABASE = 0
    QUEUE = 200
    WEB = 400
    WORK = 600


def put_in_order(pid: int, place: KillOrder, *, proc: Path = Path("/proc")) -> None:
    """Give a child its place; a higher score takes no right, and without one all goes on."""
    try:
        own = int((proc / "self/oom_score_adj").read_text())
        (proc / str(pid) / "oom_score_adj").write_text(str(min(own + place, _MOST)))
    except OSError as error:
        # It may have ended.
        log.info("process %d keeps its place in the kernel's order: %s", pid, error)
