"""`sluice incidents`: congestion with its victims and its cause."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from accounts.models import Organisation
from advisor.core.canonical import to_plain
from advisor.core.detection.maintenance_windows import MaintenanceWindow
from advisor.core.enumeration import listed
from advisor.core.standing import workload_words
from advisor.management.incident_text import study_text
from advisor.management.product_command import ProductCommand, level_text
from advisor.models import Incident
from advisor.pipeline.attribute import study_incident
from advisor.pipeline.muting import comes_from_outside, maintenance_windows_of, muting_of


class Command(ProductCommand):
    help = "List incidents, newest first, or show the cause of one"

    def add_own_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("id", nargs="?", type=int, help="show the cause of this one")
        parser.add_argument("--open", action="store_true", help="only ongoing incidents")

    def run(self, *, organisation: Organisation, **options: Any) -> None:
        rows = Incident.objects.filter(organisation=organisation).select_related("resource")
        planned, now = maintenance_windows_of(organisation.pk), timezone.now()
        if options["id"] is not None:
            # One that was withdrawn has its number still.
            every = Incident.every.filter(organisation=organisation).select_related("resource")
            found = every.filter(pk=options["id"]).first()
            if found is None:
                raise CommandError(f"there is no incident {options['id']}; see: sluice incidents")
            self._explain(found, _row(found, planned, now), now, as_json=options["as_json"])
            return
        if options["open"]:
            rows = rows.filter(ended_at=None)
        self.show(
            [_row(incident, planned, now) for incident in rows[:100]],
            as_json=options["as_json"],
            columns=["id", "resource", "started_at", "ended_at", "peak", "allowed",
                     "victim_names", "aggressor_names", "maintenance_window"],
            empty="no incidents since the first sample",
        )  # fmt: skip

    def _explain(
        self, incident: Incident, row: dict[str, Any], now: datetime, *, as_json: bool
    ) -> None:
        study = study_incident(incident=incident, now=now)
        if as_json:
            self.show_json(row | {"study": to_plain(study)})
            return
        self.stdout.write(study_text(incident, row, study))


def _row(
    incident: Incident, planned: Sequence[MaintenanceWindow], now: datetime
) -> dict[str, Any]:
    muting = muting_of(incident, planned, now=now)
    return {
        "id": incident.pk,
        "withdrawn_at": incident.withdrawn_at,
        "resource": incident.resource.name,
        "started_at": incident.started_at,
        "ended_at": incident.ended_at,
        "peak_value": incident.peak_value,
        "threshold": incident.threshold,
        "windows": incident.windows,
        "stalled_windows": incident.stalled_windows,
        "peak": level_text(incident.peak_value, incident.resource.kind),
        "allowed": level_text(incident.threshold, incident.resource.kind),
        "victims": incident.victims,
        "aggressors": incident.culprits,
        "signals": incident.signals,
        "victim_names": listed([workload_words(item["workload"]) for item in incident.victims])
        or None,
        "aggressor_names": listed([workload_words(item["workload"]) for item in incident.culprits])
        or None,
        "load_from_outside": comes_from_outside(incident),
        "maintenance_window": muting.maintenance,
        "maintenance_window_reason": muting.reason,
    }
