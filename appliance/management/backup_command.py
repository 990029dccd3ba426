"""What the commands on backups share: the target, errors in one line, and progress on the way."""

from __future__ import annotations

import time
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from accounts.management.product_command import PrintingCommand, add_json_option
from appliance.backup.archive import Archive
from appliance.backup.errors import BackupError, Refused
from appliance.backup.record import BackupRecord
from appliance.backup.store import open_store
from appliance.embedded.errors import EmbeddedError
from config import env
from config.paths import DataDirError

TELL_EACH_S = 2.0
NOT_OURS = (
    "the database is the one of DATABASE_URL, which Sluice neither backs up nor restores: use "
    "what its server has for that, such as pgBackRest, Barman, WAL-G or a provider's snapshots. "
    "Keep beside it: the secret key and the settings of Sluice (docs/backup.md)"
)


class BackupCommand(PrintingCommand):
    """A command on backups of the private database."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_json_option(parser)
        parser.add_argument(
            "--target",
            metavar="PLACE",
            help="directory or s3://BUCKET/FOLDER (default: SLUICE_BACKUP_TARGET)",
        )

    def archive(self, options: dict[str, Any]) -> Archive:
        """The place of backups; raises Refused if none is given."""
        target = options["target"] or settings.BACKUP_TARGET
        if not target:
            raise Refused(
                "no target is given: use --target PLACE, or set SLUICE_BACKUP_TARGET to a "
                "directory or s3://BUCKET/FOLDER"
            )
        return Archive(open_store(target))

    @contextmanager
    def told(self) -> Iterator[None]:
        """What goes wrong is one line on standard error."""
        try:
            yield
        except (BackupError, EmbeddedError, DataDirError, env.SettingError) as error:
            raise CommandError(str(error)) from error

    def say(self, text: str) -> None:
        """A step, for people; standard output is for the result."""
        self.stderr.write(text)
        self.stderr.flush()

    def progress(self, unit: str = "bytes") -> Callable[[int, int | None], None]:
        """Tells of long work now and then how much is done, of how much where that is known."""
        began_s = told_s = time.monotonic()

        def tell(done: int, of: int | None) -> None:
            nonlocal told_s
            now_s = time.monotonic()
            if now_s - told_s >= TELL_EACH_S:
                told_s = now_s
                self.say(progress_text(done, of, now_s - began_s, unit))

        return tell


def check_private() -> None:
    """Raises Refused where the database is somebody else's."""
    if env.secret("DATABASE_URL"):
        raise Refused(NOT_OURS)


def progress_text(done: int, of: int | None, seconds: float, unit: str) -> str:
    """How much is done, of how much, and how long it takes yet."""
    if not of:
        return f"  {_amount(done, unit)}"
    text = f"  {_amount(done, unit)} of {_amount(of, unit)} ({min(1.0, done / of):.0%})"
    left_s = seconds * max(0, of - done) / done if done else None
    return text if left_s is None else f"{text}, {left_s:.0f} s left"


def _amount(count: int, unit: str) -> str:
    return f"{count / 1e6:,.1f} MB" if unit == "bytes" else f"{count:,}"


def row_of(record: BackupRecord) -> dict[str, Any]:
    """A backup for a table, and for programs."""
    return {
        "backup": record.name,
        "from": record.started_at,
        "restorable_from": record.finished_at,
        "postgres": record.postgres_version,
        "size_bytes": record.raw_bytes,
        "stored_bytes": record.stored_bytes,
        "parts": len(record.parts),
        "timescaledb": record.timescaledb,
        "system_identifier": record.system_identifier,
        "tables_counted": 0 if record.counted is None else len(record.counted.tables),
        "counted_at": record.counted and record.counted.at,
        "first_segment": record.first_segment,
        "kept_apart": list(record.kept_apart),
    }
