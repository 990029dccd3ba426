"""`sluice policy`: policy versions, and how far the newest of each resource has come."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.utils import timezone

from accounts.models import Organisation
from advisor.history.policy_state import PolicyState, newest_policies, policy_states
from advisor.management.product_command import ProductCommand
from advisor.models import Policy


class Command(ProductCommand):
    help = "List policy versions, newest first"

    def add_own_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("resource", nargs="?", help="only this resource")

    def run(self, *, organisation: Organisation, **options: Any) -> None:
        rows = Policy.objects.filter(organisation=organisation).select_related("resource")
        if options["resource"]:
            rows = rows.filter(resource__name=options["resource"])
        newest = newest_policies({policy.resource_id for policy in rows})
        states = policy_states(newest, now=timezone.now())
        self.show(
            [_row(policy, states.get(policy.pk)) for policy in rows],
            as_json=options["as_json"],
            columns=["resource", "version", "state", "workloads", "by", "created_at", "gap"],
            empty="no policy yet; approve a recommendation",
        )


def _row(policy: Policy, state: PolicyState | None) -> dict[str, Any]:
    """Only the newest version has a state; the others were replaced."""
    return {
        "resource": policy.resource.name,
        "version": policy.version,
        "state": state.link.value if state else "replaced",
        "in_force": state.is_in_force if state else False,
        "gap": state.gap if state else "",
        "links": {link.value: at for link, at in state.times.items()} if state else {},
        "capacity": policy.capacity,
        "allocations": policy.allocations,
        "workloads": len(policy.allocations),
        "recommendation": policy.recommendation_id,
        "rollback_of": policy.rollback_of.version if policy.rollback_of else None,
        "by": policy.created_by.get_username() if policy.created_by else None,
        "created_at": policy.created_at,
    }
