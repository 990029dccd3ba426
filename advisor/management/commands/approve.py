"""`sluice approve`: make a recommendation a policy, or accept its advice."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from accounts.models import Organisation
from advisor.decisions.decide import approve
from advisor.decisions.kubernetes.class_changes import asked_changes_text
from advisor.decisions.ladder import CONFIRMED, confirm_first
from advisor.decisions.moving import asked_text
from advisor.history.policy_state import policy_state
from advisor.management.product_command import ProductCommand, find_user
from advisor.models import Recommendation
from advisor.queries.advice_detail import advice_detail


class Command(ProductCommand):
    help = "Approve a recommendation: it becomes a policy version that agents enforce"

    def add_own_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("id", type=int, help="its id in: sluice recommendations")
        parser.add_argument(
            "--user", required=True, help="who approves: an operator or administrator"
        )

    def run(self, *, organisation: Organisation, **options: Any) -> None:
        found = find_recommendation(organisation, options["id"])
        user, now = find_user(organisation, options["user"]), timezone.now()
        if confirm_first(recommendation=found, user=user, now=now):
            shown = {"id": found.pk, "confirmed_by": options["user"]}
            self.show_json(shown) if options["as_json"] else self.stdout.write(CONFIRMED)
            return
        policy = approve(recommendation=found, user=user, now=now)
        state = policy_state(policy, now=timezone.now()) if policy else None
        if options["as_json"]:
            self.show_json(
                {
                    "resource": found.resource.name,
                    "topic": found.topic,
                    "version": policy.version if policy else None,
                    "state": state.link.value if state else None,
                    "gap": state.gap if state else "",
                }
            )
        elif policy is not None and state is not None:
            self.stdout.write(
                f"{policy} is {state.text}. See: sluice policy {policy.resource.name}. "
                f"Undo with: sluice rollback {policy.resource.name} --user {options['user']}"
            )
            if asked := asked_changes_text(found):
                self.stdout.write(asked)
        else:
            self.stdout.write(f"Approved: {found.summary}")
            if asked := asked_text(found) or asked_changes_text(found):
                self.stdout.write(asked)
            elif advice := advice_detail(found):
                about = advice.commitment
                self.stdout.write(f"{about.does} {about.does_not}\n{about.undo}")


def find_recommendation(organisation: Organisation, pk: int) -> Recommendation:
    """The organisation's recommendation with this number."""
    found = Recommendation.objects.filter(organisation=organisation, pk=pk).first()
    if found is None:
        raise CommandError(f"there is no recommendation {pk}; see: sluice recommendations")
    return found
