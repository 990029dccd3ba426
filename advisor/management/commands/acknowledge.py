"""`sluice acknowledge`: say that somebody looks after a recommendation."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.utils import timezone

from accounts.models import Organisation
from advisor.decisions.recommendation_steps import acknowledge
from advisor.management.commands.approve import find_recommendation
from advisor.management.product_command import ProductCommand, find_user


class Command(ProductCommand):
    help = "Say that somebody looks after a recommendation; it stays open"

    def add_own_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("id", type=int, help="its id in: sluice recommendations")
        parser.add_argument("--user", required=True, help="who: an operator or administrator")
        parser.add_argument("--reason", default="", help="a word for later readers")

    def run(self, *, organisation: Organisation, **options: Any) -> None:
        row = acknowledge(
            recommendation=find_recommendation(organisation, options["id"]),
            user=find_user(organisation, options["user"]),
            reason=options["reason"],
            now=timezone.now(),
        )
        if options["as_json"]:
            self.show_json({"id": row.pk, "state": row.state})
        else:
            self.stdout.write(f"Acknowledged: {row.summary}")
