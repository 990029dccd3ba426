"""A restored cluster replays the log until a moment, a named place, or its end."""

from __future__ import annotations

import dataclasses
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import psycopg

from appliance.backup.errors import BackupError, Damaged, NotReachable
from appliance.embedded.child import Child
from appliance.embedded.postgres_cluster import DATABASE, PostgresCluster
from appliance.embedded.service_user import make_directory

POLL_S = 0.1
FATAL = re.compile(r"FATAL:  (?!the database system is|terminating)(.*)")
TOO_SHORT = "recovery ended before configured recovery target was reached"
TOO_EARLY = "requested recovery stop point is before consistent recovery point"


@dataclass(frozen=True, slots=True, kw_only=True)
class Until:
    """Where replay ends: at a moment, at a named place, or, with neither, at the end of the log.

    At a named place the database stays as it was there, for reading alone; else it is opened.
    """

    moment: datetime | None = None
    name: str | None = None

    def options(self) -> dict[str, str]:
        """PostgreSQL's settings for it."""
        if self.name is not None:
            return {"recovery_target_name": self.name, "recovery_target_action": "pause"}
        if self.moment is not None:
            return {
                "recovery_target_time": self.moment.isoformat(),
                "recovery_target_action": "promote",
            }
        return {}


@contextmanager
def recovered(
    cluster: PostgresCluster, *, log: Path, timeline: int, until: Until, say: Callable[[str], None]
) -> Iterator[datetime | None]:
    """The server of a restored cluster after replay, stopped at the end of the block.

    Gives when the last transaction that was replayed was committed; None if there was none.
    Raises NotReachable if the log ends before, Damaged with what PostgreSQL said otherwise.
    """
    cluster.data.logs.mkdir(mode=0o700, parents=True, exist_ok=True)
    make_directory(cluster.data.sockets, cluster.user)
    _ask_for_recovery(cluster)
    spec = cluster.server()
    quoted = str(log).replace("%", "%%")
    options = {
        "restore_command": f'cp "{quoted}/%f" "%p"',
        "recovery_target_timeline": str(timeline),
        **until.options(),
    }
    settings = [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
    server = Child(dataclasses.replace(spec, argv=(*spec.argv, *settings)))
    try:
        yield _wait(cluster, server, until, say)
    finally:
        server.stop()


def _ask_for_recovery(cluster: PostgresCluster) -> None:
    signal = cluster.data.postgres / "recovery.signal"
    signal.touch(mode=0o600)
    if cluster.user is not None:
        os.chown(signal, cluster.user.uid, cluster.user.gid)


def _wait(
    cluster: PostgresCluster, server: Child, until: Until, say: Callable[[str], None]
) -> datetime | None:
    """Until replay is over; as long as it takes, for a long log takes long."""
    told = time.monotonic()
    while True:
        if server.exit_status is not None:
            raise _error(server, until)
        is_over, last = _look(cluster, until)
        if is_over:
            return last
        if last is not None and time.monotonic() - told > 2:
            told = time.monotonic()
            say(f"replayed until {last.isoformat(timespec='seconds')}")
        time.sleep(POLL_S)


def _look(cluster: PostgresCluster, until: Until) -> tuple[bool, datetime | None]:
    """Whether replay is over, and the last transaction that it reached."""
    query = (
        "SELECT pg_get_wal_replay_pause_state() = 'paused', pg_last_xact_replay_timestamp()"
        if until.name is not None
        else "SELECT NOT pg_is_in_recovery(), pg_last_xact_replay_timestamp()"
    )
    try:
        with psycopg.connect(cluster.address(DATABASE), connect_timeout=2) as connection:
            row = connection.execute(query).fetchone()
    except psycopg.Error:
        # Not open yet.
        return False, None
    assert row is not None
    return bool(row[0]), row[1]


def _error(server: Child, until: Until) -> BackupError:
    text = server.spec.log.read_text(errors="replace")
    found = FATAL.findall(text)
    why = found[-1] if found else server.describe_end()
    if TOO_SHORT in why:
        wanted = until.moment.isoformat() if until.moment else until.name
        last = re.findall(r"last completed transaction was at log time (.*)", text)
        newest = f"; the last transaction in it is of {last[-1]}" if last else ""
        return NotReachable(f"the archived log ends before {wanted}{newest}")
    if TOO_EARLY in why:
        return NotReachable("that moment is before the end of the backup; choose a later one")
    return Damaged(f"PostgreSQL cannot replay the log: {why}")
