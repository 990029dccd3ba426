"""`sluice import`: samples of files that lie around, with a report of what they show."""  # noqa: N999 (the word people type)

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser
from dataclasses import replace
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from accounts.models import Organisation
from advisor.decisions.imported import judge_imported, kept_since
from advisor.management.import_text import report_json, report_text
from advisor.management.product_command import ProductCommand
from advisor.queries.import_report import import_report
from ingest.core.decoders.errors import QuestionError
from ingest.core.imported.answers import DATE_ORDERS, Answers, checked, question_of
from ingest.imports.archives import files_of
from ingest.imports.run import begin_run, import_files
from ingest.models import Import

PROGRESS_EVERY_S = 0.5
_MIB = 1024 * 1024


class Command(ProductCommand):
    help = (
        "Import samples from files, folders and archives (tar, zip, gzip): esxtop, sar (sadf -j), "
        "iostat, perfmon, /proc/diskstats, line protocol and Prometheus text, recognised by their "
        "content. The same file again changes nothing. Ends with a report"
    )

    def add_own_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("paths", nargs="+", type=Path, metavar="PATH")
        parser.add_argument("--host", default="", help="host, where a file does not name it")
        parser.add_argument(
            "--zone", default="", help="time zone of times without one, such as Europe/Berlin"
        )
        parser.add_argument(
            "--date-order",
            default="",
            choices=["", *DATE_ORDERS],
            help="what stands first in dates such as 03/04/2026",
        )
        parser.add_argument(
            "--first-at",
            default="",
            metavar="TIME",
            help="time of the first report of files without times, such as 2026-03-22T10:00:00Z",
        )
        parser.add_argument(
            "--every",
            type=float,
            default=0.0,
            metavar="SECONDS",
            help="time between reports of files without times",
        )
        parser.add_argument(
            "--shift-to",
            choices=["now"],
            help="move the times of all files alike, so that the newest sample is now",
        )

    def run(self, *, organisation: Organisation, **options: Any) -> None:
        now = timezone.now()
        run = begin_run(
            organisation=organisation,
            answers=_answers(options),
            is_shifted=options["shift_to"] == "now",
            now=now,
        )
        asking = _Asking(self)
        progress = _Progress(self)
        import_files(
            run,
            lambda: files_of(options["paths"]),
            now=now,
            earliest=kept_since(organisation, now=now),
            ask=asking.ask,
            progress=progress.show,
            pause=progress.pause,
        )
        progress.say("Judging what was stored, up to now")
        judge_imported(run, now=timezone.now())
        progress.end()
        report = import_report(run, now=timezone.now())
        if options["as_json"]:
            self.show_json(report_json(report))
        else:
            self.stdout.write(report_text(report))
        if asking.unanswered:
            raise CommandError("\n".join(asking.unanswered))
        if not any(one.accepted for one in report.files):
            raise CommandError("no sample was stored; the table above says why")


def _answers(options: dict[str, Any]) -> Answers:
    given = Answers(
        host=options["host"],
        zone=options["zone"],
        date_order=options["date_order"],
        first_at=options["first_at"],
        every_s=options["every"],
    )
    try:
        return checked(given)
    except ValueError as error:
        raise CommandError(str(error)) from error


class _Asking:
    """Asks a person in a terminal, and otherwise names the option."""

    def __init__(self, command: Command) -> None:
        self._command = command
        self.unanswered: list[str] = []

    def ask(self, name: str, error: QuestionError, answers: Answers) -> Answers | None:
        """The answers with that to the question; None if nobody answers."""
        question = question_of(error)
        if sys.stdin.isatty() and self._command.stdout.isatty():
            self._command.stderr.write(f"{name}: {error}")
            given = {field: self._read(field, question.words) for field in question.fields}
            if all(given.values()):
                try:
                    every_s = float(given.pop("every_s", 0) or answers.every_s)
                    more = checked(replace(answers, every_s=every_s, **given))
                    assert more.first is None or more.first
                except ValueError as wrong:
                    self.unanswered.append(f"{name}: {wrong}")
                    return None
                return more
        self.unanswered.append(f"{name}: {error}; say it with {question.options}")
        return None

    def _read(self, field: str, words: str) -> str:
        return input(f"{'Seconds between reports' if field == 'every_s' else words}: ").strip()


class _Progress:
    """One line that is written over, on a terminal alone."""

    def __init__(self, command: Command) -> None:
        self._command = command
        self._is_shown = command.stderr.isatty()
        self._before = 0.0

    def show(self, row: Import, read_bytes: int) -> None:
        if not self._is_shown or time.monotonic() - self._before < PROGRESS_EVERY_S:
            return
        self._before = time.monotonic()
        done = read_bytes / row.size_bytes if row.size_bytes else 1.0
        text = f"{done:4.0%} of {row.size_bytes / _MIB:.0f} MiB, {row.accepted} samples"
        self.say(f"{row.name}: {text}")

    def pause(self, wait_s: float) -> None:
        """Say why nothing goes on, and wait."""
        self.say("Waiting for the quota of points a second")
        time.sleep(wait_s)

    def say(self, words: str) -> None:
        if self._is_shown:
            self._command.stderr.write(f"\r\x1b[K{words}", ending="")
            self._command.stderr.flush()

    def end(self) -> None:
        if self._is_shown:
            self._command.stderr.write("\r\x1b[K", ending="")
