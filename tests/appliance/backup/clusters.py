"""A private database that archives its log, with a table of ours, for tests of backups."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import psycopg

from appliance.backup.archive import Archive
from appliance.backup.keeper import ship
from appliance.backup.make_backup import Made, make_backup
from appliance.backup.places import BackupPlaces, archive_command
from appliance.embedded.child import Child
from appliance.embedded.postgres_cluster import PostgresCluster, find_cluster
from appliance.embedded.service_user import make_directory, service_user
from config.paths import DataDir

NEXT_S = 0.05
SHIPPED_WITHIN_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A database that runs, and where its log waits."""

    cluster: PostgresCluster
    places: BackupPlaces

    def execute(self, statement: str) -> None:
        with psycopg.connect(self.cluster.address("sluice"), autocommit=True) as connection:
            connection.execute(statement)

    def write(self, *numbers: int) -> datetime:
        """Store numbers; gives a moment after that, and before the next write."""
        self.execute(f"INSERT INTO points VALUES {', '.join(f'({one})' for one in numbers)}")
        time.sleep(NEXT_S)
        at = datetime.now(UTC)
        time.sleep(NEXT_S)
        return at

    def ship(self, archive: Archive) -> None:
        """Bring the log up to here to the target."""
        with psycopg.connect(self.cluster.address("sluice"), autocommit=True) as connection:
            row = connection.execute("SELECT pg_walfile_name(pg_switch_wal())").fetchone()
        assert row is not None
        deadline = time.monotonic() + SHIPPED_WITHIN_S
        while row[0] not in archive.wal_names():
            assert time.monotonic() < deadline, "the log does not come"
            ship(archive, self.places.spool)
            time.sleep(0.05)

    def back_up(self, archive: Archive, *, keep: int = 7) -> Made:
        archive.own(self.places.folder)
        return make_backup(
            self.cluster, archive, keep=keep, say=lambda _: None, progress=lambda _: None
        )


@contextmanager
def running_database(root: Path) -> Iterator[Running]:
    """Make and start one; it is stopped at the end."""
    data, user = DataDir(root), service_user()
    root.mkdir(mode=0o711)
    data.logs.mkdir()
    make_directory(data.sockets, user)
    cluster = find_cluster(data, user)
    cluster.create()
    places = BackupPlaces(data)
    places.make(user)
    server = Child(cluster.server(archive_command=archive_command(places)))
    try:
        server.wait_until_ready()
        cluster.create_database()
        running = Running(cluster=cluster, places=places)
        running.execute("CREATE TABLE points (number bigint PRIMARY KEY)")
        yield running
    finally:
        server.stop()


def points_in(data: DataDir) -> list[int]:
    """What a restored database holds, which is started for that."""
    cluster = find_cluster(data, service_user())
    server = Child(cluster.server())
    try:
        server.wait_until_ready()
        with psycopg.connect(cluster.address("sluice")) as connection:
            rows = connection.execute("SELECT number FROM points ORDER BY number")
            return [number for (number,) in rows]
    finally:
        server.stop()
