"""`sluice apply`: take a policy file over."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from accounts.actor import COMMAND_LINE
from accounts.models import Organisation
from advisor.decisions.policy_file.apply import apply_policy_file, plan_policy_file
from advisor.decisions.policy_file.decide.difference import Change, removals, units_of
from advisor.decisions.policy_file.removals import require_leave
from advisor.management.policy_file_command import SECTIONS, add_file_argument, read_beside
from advisor.management.policy_plan_text import plan_json, plan_text
from advisor.management.product_command import ProductCommand


class Command(ProductCommand):
    help = (
        "Take a policy file over in one transaction, after the plan is shown; asks before "
        f"anything is removed. {SECTIONS} No host is changed: that takes an approved policy"
    )

    def add_own_arguments(self, parser: ArgumentParser) -> None:
        add_file_argument(parser)
        parser.add_argument("--yes", action="store_true", help="remove without a question")
        parser.add_argument(
            "--allow-removals",
            action="store_true",
            help="take over a file that removes more than half of what is stated",
        )

    def run(self, *, organisation: Organisation, **options: Any) -> None:
        read, present = read_beside(organisation, options["file"])
        now = timezone.now()
        changes = plan_policy_file(organisation, read, now=now)
        if not options["as_json"]:
            self.stdout.write(plan_text(changes))
        if not options["allow_removals"]:
            require_leave(read.document, present, changes)
        if not options["yes"]:
            _ask(changes)
        if changes:
            apply_policy_file(organisation, read, expected=changes, actor=COMMAND_LINE, now=now)
        if options["as_json"]:
            self.show_json(
                {
                    "applied": True,
                    **plan_json(changes, {**present.units, **units_of(read.document)}),
                }
            )
        elif changes:
            self.stdout.write("Stated. Hosts change when a policy is approved.")


def _ask(changes: Sequence[Change]) -> None:
    gone = removals(changes)
    if not gone:
        return
    if not sys.stdin.isatty():
        raise CommandError(
            f"the file removes {gone} things and nobody can be asked; nothing was done. "
            "Add --yes if that is meant"
        )
    if input(f"Remove {gone} things? [y/N] ").strip().lower() not in ("y", "yes"):
        raise CommandError("nothing was done")
