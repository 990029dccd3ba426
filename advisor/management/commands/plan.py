"""`sluice plan`: what a policy file would change."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.utils import timezone

from accounts.models import Organisation
from advisor.decisions.policy_file.apply import plan_policy_file
from advisor.decisions.policy_file.decide.difference import units_of
from advisor.management.policy_file_command import SECTIONS, add_file_argument, read_beside
from advisor.management.policy_plan_text import CHANGES_EXIT, plan_json, plan_text
from advisor.management.product_command import ProductCommand


class Command(ProductCommand):
    help = (
        f"Show what a policy file would make, change and remove, and change nothing. {SECTIONS} "
        f"Exit status: 0 nothing differs, {CHANGES_EXIT} something does, 1 it is refused"
    )

    def add_own_arguments(self, parser: ArgumentParser) -> None:
        add_file_argument(parser)

    def run(self, *, organisation: Organisation, **options: Any) -> None:
        read, present = read_beside(organisation, options["file"])
        changes = plan_policy_file(organisation, read, now=timezone.now())
        if options["as_json"]:
            self.show_json(plan_json(changes, {**present.units, **units_of(read.document)}))
        else:
            self.stdout.write(plan_text(changes))
        if changes:
            raise SystemExit(CHANGES_EXIT)
