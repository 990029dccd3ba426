"""`sluice export`: what people stated, as a policy file."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from accounts.models import Organisation
from advisor.decisions.policy_file.decide.difference import units_of
from advisor.decisions.policy_file.decide.write import plain_record, policy_file_text
from advisor.decisions.policy_file.present import exported
from advisor.management.policy_file_command import write_whole
from advisor.management.product_command import ProductCommand


class Command(ProductCommand):
    help = (
        "Print resources, tiers, allocations, rules, maintenance windows and the alarm budget "
        "as a policy file, which sluice apply takes over here or elsewhere"
    )

    def add_own_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--output", type=Path, metavar="FILE", help="write it to this file")

    def run(self, *, organisation: Organisation, **options: Any) -> None:
        document = exported(organisation)
        if options["as_json"]:
            self.show_json(plain_record(document, units_of(document)))
            return
        text = policy_file_text(document, units={})
        if options["output"] is None:
            self.stdout.write(text, ending="")
        else:
            write_whole(options["output"], text)
