"""`sluice check-in`: say outside at once how Sluice is, and show what came of it."""  # noqa: N999  its name

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from accounts.management.product_command import PrintingCommand, add_json_option


class Command(PrintingCommand):
    help = (
        "Look at Sluice as the scheduled check-in does, tell the receiver of SLUICE_CHECK_IN_URL, "
        "and say what it answered. Exit status 1 if something is wrong or nobody took it"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_json_option(parser)

    def handle(self, *_: Any, **options: Any) -> None:
        # It needs parts that other commands do without.
        from advisor.reports.check_in import check_in

        told = check_in(now=timezone.now(), at_once=True)
        if told is None:
            raise CommandError("no address is set; state SLUICE_CHECK_IN_URL")
        if options["as_json"]:
            self.show_json(
                {
                    "faults": list(told.faults),
                    "was_taken": told.was_taken,
                    "answer": told.answer,
                }
            )
        else:
            for fault in told.faults:
                self.stdout.write(f"fault: {fault}")
            said = "a fault" if told.faults else "healthy"
            self.stdout.write(f"said: {said}; {told.answer}")
        if told.faults or not told.was_taken:
            raise SystemExit(1)
