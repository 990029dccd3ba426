"""`sluice snooze`: put a recommendation off; it comes back."""

from __future__ import annotations

from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from accounts.models import Organisation
from advisor.decisions.policy_file.decide.quantities import parse_length
from advisor.decisions.recommendation_steps import LONGEST_SNOOZE, snooze
from advisor.management.commands.approve import find_recommendation
from advisor.management.product_command import ProductCommand, find_user


class Command(ProductCommand):
    help = "Put a recommendation off; it comes back, and can be decided meanwhile too"

    def add_own_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("id", type=int, help="its id in: sluice recommendations")
        parser.add_argument("--user", required=True, help="who: an operator or administrator")
        parser.add_argument(
            "--for", required=True, dest="length", help="such as 90min, 8h or 2d; at most 30d"
        )
        parser.add_argument("--reason", default="", help="a word for later readers")

    def run(self, *, organisation: Organisation, **options: Any) -> None:
        now, text = timezone.now(), options["length"]
        length_s = parse_length(text)
        if length_s is None:
            raise CommandError(f'"{text}" is not a length; write it like 90min, 8h or 2d')
        longest_s = LONGEST_SNOOZE.total_seconds() + 1
        row = snooze(
            recommendation=find_recommendation(organisation, options["id"]),
            user=find_user(organisation, options["user"]),
            until=now + timedelta(seconds=min(length_s, longest_s)),
            reason=options["reason"],
            now=now,
        )
        if options["as_json"]:
            self.show_json({"id": row.pk, "state": row.state, "until": row.snoozed_until})
        else:
            self.stdout.write(
                f"Put off until {row.snoozed_until:%Y-%m-%d %H:%M} UTC: {row.summary}"
            )
