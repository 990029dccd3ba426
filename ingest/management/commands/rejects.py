"""`sluice rejects`: lines that were sent but not stored, and why."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from accounts.management.product_command import ProductCommand
from accounts.models import Organisation
from ingest.models import RejectedLine


class Command(ProductCommand):
    help = "List rejected lines with their reasons, newest first"

    def add_own_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--limit", type=int, default=20, metavar="N", help="show at most N reasons (20)"
        )

    def run(self, *, organisation: Organisation, **options: Any) -> None:
        refused = RejectedLine.objects.filter(organisation=organisation).select_related("token")
        self.show(
            [_row(line) for line in refused[: options["limit"]]],
            as_json=options["as_json"],
            columns=["received_at", "token", "lines", "line_number", "reason"],
            empty="no rejected lines",
        )


def _row(refused: RejectedLine) -> dict[str, Any]:
    return {
        "received_at": refused.received_at,
        "token": refused.token.name if refused.token else None,
        "lines": refused.line_count,
        "line_number": refused.line_number,
        "reason": refused.reason,
        "line": refused.line,
    }
