"""`sluice audit`: who did what, and whether that record is whole."""

from __future__ import annotations

from argparse import ArgumentParser
from itertools import islice
from typing import Any

from accounts.errors import AccountsError
from accounts.management.product_command import ProductCommand, add_verb
from accounts.models import AuditEntry, Organisation
from accounts.services.audit import verify

SHOWN = 100


class Command(ProductCommand):
    help = "List who did what, newest first, or verify that nobody changed that record"

    def add_own_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", title="verbs")
        add_verb(verbs, "list", help=f"the newest {SHOWN} entries (the default)")
        add_verb(verbs, "verify", help="check the chain of hashes; status 1 if it is broken")

    def run(self, *, organisation: Organisation, **options: Any) -> None:
        if options["verb"] == "verify":
            self._verify(organisation, as_json=options["as_json"])
            return
        entries = AuditEntry.objects.filter(organisation=organisation).order_by("-number")
        self.show(
            [_row(entry) for entry in islice(entries.iterator(), SHOWN)],
            as_json=options["as_json"],
            columns=["number", "at", "actor", "address", "action", "subject"],
            empty="nothing was done yet",
        )

    def _verify(self, organisation: Organisation, *, as_json: bool) -> None:
        found = verify(organisation)
        if as_json:
            broken = found.broken and {"number": found.broken.number, "why": found.broken.reason}
            self.show_json({"entries": found.entries, "head": found.head, "broken": broken})
        if found.broken is not None:
            raise AccountsError(
                f"the audit chain of {organisation} is broken at entry {found.broken.number}: "
                f"{found.broken.reason}"
            )
        if not as_json:
            self.stdout.write(
                f"{found.entries} entries hold; the newest is {found.head or 'none'}"
            )


def _row(entry: AuditEntry) -> dict[str, Any]:
    return {
        "number": entry.number,
        "at": entry.at,
        "actor": entry.actor,
        "address": entry.address,
        "action": entry.action,
        "subject": entry.subject,
        "details": entry.details,
    }
