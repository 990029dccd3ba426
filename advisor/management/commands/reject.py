"""`sluice reject`: close a recommendation with a reason."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.utils import timezone

from accounts.models import Organisation
from advisor.decisions.decide import reject
from advisor.decisions.rejection import REJECTION_REASONS, reason_text
from advisor.management.commands.approve import find_recommendation
from advisor.management.product_command import ProductCommand, find_user


class Command(ProductCommand):
    help = "Reject a recommendation with a reason"

    def add_own_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("id", type=int, help="its id in: sluice recommendations")
        parser.add_argument(
            "--user", required=True, help="who rejects: an operator or administrator"
        )
        parser.add_argument("--reason", required=True, help="why not, for later readers")
        parser.add_argument(
            "--because", choices=REJECTION_REASONS, default="", help="the same in words that count"
        )

    def run(self, *, organisation: Organisation, **options: Any) -> None:
        rejected = reject(
            recommendation=find_recommendation(organisation, options["id"]),
            user=find_user(organisation, options["user"]),
            reason=reason_text(options["because"], options["reason"]),
            now=timezone.now(),
        )
        if options["as_json"]:
            self.show_json({"id": rejected.pk, "state": rejected.state})
        else:
            self.stdout.write(f"Rejected: {rejected.summary}")
