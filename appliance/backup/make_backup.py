"""A full backup: the database, the log that ends it, and what every table held then."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

import psycopg

from appliance.backup.archive import Archive, Removed
from appliance.backup.base_backup import Progress, Streamed, stream_base_backup
from appliance.backup.errors import BackupError, Refused
from appliance.backup.places import BackupPlaces, kept_apart
from appliance.backup.record import BackupRecord, Counted
from appliance.backup.table_sums import state_at_restore_point, sum_tables
from appliance.backup.wal import number_of, segment_at, segment_name
from appliance.embedded.postgres_cluster import DATABASE, PostgresCluster

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A backup that is whole, and what went for it."""

    record: BackupRecord
    removed: Removed


def make_backup(
    cluster: PostgresCluster, archive: Archive, *, keep: int, say: Say, progress: Progress
) -> Made:
    """Back the running database up, then take away what nobody needs any more.

    Raises BackupError with what failed.
    """
    places = BackupPlaces(cluster.data)
    if not cluster.answers():
        raise Refused(
            f"no database is running in {cluster.data.root}; start everything with: sluice run"
        )
    with places.held():
        started_at = datetime.now(UTC)
        name = f"{started_at:%Y%m%dT%H%M%S}{started_at.microsecond // 1000:03}Z"
        try:
            streamed = stream_base_backup(cluster, archive, name=name, progress=progress)
            say("looking at what every table holds")
            counted = _count(cluster, archive, name, streamed, say)
        except psycopg.OperationalError as error:
            raise BackupError(f"the database went away: {error}") from error
        record = BackupRecord(
            name=name,
            started_at=started_at,
            finished_at=datetime.now(UTC),
            postgres_version=cluster.programs.version,
            timescaledb=cluster.timescaledb,
            system_identifier=_system_identifier(cluster),
            timeline=streamed.timeline,
            start_lsn=streamed.start_lsn,
            stop_lsn=streamed.stop_lsn,
            raw_bytes=streamed.raw_bytes,
            parts=streamed.parts,
            counted=counted,
            kept_apart=kept_apart(cluster.data),
        )
        archive.finish(record)
        return Made(record=record, removed=archive.prune(keep=keep))


def _count(
    cluster: PostgresCluster, archive: Archive, name: str, streamed: Streamed, say: Say
) -> Counted | None:
    """What the tables held at a place of the log after the backup, with the log up to there.

    None where the tables were never free for the moment that this takes.
    """
    restore_point = f"sluice-{name}"
    address = cluster.address(DATABASE)
    try:
        with state_at_restore_point(address, restore_point) as (reader, place):
            at = datetime.now(UTC)
            _archive_up_to(cluster, archive, streamed, place)
            tables = sum_tables(reader)
    except psycopg.errors.QueryCanceled:
        say("tables were always in use, so what they hold is not kept beside the backup")
        return None
    return Counted(
        restore_point=restore_point,
        at=at,
        tables=tables,
    )


def _archive_up_to(
    cluster: PostgresCluster, archive: Archive, streamed: Streamed, place: str
) -> None:
    """Store the log from the backup's begin to a place, straight from the database's files."""
    with psycopg.connect(cluster.address(DATABASE), autocommit=True) as connection:
        connection.execute("SELECT pg_switch_wal()")
    first = segment_at(streamed.timeline, streamed.start_lsn)
    last = segment_at(streamed.timeline, place)
    log = cluster.data.postgres / "pg_wal"
    for number in range(number_of(first), number_of(last) + 1):
        file = log / segment_name(streamed.timeline, number)
        # One that is gone was archived long ago, or is within the backup.
        if file.is_file():
            archive.put_wal(file)
    # A restored database made its timeline while nothing was archived.
    for file in sorted(log.glob("*.history")):
        archive.put_wal(file)


def _system_identifier(cluster: PostgresCluster) -> str:
    with psycopg.connect(cluster.address(DATABASE)) as connection:
        row = connection.execute("SELECT system_identifier::text FROM pg_control_system()")
        (found,) = row.fetchone() or ("",)
        return str(found)
