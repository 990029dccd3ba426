"""`sluice status`: what is congested now."""

from __future__ import annotations

from typing import Any

from django.utils import timezone

from advisor.management.product_command import ProductCommand, level_text
from advisor.models import Resource, State
from advisor.pipeline.muting import muted_resources
from ingest.models import Organisation


class Command(ProductCommand):
    help = (
        "What is congested now, by latency or load against what is allowed; exit status 1 if "
        "anything is that no maintenance window explains"
    )

    def run(self, *, organisation: Organisation, **options: Any) -> None:
        resources = Resource.objects.filter(organisation=organisation).select_related("status")
        planned = muted_resources(organisation, now=timezone.now())
        rows = [_row(resource, planned.get(resource.pk)) for resource in resources]
        self.show(
            rows,
            as_json=options["as_json"],
            columns=[
                "resource",
                "state",
                "since",
                "level",
                "allowed",
                "maintenance_window",
                "reason",
            ],
            empty="no resources yet; they appear with the first samples",
        )
        if any(row["state"] == State.CONGESTED and not row["maintenance_window"] for row in rows):
            raise SystemExit(1)


def _row(resource: Resource, maintenance_window: str | None) -> dict[str, Any]:
    status = getattr(resource, "status", None)
    return {
        "resource": resource.name,
        "kind": resource.kind,
        "state": status.state if status else State.UNKNOWN,
        "since": status.state_since if status else None,
        "value": status.value if status else None,
        "threshold": status.threshold if status else resource.threshold,
        "level": level_text(status.value, resource.kind) if status else None,
        "allowed": level_text(status.threshold if status else resource.threshold, resource.kind),
        "reason": status.reason if status else "not looked at yet",
        "maintenance_window": maintenance_window,
        "advice_gap": status.advice_gap if status else "",
        "other_advice_gaps": status.other_advice_gaps if status else {},
    }
