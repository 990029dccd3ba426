"""`sluice secrets`: which keys encrypt the secrets in the database, and encrypt them anew."""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from accounts.management.product_command import PrintingCommand, add_json_option
from accounts.sealed_columns import count, places, seal_anew
from accounts.sealing import SealedBy


class Command(PrintingCommand):
    help = "Check by which keys the secrets in the database are encrypted, or encrypt them anew"

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_json_option(parser)
        verbs = parser.add_subparsers(dest="verb", title="verbs")
        for verb, words in (
            ("check", "count them by key (the default); status 1 if a key is lost"),
            ("reseal", "encrypt by the newest key what an older one encrypted"),
            ("new-key", "print a new key, to be the first in the file or setting"),
        ):
            add_json_option(verbs.add_parser(verb, help=words), default=SUPPRESS)

    def handle(self, *_: Any, **options: Any) -> None:
        verb, as_json = options["verb"], options["as_json"]
        if verb == "new-key":
            self._print_new_key(as_json=as_json)
            return
        if verb == "reseal":
            for place in places():
                seal_anew(place)
        found = {place: count(place) for place in places()}
        self.show(
            [
                {"where": str(place), **{str(by): counted[by] for by in SealedBy}}
                for place, counted in found.items()
            ],
            as_json=as_json,
            columns=["where", *map(str, SealedBy)],
            empty="there are no secrets",
        )
        if lost := sum(counted[SealedBy.LOST] for counted in found.values()):
            raise CommandError(
                f"{lost} secrets were encrypted by a key that this server does not have; put the "
                "key back from a backup, or state them anew: docs/operations.md, Keys"
            )

    def _print_new_key(self, *, as_json: bool) -> None:
        from cryptography.fernet import Fernet

        key = Fernet.generate_key().decode()
        if as_json:
            self.show_json({"key": key})
        else:
            self.stdout.write(key)
