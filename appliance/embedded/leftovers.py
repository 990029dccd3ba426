"""What a killed run leaves behind: processes without a supervisor, and PostgreSQL's lock file."""

import os
import signal
import time
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from config.paths import DataDirError

STOP_TIMEOUT_S = 60.0
POLL_INTERVAL_S = 0.1
ENDING_S = 5.0
"""For what a process of a killed run still has to do; all of it can be done again."""


@dataclass(frozen=True, slots=True)
class Running:
    """The processes that a supervisor started, in a file that the next one reads."""

    path: Path

    def keep(self, pids: Sequence[int]) -> None:
        """Write them down, each with when it began: a number alone may be another's later."""
        lines = "".join(f"{pid} {began}\n" for pid in pids if (began := _began(pid)) is not None)
        new = self.path.with_suffix(".new")
        # Without room nothing is kept, and the next run has to find its way without.
        with suppress(OSError):
            new.write_text(lines)
            new.replace(self.path)

    def left(self) -> list[int]:
        """Those of them that still run."""
        try:
            rows = [line.split() for line in self.path.read_text().splitlines()]
        except (OSError, UnicodeDecodeError):
            return []
        rows = [row for row in rows if len(row) == 2 and row[0].isdecimal()]
        return [int(pid) for pid, began in rows if _began(int(pid)) == began]

    def end(self, *, but: Collection[int] = ()) -> str | None:
        """End those that still run, with all they started; says so, None if there were none.

        The caller holds the data directory's lock, so they belong to nobody. Some are spared.
        """
        found = [pid for pid in self.left() if pid not in but]
        for pid in found:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
        deadline = time.monotonic() + ENDING_S
        while set(self.left()) & set(found) and time.monotonic() < deadline:
            time.sleep(POLL_INTERVAL_S)
        for pid in found:
            # Its group lives on while one of those that it started does.
            with suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
        if not found:
            return None
        return f"ended {len(found)} processes that a killed run left"


def _began(pid: int) -> str | None:
    """When a process began, in ticks since the start of the machine; None if there is none."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (OSError, UnicodeDecodeError):
        return None
    # Fields 3 and 22 of proc_pid_stat(5). A zombie has ended, and waits for whoever reads that.
    return None if fields[0] == "Z" else fields[19]


def clear_leftovers(cluster: Path) -> str | None:
    """Make way for a new server in a cluster; says what was done, None if nothing was there.

    The caller holds the data directory's lock, so a server that still runs belongs to nobody.
    A lock file of a dead process is left to PostgreSQL, which checks more than its number.
    Raises DataDirError when the old server cannot be stopped.
    """
    pid_file = cluster / "postmaster.pid"
    try:
        pid = int(pid_file.read_text().split()[0])
    except (FileNotFoundError, IndexError, ValueError):
        return None
    running = processes_in(cluster)
    if pid in running:
        os.kill(pid, signal.SIGINT)
    if running:
        _wait_until_gone(cluster)
        return f"stopped the PostgreSQL server (process {pid}) that a killed run left"
    if Path(f"/proc/{pid}").exists():
        # The number went to another program, which PostgreSQL would take for a live server.
        pid_file.unlink()
        return f"removed the lock file of a PostgreSQL server that was killed (process {pid})"
    return None


def processes_in(cluster: Path) -> set[int]:
    """The processes whose working directory is the cluster: its server and the server's own."""
    target = cluster.resolve()
    found = set()
    for entry in Path("/proc").glob("[0-9]*/cwd"):
        try:
            if entry.readlink() == target:
                found.add(int(entry.parent.name))
        except OSError:
            continue  # It ended, or belongs to another user.
    return found


def _wait_until_gone(cluster: Path) -> None:
    deadline = time.monotonic() + STOP_TIMEOUT_S
    while running := processes_in(cluster):
        if time.monotonic() > deadline:
            numbers = " ".join(str(pid) for pid in sorted(running))
            raise DataDirError(
                f"PostgreSQL processes of an earlier run do not stop: {numbers}; "
                f"look at them with ps, and end them with: kill -QUIT {numbers}"
            )
        time.sleep(POLL_INTERVAL_S)
