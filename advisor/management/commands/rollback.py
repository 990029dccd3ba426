"""`sluice rollback`: return to an earlier policy version, or to none."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.utils import timezone

from accounts.models import Organisation
from advisor.decisions.decide import rollback
from advisor.history.policy_state import policy_state
from advisor.management.product_command import ProductCommand, find_resource, find_user


class Command(ProductCommand):
    help = "Return to an earlier policy version, or to the settings before the first"

    def add_own_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("resource")
        parser.add_argument(
            "--user", required=True, help="who decides: an operator or administrator"
        )
        parser.add_argument(
            "--to-version",
            type=int,
            help="version to return to; 0 is no policy; default: the previous one",
        )

    def run(self, *, organisation: Organisation, **options: Any) -> None:
        policy = rollback(
            resource=find_resource(organisation, options["resource"]),
            user=find_user(organisation, options["user"]),
            now=timezone.now(),
            to_version=options["to_version"],
        )
        state = policy_state(policy, now=timezone.now())
        if options["as_json"]:
            self.show_json(
                {
                    "resource": policy.resource.name,
                    "version": policy.version,
                    "state": state.link.value,
                    "gap": state.gap,
                }
            )
        elif policy.allocations:
            self.stdout.write(f"{policy} repeats the earlier allocations and is {state.text}")
        else:
            self.stdout.write(
                f"{policy} has no allocations: agents restore the settings they found"
            )
