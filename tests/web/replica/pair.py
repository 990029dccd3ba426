"""A PostgreSQL with the product's tables, and a standby that streams from it."""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psycopg

from appliance.embedded.child import Child
from appliance.embedded.postgres_cluster import DATABASE, ROLE, PostgresCluster, find_cluster
from appliance.embedded.service_user import make_directory, process_identity, service_user
from config.paths import POSTGRES_PORT, DataDir
from tests.kept_cluster import put_tables

SENDS_ITS_LOG = ("-c", "wal_level=replica", "-c", "max_wal_senders=4")
DEADLINE_S = 60.0


@dataclass(slots=True)
class Pair:
    """Both servers. The standby may be ended and started again, and may stop to follow."""

    primary: PostgresCluster
    standby: PostgresCluster
    server: Child

    def kill_standby(self) -> None:
        """It ends at once, as with its machine."""
        self.server.process.kill()
        self.server.stop(at_once=True)

    def stop_standby(self) -> None:
        self.server.stop()

    def start_standby(self) -> None:
        self.server = _started(self.standby)

    def hold(self) -> None:
        """The standby shows nothing new from now on."""
        self.ask_standby("SELECT pg_wal_replay_pause()")
        _wait(lambda: self.ask_standby("SELECT pg_get_wal_replay_pause_state()") == "paused")

    def go_on(self) -> None:
        """It follows again, and has all that there is."""
        self.ask_standby("SELECT pg_wal_replay_resume()")
        self.catch_up()

    def catch_up(self) -> None:
        """Return when the standby shows all that is written."""
        written = _ask(self.primary, "SELECT pg_current_wal_flush_lsn()::text")
        query = f"SELECT pg_last_wal_replay_lsn() >= '{written}'::pg_lsn"
        _wait(lambda: bool(self.ask_standby(query)))

    def ask_standby(self, query: str) -> Any:
        return _ask(self.standby, query)


@contextmanager
def running_pair() -> Iterator[Pair]:
    """Both servers while the block lasts, below a folder of their own."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pair-", dir="/tmp")))
        folder.chmod(0o711)
        data = DataDir(folder / "p")
        put_tables(data)
        primary = find_cluster(data, service_user())
        server = _started(primary)
        stack.callback(server.stop)
        standby = _copied(primary, DataDir(folder / "s"))
        pair = Pair(primary, standby, _started(standby))
        stack.callback(pair.stop_standby)
        yield pair


def _copied(primary: PostgresCluster, data: DataDir) -> PostgresCluster:
    data.root.mkdir(mode=0o711)
    make_directory(data.postgres, primary.user)
    subprocess.run(
        [
            primary.programs.bin_dir / "pg_basebackup",
            f"--host={primary.data.sockets}", f"--port={POSTGRES_PORT}", f"--username={ROLE}",
            f"--pgdata={data.postgres}", "--write-recovery-conf", "--checkpoint=fast",
        ],
        cwd="/", check=True, **process_identity(primary.user),
    )  # fmt: skip
    return replace(primary, data=data)


def _started(cluster: PostgresCluster) -> Child:
    cluster.data.logs.mkdir(exist_ok=True)
    make_directory(cluster.data.sockets, cluster.user)
    spec = cluster.server(durable=False)
    # As in the product a commit is written before it is answered; here it need not be on a disk.
    server = Child(
        replace(spec, argv=(*spec.argv, *SENDS_ITS_LOG, "-c", "synchronous_commit=local"))
    )
    server.wait_until_ready()
    return server


def _ask(cluster: PostgresCluster, query: str) -> Any:
    with psycopg.connect(cluster.address(DATABASE), autocommit=True) as connection:
        row = connection.execute(query).fetchone()
    assert row is not None
    return row[0]


def _wait(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not is_so():
        assert time.monotonic() < deadline, "the standby does not follow"
        time.sleep(0.02)
