"""`sluice history`: what is stored, whether it is whole, and how to take it elsewhere."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Mapping
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from accounts.management.product_command import Noted, add_verb
from accounts.models import Organisation
from advisor.errors import InventoryError
from advisor.history.stored.export import (
    ExportedTrack,
    exported_rows,
    tracks_of_resource,
    tracks_of_workload,
)
from advisor.history.stored.partitions import Level, partitions_of
from advisor.history.stored.retention import keep_for, kept_by
from advisor.history.stored.verify import Kind, check_history
from advisor.management.product_command import ProductCommand, find_resource
from advisor.management.table_files import FileFormat, write_tables
from advisor.models import Workload
from ingest.models import OpenHour

_LEVELS = {
    Level.EXACT: "every 10 s, exact",
    Level.QUARTER: "15 min, mean and maximum",
    Level.DAY: "day, mean, maximum and distribution",
}
_CHECKED = {
    Kind.CHUNK: _LEVELS[Level.EXACT],
    Kind.DAY: _LEVELS[Level.DAY],
    Kind.JUDGED: "judged windows",
}


class Command(ProductCommand):
    help = "Show, check and export the stored history, or set how long it is kept"

    def add_own_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", title="verbs")
        add_verb(verbs, "list", help="the stored levels (the default)")
        add_verb(verbs, "verify", help="decode all of it; exit status 1 if anything is damaged")
        export = add_verb(verbs, "export", help="write sealed hours as CSV or Parquet")
        whose = export.add_mutually_exclusive_group(required=True)
        whose.add_argument("--resource", help="its devices and the adapters of its workloads")
        whose.add_argument("--workload", help="its adapters")
        export.add_argument("--since", required=True, help="UTC, such as 2026-11-21T22:00")
        export.add_argument("--until", required=True, help="UTC, such as 2026-11-22T22:00")
        export.add_argument("--format", choices=[*map(str, FileFormat)], default=FileFormat.CSV)
        export.add_argument(
            "--output", required=True, help="folder; each kind of subject gets a file in it"
        )
        keep = add_verb(verbs, "keep", help="set how many days this organisation keeps each level")
        keep.add_argument("--exact-days", type=int, help="every 10 s value")
        keep.add_argument("--quarter-days", type=int, help="15 min")
        keep.add_argument("--day-days", type=int, help="days")

    def noted(self, options: Mapping[str, Any]) -> Noted | None:
        if options["verb"] != "keep":
            return None
        return Noted(action="state retention", subject="stored history")

    def run(self, *, organisation: Organisation, **options: Any) -> None:
        match options["verb"]:
            case "verify":
                self._verify(organisation, as_json=options["as_json"])
            case "export":
                self._export(organisation, options)
            case "keep":
                _keep(organisation, options)
                self._list(organisation, as_json=options["as_json"])
            case _:
                self._list(organisation, as_json=options["as_json"])

    def _list(self, organisation: Organisation, *, as_json: bool) -> None:
        kept = kept_by(organisation)
        rows = []
        for level in Level:
            spans = partitions_of(organisation.pk, level)
            rows.append(
                {
                    "level": _LEVELS[level],
                    "kept_days": kept.days_of(level),
                    "since": spans[0].begin.isoformat() if spans else None,
                    "until": spans[-1].end.isoformat() if spans else None,
                }
            )
        self.show(
            rows, as_json=as_json, columns=["level", "kept_days", "since", "until"], empty=""
        )
        waiting = OpenHour.objects.filter(host__organisation=organisation)
        if not as_json:
            hours = waiting.values("at").distinct().count()
            self.stdout.write(f"{hours} hours are not sealed yet")

    def _verify(self, organisation: Organisation, *, as_json: bool) -> None:
        damaged, whole = [], 0
        for one in check_history(organisation, now=timezone.now()):
            if one.damage:
                damaged.append(
                    {
                        "level": _CHECKED[one.kind],
                        "owner": one.owner,
                        "figure": one.figure,
                        "at": one.at.isoformat(),
                        "damage": one.damage,
                    }
                )
            else:
                whole += 1
        self.show(
            damaged,
            as_json=as_json,
            columns=["level", "owner", "figure", "at", "damage"],
            empty=f"all {whole} stored chunks, days and records of judged windows are whole",
        )
        if damaged:
            raise SystemExit(1)

    def _export(self, organisation: Organisation, options: dict[str, Any]) -> None:
        since, until = _time(options["since"]), _time(options["until"])
        if since >= until:
            raise CommandError("--since must be before --until")
        files = write_tables(
            exported_rows(organisation, _tracks(organisation, options), since=since, until=until),
            Path(options["output"]),
            FileFormat(options["format"]),
        )
        self.show(
            [{"file": str(path), "rows": rows} for path, rows in files.items()],
            as_json=options["as_json"],
            columns=["file", "rows"],
            empty="nothing is sealed in this time; hours are sealed 20 minutes after their end",
        )


def _tracks(organisation: Organisation, options: dict[str, Any]) -> list[ExportedTrack]:
    if options["resource"]:
        return tracks_of_resource(find_resource(organisation, options["resource"]))
    name = options["workload"]
    workload = Workload.objects.filter(organisation=organisation, name=name).first()
    if workload is None:
        raise CommandError(f'there is no workload "{name}"')
    return tracks_of_workload(workload)


def _keep(organisation: Organisation, options: dict[str, Any]) -> None:
    kept = kept_by(organisation)
    days = {name: days for name in asdict(kept) if (days := options[name]) is not None}
    try:
        keep_for(organisation, replace(kept, **days))
    except InventoryError as error:
        raise CommandError(str(error)) from error


def _time(text: str) -> datetime:
    try:
        found = datetime.fromisoformat(text)
    except ValueError as error:
        raise CommandError(f'"{text}" is not a time such as 2026-11-21T22:00') from error
    return found if found.tzinfo else found.replace(tzinfo=UTC)
