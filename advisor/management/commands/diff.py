"""`sluice diff`: a policy file beside what is stated here, line by line."""

from __future__ import annotations

from argparse import ArgumentParser
from dataclasses import replace
from difflib import unified_diff
from typing import Any

from accounts.models import Organisation
from advisor.decisions.policy_file.decide.difference import (
    after_changes,
    difference,
    units_of,
)
from advisor.decisions.policy_file.decide.document import PolicyFile
from advisor.decisions.policy_file.decide.write import policy_file_text
from advisor.management.policy_file_command import add_file_argument, read_beside
from advisor.management.policy_plan_text import CHANGES_EXIT, plan_json
from advisor.management.product_command import ProductCommand


class Command(ProductCommand):
    help = (
        "Show line by line how sluice export would change with a policy file. "
        f" Exit status: 0 nothing differs, {CHANGES_EXIT} something does, 1 it is refused"
    )

    def add_own_arguments(self, parser: ArgumentParser) -> None:
        add_file_argument(parser)

    def run(self, *, organisation: Organisation, **options: Any) -> None:
        read, present = read_beside(organisation, options["file"])
        changes = difference(read.document, present)
        if options["as_json"]:
            self.show_json(plan_json(changes, {**present.units, **units_of(read.document)}))
        elif changes:
            after_it = after_changes(present.document, changes)
            before, after = (
                policy_file_text(_without_permissions(one), units={}).splitlines()
                for one in (present.document, after_it)
            )
            lines = unified_diff(
                before, after, "stated here", f"with {options['file']}", lineterm=""
            )
            self.stdout.write("\n".join(lines))
        if changes:
            raise SystemExit(CHANGES_EXIT)


def _without_permissions(document: PolicyFile) -> PolicyFile:
    """Without what is no state: the leave that a file gives for the moment of taking over."""
    allocations = tuple(replace(one, even_if_full=False) for one in document.allocations or ())
    pools = tuple(replace(one, even_if_full=False) for one in document.pools or ())
    return replace(document, allocations=allocations, pools=pools)
