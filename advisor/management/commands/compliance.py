"""`sluice compliance`: whether each policy holds, by measurement."""

from __future__ import annotations

from typing import Any

from django.utils import timezone

from accounts.models import Organisation
from advisor.core.compliance import control_words
from advisor.core.quantity import format_rate
from advisor.history.policy_state import PolicyState, newest_policies, policy_states
from advisor.history.second_witness import observed_rates
from advisor.management.policy_sentences import policy_sentences, state_document
from advisor.management.product_command import ProductCommand
from advisor.models import ComplianceRecord
from advisor.models.workload import allocation_pk


class Command(ProductCommand):
    help = "Show desired, applied and measured values of every allocation"

    def run(self, *, organisation: Organisation, **options: Any) -> None:
        newest = list(
            ComplianceRecord.objects.filter(organisation=organisation)
            .order_by("resource_id", "workload_id", "host_id", "-reported_at")
            .distinct("resource_id", "workload_id", "host_id")
            .select_related("resource", "workload", "host", "policy")
        )
        resources = {record.resource_id: record.resource for record in newest}
        policies = newest_policies(resources)
        states = policy_states(policies, now=timezone.now())
        by_resource = {policy.resource_id: states[policy.pk] for policy in policies}
        as_json = options["as_json"]
        # Only programs are told it.
        observed = observed_rates(newest) if as_json else {}
        self.show(
            [
                _row(record, by_resource.get(record.resource_id), observed.get(record.pk))
                for record in newest
            ],
            as_json=as_json,
            columns=[
                *("resource", "workload", "host"),
                *("outcome", "by_control", "in_force", "got", "verdict", "why"),
            ],
            empty="no reports from agents yet",
        )
        if not as_json:
            said = policy_sentences((policy, states[policy.pk]) for policy in policies)
            self.stdout.write(said, ending="\n" if said else "")


def _row(
    record: ComplianceRecord, state: PolicyState | None, observed: float | None
) -> dict[str, Any]:
    """`in_force` is of the newest policy and this allocation, whatever the report was about."""
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
        "observed": observed,
        "got": format_rate(record.measured, record.resource.unit),
        "outcome": record.outcome,
        "in_force": state is not None and allocation_pk(record.allocation) in state.allocations,
        **state_document(state),
        "reason": record.reason,
        "controls": record.controls,
        "by_control": control_words(record.controls),
        "verdict": record.verdict,
        "why": record.verdict_reason or record.reason,
    }
