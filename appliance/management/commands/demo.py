"""`sluice demo`: find, fix and verify contention once, with a table of the results."""

import json
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandError

from accounts.management.plain_command import PlainCommand
from appliance.demo.demo import play
from appliance.demo.errors import DemoError
from appliance.demo.table import table
from appliance.embedded.stop_signals import interrupt_on_stop_signals


class Command(PlainCommand):
    """Runs a reservation experiment on scratch data and checks its result."""

    help = (
        "Run the whole cycle once: three workloads contend for an uplink, one has a reservation. "
        "The exit status is 0 only if every verdict is met. The real kernel needs root."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--json", action="store_true", dest="as_json", help="print JSON for programs"
        )
        parser.add_argument(
            "--simulated", action="store_true", help="use the simulated kernel even as root"
        )

    def handle(self, *_: Any, **options: Any) -> None:
        interrupt_on_stop_signals()
        # With --json, standard output belongs to the program that reads it.
        progress = self.stderr if options["as_json"] else self.stdout
        progress.style_func = None

        def say(text: str) -> None:
            progress.write(text)
            progress.flush()

        try:
            outcome = play(say, simulated=options["simulated"])
        except DemoError as error:
            raise CommandError(str(error)) from error
        if options["as_json"]:
            self.stdout.write(json.dumps({**asdict(outcome), "met": outcome.is_met}, indent=2))
        else:
            self.stdout.write("\n" + table(outcome))
        if not outcome.is_met:
            raise SystemExit(1)
