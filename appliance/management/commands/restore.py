"""`sluice restore`: the database of a moment, in a new data directory."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError
from datetime import datetime
from pathlib import Path
from typing import Any

from appliance.backup.restore import Restored, restore
from appliance.embedded.stop_signals import interrupt_on_stop_signals
from appliance.management.backup_command import BackupCommand, check_private
from config.paths import DataDir


class Command(BackupCommand):
    help = (
        "Restore the private database as it was at a moment: unpack the newest backup before it, "
        "compare every file, and replay the log. A directory that is in use is refused; one that "
        "is not empty too, unless forced"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--to",
            type=_moment,
            metavar="TIME",
            help="moment with its zone, as 2026-11-28T21:30:00Z (default: the newest there is)",
        )
        parser.add_argument(
            "--into", type=Path, required=True, metavar="DIR", help="the new data directory"
        )
        parser.add_argument(
            "--force",
            action="store_true",
            help="also into a directory that is not empty; its database is moved aside",
        )

    def handle(self, *_: Any, **options: Any) -> None:
        interrupt_on_stop_signals()
        into = DataDir(options["into"].expanduser().absolute())
        with self.told():
            check_private()
            restored = restore(
                self.archive(options),
                into,
                until=options["to"],
                force=options["force"],
                say=self.say,
                progress=self.progress(),
            )
        self._show(restored, into, as_json=options["as_json"])

    def _show(self, restored: Restored, into: DataDir, *, as_json: bool) -> None:
        if as_json:
            self.show_json(
                {
                    "backup": restored.record.name,
                    "into": str(into.root),
                    "newest_at": restored.newest_at,
                    "moved_to": restored.moved_to and str(restored.moved_to),
                    "kept_apart": list(restored.record.kept_apart),
                }
            )
            return
        newest = restored.newest_at or restored.record.finished_at
        self.stdout.write(
            f"restored into {into.root}, from backup {restored.record.name}; "
            f"the newest change in it is of {newest.isoformat()}"
        )
        if restored.moved_to is not None:
            self.stdout.write(f"  the database that was there is now {restored.moved_to}")
        self.stdout.write("  put back what was kept apart:")
        for one in restored.record.kept_apart:
            self.stdout.write(f"    {one}")
        self.stdout.write(f"  then start it: SLUICE_DATA_DIR={into.root} sluice run")
        self.stdout.write("  and let backups go on from there: sluice backup --take-over")


def _moment(text: str) -> datetime:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is no time; write it as 2026-11-28T21:30:00Z") from None
    if found.tzinfo is None:
        raise ArgumentTypeError(f"{text!r} has no zone; write it as {text}Z for UTC")
    return found
