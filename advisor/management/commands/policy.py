"""`sluice policy`: what is in force, and what was."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from accounts.models import Organisation
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
        self.show(
            [_row(policy) for policy in rows],
            as_json=options["as_json"],
            columns=["resource", "version", "workloads", "by", "created_at"],
            empty="no policy yet; approve a recommendation",
        )


def _row(policy: Policy) -> dict[str, Any]:
    return {
        "resource": policy.resource.name,
        "version": policy.version,
        "allocations": policy.allocations,
        "workloads": len(policy.allocations),
        "recommendation": policy.recommendation_id,
        "rollback_of": policy.rollback_of.version if policy.rollback_of else None,
        "by": policy.created_by.get_username() if policy.created_by else None,
        "created_at": policy.created_at,
    }
