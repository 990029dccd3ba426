"""`sluice maintenance`: planned work, whose congestion raises no alarm."""

from __future__ import annotations

import re
from argparse import ArgumentParser
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.core.management.base import CommandError

from accounts.management.product_command import Noted, add_verb
from accounts.models import Organisation
from advisor.decisions.maintenance_windows import add_maintenance_window, remove_maintenance_window
from advisor.management.product_command import ProductCommand
from advisor.models import MaintenanceWindow, Recurrence

_LENGTH = re.compile(r"(\d+(?:\.\d+)?)(min|h|d)")
_UNITS = {"min": 60.0, "h": 3600.0, "d": 86_400.0}


class Command(ProductCommand):
    help = "List and add maintenance windows: the congestion that they explain raises no alarm"

    def add_own_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", title="verbs")
        add_verb(verbs, "list", help="all maintenance windows (the default)")
        add = add_verb(verbs, "add", help="add a maintenance window")
        add.add_argument("name")
        add.add_argument(
            "--start", required=True, help="such as 2026-11-21T22:00, in the time zone"
        )
        add.add_argument("--length", required=True, help="such as 90min, 2h or 1d")
        add.add_argument("--recurrence", choices=[*map(str, Recurrence)], default=Recurrence.ONCE)
        add.add_argument("--zone", default="UTC", help="time zone, such as Europe/Berlin (UTC)")
        add.add_argument(
            "--resource", action="append", default=[], dest="resources",
            help="resource that it may congest; repeat for each; default: all",
        )  # fmt: skip
        add.add_argument(
            "--workload", action="append", default=[], dest="workloads",
            help="workload that may be busy; repeat for each; default: all",
        )  # fmt: skip
        remove = add_verb(verbs, "remove", help="remove a maintenance window")
        remove.add_argument("name")

    def noted(self, options: Mapping[str, Any]) -> Noted | None:
        words = {"add": "state", "remove": "remove"}
        if options["verb"] not in words:
            return None
        return Noted(
            action=f"{words[options['verb']]} maintenance window", subject=options["name"]
        )

    def run(self, *, organisation: Organisation, **options: Any) -> None:
        match options["verb"]:
            case "add":
                add_maintenance_window(
                    organisation=organisation,
                    name=options["name"],
                    starts_at=_start(options["start"], options["zone"]),
                    length=_length(options["length"]),
                    recurrence=Recurrence(options["recurrence"]),
                    zone=options["zone"],
                    resources=options["resources"],
                    workloads=options["workloads"],
                )
            case "remove":
                remove_maintenance_window(organisation=organisation, name=options["name"])
        planned = MaintenanceWindow.objects.filter(organisation=organisation)
        self.show(
            [
                _row(maintenance)
                for maintenance in planned.prefetch_related("resources", "workloads")
            ],
            as_json=options["as_json"],
            columns=["name", "start", "zone", "length", "recurrence", "on", "by"],
            empty="no maintenance windows; add one with: "
            "sluice maintenance add NAME --start 2026-11-21T22:00 --length 2h",
        )


def _start(text: str, zone: str) -> datetime:
    try:
        at = datetime.fromisoformat(text)
    except ValueError as error:
        raise CommandError(f'"{text}" is not a time; write it like 2026-11-21T22:00') from error
    try:
        return at if at.tzinfo else at.replace(tzinfo=ZoneInfo(zone))
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise CommandError(f'"{zone}" is not a time zone; write it like Europe/Berlin') from error


def _length(text: str) -> timedelta:
    match = _LENGTH.fullmatch(text)
    if match is None:
        raise CommandError(f'"{text}" is not a length; write it like 90min, 2h or 1d')
    return timedelta(seconds=float(match[1]) * _UNITS[match[2]])


def _row(maintenance: MaintenanceWindow) -> dict[str, Any]:
    at = maintenance.starts_at.astimezone(ZoneInfo(maintenance.zone))
    resources = [resource.name for resource in maintenance.resources.all()]
    workloads = [workload.name for workload in maintenance.workloads.all()]
    return {
        "name": maintenance.name,
        "starts_at": maintenance.starts_at,
        "start": f"{at:%Y-%m-%d %H:%M}",
        "zone": maintenance.zone,
        "length_s": maintenance.length_s,
        "length": str(timedelta(seconds=maintenance.length_s)),
        "recurrence": maintenance.recurrence,
        "resources": resources,
        "workloads": workloads,
        "on": ", ".join(resources) or "all",
        "by": ", ".join(workloads) or "all",
    }
