"""A backup is tried: restored into a scratch directory, started, compared, played to its end."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import psycopg

from appliance.backup.archive import Archive
from appliance.backup.errors import Damaged
from appliance.backup.record import BackupRecord, Counted
from appliance.backup.recovery import Until, recovered
from appliance.backup.restore import LOG_FOLDER, Progress, check_unpacked, choose_backup, unpack
from appliance.backup.table_sums import sum_tables
from appliance.embedded.checksums import has_checksums
from appliance.embedded.postgres_cluster import DATABASE, PostgresCluster
from appliance.embedded.service_user import process_identity
from config.paths import DataDir

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """What was compared, and the newest moment that can be restored.

    `rows` and `tables` are None where the backup has nothing to compare them with, `pages_checked`
    False where the database has no checksums.
    """

    record: BackupRecord
    newest_at: datetime | None
    tables: int | None
    rows: int | None
    pages_checked: bool


def verify(
    archive: Archive, scratch: Path, *, name: str | None, say: Say, progress: Progress
) -> Verified:
    """Try a backup (None: the newest) in an empty directory that the caller removes.

    Raises BackupError with what does not hold.
    """
    chosen = choose_backup(archive, until=None, name=name)
    data = DataDir(scratch)
    unpack(archive, data, chosen, say=say, progress=progress)
    cluster = check_unpacked(data, chosen.record, say)
    log = scratch / LOG_FOLDER
    counted = chosen.record.counted
    if counted is not None:
        say("comparing what every table holds")
        until = Until(name=counted.restore_point)
        with recovered(cluster, log=log, timeline=chosen.timeline, until=until, say=say):
            _compare(cluster, counted)
    say("replaying the log to its end")
    with recovered(
        cluster, log=log, timeline=chosen.timeline, until=Until(), say=say
    ) as newest_at:
        pass
    return Verified(
        record=chosen.record,
        newest_at=newest_at,
        tables=None if counted is None else len(counted.tables),
        rows=None if counted is None else sum(one.rows for one in counted.tables.values()),
        pages_checked=_check_pages(cluster, say),
    )


def _compare(cluster: PostgresCluster, counted: Counted) -> None:
    """Raises Damaged with the tables that hold something else."""
    with psycopg.connect(cluster.address(DATABASE)) as connection:
        found = sum_tables(connection)
    differing = []
    for name, expected in counted.tables.items():
        one = found.get(name)
        # A table near the size from which contents are not read may lie on either side of it.
        if one is None or one.rows != expected.rows:
            differing.append(f"{name} ({expected.rows} rows, found {one and one.rows})")
        elif None not in (one.content, expected.content) and one.content != expected.content:
            differing.append(f"{name} (its contents)")
    if differing:
        raise Damaged(f"restored tables differ from those backed up: {', '.join(differing)}")


def _check_pages(cluster: PostgresCluster, say: Say) -> bool:
    """Compare each page with its checksum; whether there are any. Raises Damaged."""
    if not has_checksums(cluster):
        return False
    say("comparing every page with its checksum")
    done = subprocess.run(
        [
            cluster.programs.bin_dir / "pg_checksums",
            "--check",
            f"--pgdata={cluster.data.postgres}",
        ],
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
        **process_identity(cluster.user),
    )
    if done.returncode != 0:
        raise Damaged(f"pages of the restored database are damaged: {done.stderr.strip()}")
    return True
