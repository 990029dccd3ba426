"""`sluice episodes`: when something was congested, who suffered and who caused it."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from advisor.core.canonical import dumps
from advisor.core.detection.planned_jobs import PlannedJob
from advisor.history.external_load import comes_from_outside
from advisor.management.episode_text import study_text
from advisor.management.product_command import ProductCommand, level_text
from advisor.models import Episode
from advisor.pipeline.attribute import study_episode
from advisor.pipeline.muting import jobs_of, muting_of
from ingest.models import Organisation


class Command(ProductCommand):
    help = "List congestion episodes, newest first, or say who caused one"

    def add_own_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("id", nargs="?", type=int, help="say who caused this one")
        parser.add_argument("--open", action="store_true", help="only those that still go on")

    def run(self, *, organisation: Organisation, **options: Any) -> None:
        rows = Episode.objects.filter(organisation=organisation).select_related("resource")
        jobs, now = jobs_of(organisation), timezone.now()
        if options["id"] is not None:
            found = rows.filter(pk=options["id"]).first()
            if found is None:
                raise CommandError(f"there is no episode {options['id']}; see: sluice episodes")
            self._explain(found, _row(found, jobs, now), now, as_json=options["as_json"])
            return
        if options["open"]:
            rows = rows.filter(ended_at=None)
        self.show(
            [_row(episode, jobs, now) for episode in rows[:100]],
            as_json=options["as_json"],
            columns=["id", "resource", "started_at", "ended_at", "peak", "allowed",
                     "victim_names", "aggressor_names", "planned_job"],
            empty="no episodes: nothing was congested since samples arrive",
        )  # fmt: skip

    def _explain(
        self, episode: Episode, row: dict[str, Any], now: datetime, *, as_json: bool
    ) -> None:
        study = study_episode(episode=episode, now=now)
        if as_json:
            self.show_json(row | {"study": json.loads(dumps(study))})
            return
        self.stdout.write(study_text(episode, row, study))


def _row(episode: Episode, jobs: Sequence[PlannedJob], now: datetime) -> dict[str, Any]:
    muting = muting_of(episode, jobs, now=now)
    return {
        "id": episode.pk,
        "resource": episode.resource.name,
        "started_at": episode.started_at,
        "ended_at": episode.ended_at,
        "peak_value": episode.peak_value,
        "threshold": episode.threshold,
        "peak": level_text(episode.peak_value, episode.resource.kind),
        "allowed": level_text(episode.threshold, episode.resource.kind),
        "victims": episode.victims,
        "aggressors": episode.aggressors,
        "signs": episode.signs,
        "victim_names": ", ".join(item["workload"] for item in episode.victims) or None,
        "aggressor_names": ", ".join(item["workload"] for item in episode.aggressors) or None,
        "load_from_outside": comes_from_outside(episode),
        "planned_job": muting.job,
        "planned_job_reason": muting.reason,
    }
