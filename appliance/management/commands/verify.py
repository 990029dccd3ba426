"""`sluice verify`: whether a backup can be trusted, by restoring it."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from appliance.backup.verify import Verified, verify
from appliance.embedded.scratch_directory import scratch_directory
from appliance.embedded.stop_signals import interrupt_on_stop_signals
from appliance.management.backup_command import BackupCommand


class Command(BackupCommand):
    help = (
        "Restore a backup into a scratch directory, start it, compare what every table holds with "
        "what it held, replay the log to its end, and say the newest moment that can be had"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--backup", metavar="NAME", help="which one (default: the newest)")
        parser.add_argument(
            "--scratch",
            type=Path,
            metavar="DIR",
            help="disk with room for the whole database (default: that of temporary files)",
        )

    def handle(self, *_: Any, **options: Any) -> None:
        interrupt_on_stop_signals()
        within = options["scratch"] and options["scratch"].absolute()
        if within is not None and not within.is_dir():
            raise CommandError(f"--scratch {within} is no directory")
        with self.told(), scratch_directory(within) as scratch:
            done = verify(
                self.archive(options),
                scratch,
                name=options["backup"],
                say=self.say,
                progress=self.progress(),
            )
        self._show(done, as_json=options["as_json"])

    def _show(self, done: Verified, *, as_json: bool) -> None:
        newest = done.newest_at or done.record.finished_at
        if as_json:
            self.show_json(
                {
                    "backup": done.record.name,
                    "holds": True,
                    "newest_at": newest,
                    "tables": done.tables,
                    "rows": done.rows,
                    "pages_checked": done.pages_checked,
                }
            )
            return
        self.stdout.write(f"backup {done.record.name} holds")
        if done.tables is None:
            self.stdout.write("  tables were not counted when it was made, so none are compared")
        else:
            self.stdout.write(f"  {done.tables} tables with {done.rows:,} rows are as they were")
        pages = "every page has its checksum" if done.pages_checked else "pages have no checksums"
        self.stdout.write(f"  every file is as PostgreSQL listed it; {pages}")
        self.stdout.write(f"  the newest moment that can be restored is {newest.isoformat()}")
