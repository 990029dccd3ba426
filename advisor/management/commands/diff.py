"""`sluice diff`: a policy file beside what is stated here, line by line."""

from __future__ import annotations

from argparse import ArgumentParser
from dataclasses import fields, replace
from difflib import unified_diff
from typing import Any

from accounts.models import Organisation
from advisor.decisions.policy_file.decide.difference import difference, units_of
from advisor.decisions.policy_file.decide.document import PolicyFile
from advisor.decisions.policy_file.decide.write import policy_file_text
from advisor.management.policy_file_command import add_file_argument, read_beside
from advisor.management.policy_plan_text import CHANGES_EXIT, plan_json
from advisor.management.product_command import ProductCommand


class Command(ProductCommand):
    help = (
        "Compare a policy file with what is stated here, line by line as sluice export writes "
        f"both. Exit status: 0 nothing differs, {CHANGES_EXIT} something does, 1 it is refused"
    )

    def add_own_arguments(self, parser: ArgumentParser) -> None:
        add_file_argument(parser)

    def run(self, *, organisation: Organisation, **options: Any) -> None:
        read, present = read_beside(organisation, options["file"])
        changes = difference(read.document, present)
        if options["as_json"]:
            self.show_json(plan_json(changes, {**present.units, **units_of(read.document)}))
        elif changes:
            here = _same_sections(present.document, read.document)
            before, after = (
                policy_file_text(one, units=present.units).splitlines()
                for one in (here, read.document)
            )
            lines = unified_diff(before, after, "stated here", options["file"], lineterm="")
            self.stdout.write("\n".join(lines))
        if changes:
            raise SystemExit(CHANGES_EXIT)


def _same_sections(document: PolicyFile, of: PolicyFile) -> PolicyFile:
    """The document without the sections that the other leaves out."""
    left_out = [one.name for one in fields(of) if getattr(of, one.name) is None]
    nothing: dict[str, Any] = dict.fromkeys(left_out)
    return replace(document, **nothing)
