"""`sluice quota`: what an organisation may send and have."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from accounts.management.product_command import Noted, ProductCommand, add_verb
from accounts.models import Organisation
from accounts.services.organisation import set_quotas
from ingest.core.quota.limits import WORDS, Quota
from ingest.quotas.figures import quota_figures

NO_QUOTA, BY_DEFAULT = "none", "default"


class Command(ProductCommand):
    help = (
        "Show the quotas of an organisation, what it uses and when one was last used up, or change"
        " them"
    )

    def add_own_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", title="verbs")
        add_verb(verbs, "list", help="every quota with its use (the default)")
        change = add_verb(verbs, "set", help="change quotas; those that are not named stay")
        for quota in Quota:
            change.add_argument(
                _option(quota),
                type=_quota,
                dest=quota.value,
                metavar="N",
                help=f'most {WORDS[quota]}; "{NO_QUOTA}": no quota; "{BY_DEFAULT}": that of the'
                " installation",
            )

    def noted(self, options: Mapping[str, Any]) -> Noted | None:
        if options["verb"] != "set":
            return None
        given = [f"{one.value} {options[one.value]}" for one in Quota if options[one.value]]
        return Noted(action="set quotas", subject=", ".join(given))

    def run(self, *, organisation: Organisation, **options: Any) -> None:
        if options["verb"] == "set":
            given = {
                quota.value: options[quota.value]
                for quota in Quota
                if options[quota.value] is not None
            }
            if not given:
                raise CommandError(f"name a quota: {', '.join(map(_option, Quota))}")
            set_quotas(
                organisation,
                {name: None if said == BY_DEFAULT else int(said) for name, said in given.items()},
            )
        rows = [asdict(one) for one in quota_figures(organisation, now=timezone.now())]
        self.show(
            rows,
            as_json=options["as_json"],
            columns=["quota", "limit", "used", "refused_bodies", "lost_points", "last_hit_at"],
            empty="",
        )


def _option(quota: Quota) -> str:
    return f"--{quota.value.replace('_', '-')}"


def _quota(text: str) -> str:
    """A number as text, or the word for the default."""
    if text == BY_DEFAULT:
        return text
    if text == NO_QUOTA:
        return "0"
    if text.isascii() and text.isdecimal() and 0 < int(text) < 2**63:
        return text
    raise ArgumentTypeError(f'"{text}" is no whole number above 0, "{NO_QUOTA}" or "{BY_DEFAULT}"')
