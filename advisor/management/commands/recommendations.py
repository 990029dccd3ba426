"""`sluice recommendations`: advice with its reasons."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from accounts.models import Organisation
from advisor.advice.registry import recomputes, variants
from advisor.history.track_record import track_record
from advisor.management.advice_text import next_steps, steps_text
from advisor.management.prediction_text import accuracy_text, calibration_text, prediction_text
from advisor.management.product_command import ProductCommand
from advisor.management.recommendation_text import recommendation_text
from advisor.models import (
    PredictionScore,
    Recommendation,
    RecommendationState,
    ResourceStatus,
)
from advisor.pipeline.recommendation_life import history_of
from advisor.queries.calibration import accuracy_by_origin, calibration_of


class Command(ProductCommand):
    help = "List recommendations, or show one with its evidence"

    def add_own_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("id", nargs="?", type=int, help="show this one with its evidence")
        parser.add_argument(
            "--recompute",
            action="store_true",
            help="recompute it from its stored inputs; the exit status is 1 if the result differs",
        )
        parser.add_argument(
            "--state", choices=RecommendationState.values, help="only in this state"
        )
        parser.add_argument(
            "--kind", choices=[one.name for one in variants()], help="only of this kind"
        )

    def run(self, *, organisation: Organisation, **options: Any) -> None:
        rows = Recommendation.objects.filter(organisation=organisation).select_related("resource")
        if options["id"] is not None:
            found = rows.filter(pk=options["id"]).first()
            if found is None:
                raise CommandError(f"there is no recommendation {options['id']}")
            self._explain(found, options)
            return
        if options["recompute"]:
            raise CommandError("--recompute needs an id: sluice recommendations ID --recompute")
        if options["state"]:
            rows = rows.in_state(options["state"], timezone.now())
        if options["kind"]:
            rows = rows.filter(kind=options["kind"])
        self.show(
            [as_row(row) for row in rows[:100]],
            as_json=options["as_json"],
            columns=["id", "state", "resource", "topic", "kind", "created_at", "summary"],
            empty=_nothing_yet(organisation),
        )
        calibration = calibration_of(organisation)
        if calibration is not None and not options["as_json"]:
            self.stdout.write(f"\n{calibration_text(calibration)}")
        if not options["as_json"] and (
            accuracy := accuracy_text(accuracy_by_origin(organisation))
        ):
            self.stdout.write(f"\n{accuracy}")

    def _explain(self, found: Recommendation, options: dict[str, Any]) -> None:
        same = recomputes(found) if options["recompute"] else None
        if options["as_json"]:
            record = track_record(found)
            whole = as_row(found) | {
                "answer": json.loads(found.answer),
                "inputs": json.loads(found.inputs),
                "score": _score(found),
                "score_gap": found.score_gap,
                "history": [
                    {
                        "step": one.step,
                        "at": one.at,
                        "actor": one.actor,
                        "address": one.address,
                        "reason": one.reason,
                        "until": one.until,
                    }
                    for one in history_of(found)
                ],
                "track_record": None if record is None else asdict(record),
            }
            self.show_json(whole if same is None else whole | {"recomputed_same_bytes": same})
        else:
            self.stdout.write(
                f"{recommendation_text(found)}\n\n{next_steps(found, now=timezone.now())}"
            )
            if steps := steps_text(found):
                self.stdout.write(f"\n{steps}")
            if found.policies.exists():
                self.stdout.write(f"\n{prediction_text(found)}")
            if same is not None:
                what = "identical" if same else "different: another version of Sluice made it"
                self.stdout.write(f"\nRecomputed from its stored inputs: {what}")
        if same is False:
            raise SystemExit(1)


def _score(row: Recommendation) -> dict[str, Any] | None:
    found = PredictionScore.objects.filter(recommendation=row).values().first()
    return None if found is None else {**found}


def as_row(row: Recommendation) -> dict[str, Any]:
    """What lists show of a recommendation."""
    return {
        "id": row.pk,
        "state": row.state,
        "resource": row.resource.name,
        "topic": row.topic,
        "subject": row.subject,
        "kind": row.kind,
        "summary": row.summary,
        "created_at": row.created_at,
        "expires_at": row.expires_at,
        "confirmed_at": row.confirmed_at,
        "decided_at": row.decided_at,
        "decision_reason": row.decision_reason,
    }


def _nothing_yet(organisation: Organisation) -> str:
    found = ResourceStatus.objects.filter(resource__organisation=organisation)
    lines = [
        f"  {status.resource}: {gap}"
        for status in found.select_related("resource")
        for gap in (status.advice_gap, *status.other_advice_gaps.values())
        if gap
    ]
    return "\n".join(["no recommendations", *lines])
