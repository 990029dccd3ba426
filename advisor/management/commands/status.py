"""`sluice status`: what is congested now."""

from __future__ import annotations

from typing import Any

from advisor.management.product_command import ProductCommand
from advisor.models import Resource, State
from ingest.models import Organisation


class Command(ProductCommand):
    help = "What is congested now; exit status 1 if anything is"

    def run(self, *, organisation: Organisation, **options: Any) -> None:
        resources = Resource.objects.filter(organisation=organisation).select_related("status")
        rows = [_row(resource) for resource in resources]
        self.show(
            rows,
            as_json=options["as_json"],
            columns=["resource", "state", "since", "value", "threshold", "reason"],
            empty="no resources yet; they appear with the first samples",
        )
        if any(row["state"] == State.CONGESTED for row in rows):
            raise SystemExit(1)


def _row(resource: Resource) -> dict[str, Any]:
    status = getattr(resource, "status", None)
    return {
        "resource": resource.name,
        "kind": resource.kind,
        "state": status.state if status else State.UNKNOWN,
        "since": status.state_since if status else None,
        "value": status.value if status else None,
        "threshold": status.threshold if status else resource.threshold,
        "reason": status.reason if status else "not looked at yet",
        "advice_gap": status.advice_gap if status else "",
    }
