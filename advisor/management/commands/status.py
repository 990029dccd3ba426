"""`sluice status`: what is congested, stalled or unknown now, and the health of Sluice itself."""

from __future__ import annotations

from typing import Any

from django.utils import timezone

from accounts.models import Organisation
from advisor.management.product_command import ProductCommand
from advisor.management.status_document import status_document
from advisor.management.status_exit import MEANING


class Command(ProductCommand):
    help = (
        "Show the state of every resource, with its latency or load against the threshold, the "
        "policies that are not in force or do not hold, and "
        f"the health of Sluice itself, which does not change the exit status. {MEANING}"
    )

    def run(self, *, organisation: Organisation, **options: Any) -> None:
        found = status_document(organisation, now=timezone.now(), with_installation=True)
        if options["as_json"]:
            self.show_json({"resources": found.resources, "health": found.health})
        else:
            self.stdout.write(found.text)
        if found.exit_status:
            raise SystemExit(int(found.exit_status))
