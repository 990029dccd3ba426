"""`sluice episodes`: when something was congested, who suffered and who caused it."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from advisor.management.product_command import ProductCommand
from advisor.models import Episode
from ingest.models import Organisation


class Command(ProductCommand):
    help = "List congestion episodes, newest first"

    def add_own_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--open", action="store_true", help="only those that still go on")

    def run(self, *, organisation: Organisation, **options: Any) -> None:
        rows = Episode.objects.filter(organisation=organisation).select_related("resource")
        if options["open"]:
            rows = rows.filter(ended_at=None)
        self.show(
            [_row(episode) for episode in rows[:100]],
            as_json=options["as_json"],
            columns=["id", "resource", "started_at", "ended_at", "peak_value", "threshold",
                     "victim_names", "aggressor_names"],
            empty="no episodes",
        )  # fmt: skip


def _row(episode: Episode) -> dict[str, Any]:
    return {
        "id": episode.pk,
        "resource": episode.resource.name,
        "started_at": episode.started_at,
        "ended_at": episode.ended_at,
        "peak_value": episode.peak_value,
        "threshold": episode.threshold,
        "victims": episode.victims,
        "aggressors": episode.aggressors,
        "victim_names": ", ".join(item["workload"] for item in episode.victims),
        "aggressor_names": ", ".join(item["workload"] for item in episode.aggressors),
    }
