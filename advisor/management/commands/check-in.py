"""`sluice check-in`: say outside at once how Sluice is, and show what came of it."""  # noqa: N999  its name

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from accounts.management.plain_command import PlainCommand


class Command(PlainCommand):
    help = (
        "Look at Sluice as the scheduled check-in does, tell the receiver of SLUICE_CHECK_IN_URL, "
        "and say what it answered. Exit status 1 if something is wrong or nobody took it"
    )

    def handle(self, *_: Any, **__: Any) -> None:
        # It needs parts that other commands do without.
        from advisor.reports.check_in import check_in

        told = check_in(now=timezone.now(), at_once=True)
        if told is None:
            raise CommandError("no address is set; state SLUICE_CHECK_IN_URL")
        for fault in told.faults:
            self.stdout.write(f"fault: {fault}")
        said = "a fault" if told.faults else "healthy"
        self.stdout.write(f"said: {said}; {told.answer}")
        if told.faults or not told.was_taken:
            raise SystemExit(1)
