"""`sluice trust`: bundles through the real path, and what came out beside what is known."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from accounts.management.product_command import PrintingCommand, add_json_option
from accounts.table import table
from advisor.core.canonical import to_plain
from advisor.core.casebook.bundle import Bundle, BundleError, read_bundle
from advisor.core.casebook.score import Case, ScoreRow, score
from advisor.decisions.casebook.replay import CASEBOOK, replay
from advisor.errors import AdvisorError
from advisor.resource_kinds.registry import traits_of
from appliance.embedded.errors import EmbeddedError
from appliance.embedded.scratch_database import on_scratch_database
from appliance.embedded.scratch_directory import scratch_directory
from appliance.embedded.stop_signals import interrupt_on_stop_signals
from config.paths import DataDir


class Command(PrintingCommand):
    help = (
        "Replay bundles of incidents (sluice bundle) through detection, attribution and advice, "
        "and print what was found beside what is known of them. It happens in a database of its "
        "own, which is gone at the end; a server of this machine notices nothing"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_json_option(parser)
        parser.add_argument(
            "bundles",
            nargs="*",
            type=Path,
            default=[CASEBOOK],
            metavar="BUNDLE",
            help="file or folder; default: the casebook that comes with the product",
        )

    def handle(self, *_: Any, **options: Any) -> None:
        files = [file for path in options["bundles"] for file in _files(path)]
        # A file that cannot be read is named before anything is started.
        bundles = [(file, _read(file)) for file in files]
        interrupt_on_stop_signals()
        try:
            with scratch_directory() as folder, on_scratch_database(DataDir(folder)):
                cases = [self._case(bundles, number) for number in range(len(bundles))]
        except EmbeddedError as error:
            raise CommandError(str(error)) from error
        rows = score(cases)
        if options["as_json"]:
            self.show_json([to_plain(row) for row in rows])
            return
        told = [_told(case) for case in cases]
        self.stdout.write(table(told, ["bundle", "incidents", "culprit", "victims", "advice"]))
        self.stdout.write(table([_shown(row) for row in rows], list(_shown(rows[0]))))

    def _case(self, bundles: Sequence[tuple[Path, Bundle]], number: int) -> Case:
        file, bundle = bundles[number]
        self.stderr.write(f"{number + 1} of {len(bundles)}: {file.name}")
        try:
            return Case(
                name=file.name,
                truth=bundle.truth,
                found=replay(bundle),
                kinds=traits_of(bundle.resource.kind).words.plural,
            )
        except (BundleError, AdvisorError) as error:
            raise CommandError(f"{file}: {error}") from error


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = sorted(path.glob("*.bundle"))
    if not found:
        raise CommandError(f"there is no file with the ending .bundle in {path}")
    return found


def _read(file: Path) -> Bundle:
    try:
        return read_bundle(file.read_bytes())
    except OSError as error:
        raise CommandError(f"{file} cannot be read: {error.strerror}") from error
    except BundleError as error:
        raise CommandError(f"{file}: {error}") from error


def _told(case: Case) -> dict[str, Any]:
    found = case.found
    return {
        "bundle": case.name,
        "incidents": len(found.incidents),
        "culprit": _beside(next(iter(found.aggressors), "nobody"), case.is_culprit_named),
        "victims": ", ".join(found.victims) or "none",
        "advice": str(found.answer.get("summary", "none")),
    }


def _beside(said: str, is_true: bool | None) -> str:
    return said if is_true is None else f"{said} ({'right' if is_true else 'wrong'})"


def _shown(row: ScoreRow) -> dict[str, Any]:
    measured = "not measured" if row.measured is None else f"{row.measured:.3g}"
    return {
        "what": row.what,
        "asked": row.asked,
        "measured": measured,
        "holds": "yes" if row.holds else "no",
        "note": row.note,
    }
