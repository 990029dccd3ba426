"""`sluice backup`: a full backup of the private database, and what is there already."""

from __future__ import annotations

from argparse import ArgumentParser
from datetime import UTC, datetime
from typing import Any

import psycopg
from django.conf import settings

from advisor.pipeline.backup_state import LastBackup, read_last, write_last
from appliance.backup.archive import Archive, Removed
from appliance.backup.errors import BackupError
from appliance.backup.make_backup import Made, make_backup
from appliance.backup.places import BackupPlaces
from appliance.embedded.postgres_cluster import DATABASE, PostgresCluster, find_cluster
from appliance.embedded.service_user import service_user
from appliance.embedded.stop_signals import interrupt_on_stop_signals
from appliance.management.backup_command import BackupCommand, check_private, row_of


class Command(BackupCommand):
    help = (
        "Back up the private database while it runs: a full backup, and the log up to its end. "
        "With SLUICE_BACKUP_TARGET, sluice run also ships the log all the time and makes backups "
        "by itself. Keys and settings are named and not copied (docs/backup.md)"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--list", action="store_true", help="show what is there; make nothing")
        parser.add_argument(
            "--keep",
            type=int,
            default=settings.BACKUP_KEEP,
            help="full backups that stay, with the log from the oldest on "
            "(SLUICE_BACKUP_KEEP: %(default)s)",
        )
        parser.add_argument(
            "--take-over",
            action="store_true",
            help="go on with backups of another data directory, such as the one restored from",
        )

    def handle(self, *_: Any, **options: Any) -> None:
        interrupt_on_stop_signals()
        with self.told():
            if options["list"]:
                self._list(self.archive(options), as_json=options["as_json"])
                return
            check_private()
            archive = self.archive(options)
            made = self._make(archive, keep=options["keep"], take_over=options["take_over"])
        self._show(made, archive, as_json=options["as_json"])

    def _make(self, archive: Archive, *, keep: int, take_over: bool) -> Made:
        data = settings.DATA_DIR
        user = service_user(data.postgres)
        cluster = find_cluster(data, user)
        places = BackupPlaces(data)
        places.make(user)
        # A target of one time says nothing about the one that is watched.
        is_watched = archive.store.target == settings.BACKUP_TARGET.rstrip("/")
        try:
            archive.own(places.folder, take_over=take_over)
            size = _database_bytes(cluster)
            tell = self.progress()
            self.say(f"backing up {data.root} to {archive.store.target}")
            made = make_backup(
                cluster, archive, keep=keep, say=self.say, progress=lambda done: tell(done, size)
            )
        except BackupError:
            if is_watched:
                last = read_last(places.folder)
                failed = LastBackup(made_at=last.made_at, failed_at=datetime.now(UTC))
                write_last(places.folder, failed)
            raise
        if is_watched:
            write_last(places.folder, LastBackup(made_at=made.record.finished_at))
        return made

    def _list(self, archive: Archive, *, as_json: bool) -> None:
        rows = [row_of(record) for record in archive.records()]
        self.show(
            rows,
            as_json=as_json,
            columns=["backup", "restorable_from", "postgres", "size_bytes", "stored_bytes"],
            empty=f"no whole backup is at {archive.store.target}",
        )

    def _show(self, made: Made, archive: Archive, *, as_json: bool) -> None:
        record = made.record
        if as_json:
            self.show_json({**row_of(record), "removed": _removed(made.removed)})
            return
        seconds = (record.finished_at - record.started_at).total_seconds()
        self.stdout.write(
            f"backup {record.name} is whole: {record.raw_bytes / 1e6:,.1f} MB, stored as "
            f"{record.stored_bytes / 1e6:,.1f} MB in {seconds:.1f} s at {archive.store.target}"
        )
        for name, count in _removed(made.removed).items():
            if count:
                self.stdout.write(f"  removed: {name.replace('_', ' ')}: {count}")
        self.stdout.write("  not in it, keep these apart, at a place of their own:")
        for one in record.kept_apart:
            self.stdout.write(f"    {one}")


def _removed(removed: Removed) -> dict[str, int]:
    return {
        "older_backups": len(removed.backups),
        "unfinished_backups": len(removed.unfinished),
        "segments_of_the_log": removed.segments,
    }


def _database_bytes(cluster: PostgresCluster) -> int | None:
    """About how much will be read; None if the database does not answer."""
    try:
        with psycopg.connect(cluster.address(DATABASE), connect_timeout=5) as connection:
            row = connection.execute(
                "SELECT sum(pg_database_size(oid)) FROM pg_database"
            ).fetchone()
    except psycopg.OperationalError:
        return None
    return int(row[0]) if row else None
