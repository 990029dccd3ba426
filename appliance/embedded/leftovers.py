"""What a killed run leaves behind: a PostgreSQL server without a supervisor, or its lock file."""

import os
import signal
import time
from pathlib import Path

from config.paths import DataDirError

STOP_TIMEOUT_S = 60.0
POLL_INTERVAL_S = 0.1


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
    running = _processes_in(cluster)
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


def _processes_in(cluster: Path) -> set[int]:
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
    while running := _processes_in(cluster):
        if time.monotonic() > deadline:
            numbers = " ".join(str(pid) for pid in sorted(running))
            raise DataDirError(
                f"PostgreSQL processes of an earlier run do not stop: {numbers}; "
                f"look at them with ps, and end them with: kill -QUIT {numbers}"
            )
        time.sleep(POLL_INTERVAL_S)
