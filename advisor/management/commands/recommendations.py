"""`sluice recommendations`: what is advised, and why."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from advisor.management.product_command import ProductCommand
from advisor.models import Recommendation, RecommendationState, ResourceStatus
from ingest.models import Organisation


class Command(ProductCommand):
    help = "List recommendations, or explain one with everything it rests on"

    def add_own_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("id", nargs="?", type=int, help="explain this one")
        parser.add_argument("--state", choices=RecommendationState.values)

    def run(self, *, organisation: Organisation, **options: Any) -> None:
        rows = Recommendation.objects.filter(organisation=organisation).select_related("resource")
        if options["id"] is not None:
            found = rows.filter(pk=options["id"]).first()
            if found is None:
                raise CommandError(f"there is no recommendation {options['id']}")
            self._explain(found, as_json=options["as_json"])
            return
        if options["state"]:
            rows = rows.filter(state=options["state"])
        self.show(
            [as_row(row) for row in rows[:100]],
            as_json=options["as_json"],
            columns=["id", "state", "resource", "summary", "created_at"],
            empty=_nothing_yet(organisation),
        )

    def _explain(self, found: Recommendation, *, as_json: bool) -> None:
        answer = json.loads(found.answer)
        whole = as_row(found) | {"answer": answer, "inputs": json.loads(found.inputs)}
        if as_json:
            self.show_json(whole)
            return
        self.stdout.write(f"{found.summary}\n\n{json.dumps(answer, indent=2)}")


def as_row(row: Recommendation) -> dict[str, Any]:
    """What lists show of a recommendation."""
    return {
        "id": row.pk,
        "state": row.state,
        "resource": row.resource.name,
        "kind": row.kind,
        "summary": row.summary,
        "created_at": row.created_at,
        "expires_at": row.expires_at,
        "decided_at": row.decided_at,
        "decision_reason": row.decision_reason,
    }


def _nothing_yet(organisation: Organisation) -> str:
    gaps = ResourceStatus.objects.filter(resource__organisation=organisation).exclude(
        advice_gap=""
    )
    lines = [f"  {status.resource}: {status.advice_gap}" for status in gaps]
    return "\n".join(["no recommendations", *lines])
