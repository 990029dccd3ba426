"""`sluice rules`: rules that replace typing."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from accounts.management.product_command import Noted, add_verb
from accounts.models import Organisation
from advisor.decisions.found.rules import RulesError, set_rules, stated_rules
from advisor.management.product_command import ProductCommand


class Command(ProductCommand):
    help = "Show or set the rules that give tiers and say which devices are one"

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        verbs = parser.add_subparsers(dest="verb", metavar="show|set")
        add_verb(verbs, "show", help="show the rules (the default)")
        setting = add_verb(verbs, "set", help="take the rules of a file instead of those before")
        setting.add_argument("file", type=Path, help="a text file, one rule on each line")

    def noted(self, options: Mapping[str, Any]) -> Noted | None:
        if options.get("verb") != "set":
            return None
        return Noted(action="state rules", subject=str(options["file"]))

    def run(self, *, organisation: Organisation, **options: Any) -> None:
        if options.get("verb") == "set":
            self._set(organisation, options["file"])
        rows = [{"rule": line} for line in stated_rules(organisation).splitlines() if line.strip()]
        self.show(
            rows,
            as_json=options["as_json"],
            columns=["rule"],
            empty="no rules; every workload that is found has the tier medium",
        )

    def _set(self, organisation: Organisation, file: Path) -> None:
        try:
            text = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise CommandError(f"{file} cannot be read: {error}") from error
        try:
            set_rules(organisation, text, now=timezone.now())
        except RulesError as error:
            raise CommandError(f"{file}: nothing was changed\n{error}") from error
