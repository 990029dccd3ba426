"""`sluice trust`: bundles through the real path, and what came out beside what is known."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from accounts.management.product_command import PrintingCommand, add_json_option
from accounts.table import table
from advisor.core.canonical import to_plain
from advisor.core.casebook.bundle import BundleError, read_bundle
from advisor.core.casebook.score import Case, ScoreRow, score
from advisor.decisions.casebook.replay import CASEBOOK, replay
from advisor.errors import AdvisorError


class Command(PrintingCommand):
    help = (
        "Replay bundles of incidents (sluice bundle) through detection, attribution and advice, "
        "and print what was found beside what is known of them. Nothing of it is kept"
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
        cases = [_case(file) for path in options["bundles"] for file in _files(path)]
        if not cases:
            raise CommandError("there is no bundle in what you named; they end in .bundle")
        rows = score(cases)
        if options["as_json"]:
            self.show_json([to_plain(row) for row in rows])
            return
        told = [_told(case) for case in cases]
        self.stdout.write(table(told, ["bundle", "incidents", "culprit", "victims", "advice"]))
        self.stdout.write(table([_shown(row) for row in rows], list(_shown(rows[0]))))


def _files(path: Path) -> list[Path]:
    return sorted(path.glob("*.bundle")) if path.is_dir() else [path]


def _case(file: Path) -> Case:
    try:
        bundle = read_bundle(file.read_bytes())
        return Case(name=file.name, truth=bundle.truth, found=replay(bundle))
    except OSError as error:
        raise CommandError(f"{file} cannot be read: {error.strerror}") from error
    except (BundleError, AdvisorError) as error:
        raise CommandError(f"{file}: {error}") from error


def _told(case: Case) -> dict[str, Any]:
    found = case.found
    return {
        "bundle": case.name,
        "incidents": found.incidents,
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
    }
