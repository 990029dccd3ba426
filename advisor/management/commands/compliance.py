"""`sluice compliance`: whether each policy holds, by measurement."""

from __future__ import annotations

from typing import Any

from accounts.models import Organisation
from advisor.core.compliance import control_words
from advisor.core.quantity import format_rate
from advisor.management.product_command import ProductCommand
from advisor.models import ComplianceRecord


class Command(ProductCommand):
    help = "Show desired, applied and measured values of every allocation"

    def run(self, *, organisation: Organisation, **options: Any) -> None:
        newest = (
            ComplianceRecord.objects.filter(organisation=organisation)
            .order_by("resource_id", "workload_id", "host_id", "-reported_at")
            .distinct("resource_id", "workload_id", "host_id")
            .select_related("resource", "workload", "host", "policy")
        )
        self.show(
            [_row(record) for record in newest],
            as_json=options["as_json"],
            columns=[
                *("resource", "workload", "host"),
                *("outcome", "by_control", "got", "verdict", "why"),
            ],
            empty="no reports from agents yet",
        )


def _row(record: ComplianceRecord) -> dict[str, Any]:
    return {
        "resource": record.resource.name,
        "workload": record.workload.name,
        "host": record.host.name,
        "revision": record.revision,
        "policy_version": record.policy.version if record.policy else None,
        "reported_at": record.reported_at,
        "desired": record.desired,
        "applied": record.applied,
        "read_back": record.read_back,
        "measured": record.measured,
        "observed": record.observed,
        "got": format_rate(record.measured, record.resource.unit),
        "outcome": record.outcome,
        "reason": record.reason,
        "controls": record.controls,
        "by_control": control_words(record.controls),
        "verdict": record.verdict,
        "why": record.verdict_reason or record.reason,
    }
