"""`sluice run`: start the server with everything it needs."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from accounts.management.plain_command import PlainCommand
from appliance.embedded.errors import EmbeddedError
from appliance.embedded.run import RunOptions, run
from appliance.embedded.stop_signals import interrupt_on_stop_signals
from config.paths import DataDirError


class Command(PlainCommand):
    """Starts the database, the queue, web, worker and scheduler under one supervisor."""

    help = "Start the server with everything it needs, in one data directory; Ctrl-C stops it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", type=int, default=8000, help="port of the web server (8000)")
        parser.add_argument(
            "--host",
            default="127.0.0.1",
            help="address of the web server; 0.0.0.0 serves other machines (127.0.0.1)",
        )
        parser.add_argument(
            "--no-reader", action="store_true", help="do not collect samples of this machine"
        )
        parser.add_argument(
            "--sample",
            action="store_true",
            help="bring a second organisation with a fleet of 300 virtual machines to look at; "
            "its menu, Quotas and organisation, removes it",
        )

    def handle(self, *_: Any, **options: Any) -> None:
        interrupt_on_stop_signals()
        chosen = RunOptions(
            host=options["host"],
            port=options["port"],
            with_reader=not options["no_reader"],
            with_sample=options["sample"],
        )
        try:
            run(chosen, self._say)
        except KeyboardInterrupt:
            self._say("everything is stopped")
        except (EmbeddedError, DataDirError) as error:
            raise CommandError(str(error)) from error

    def _say(self, text: str) -> None:
        self.stdout.write(text)
        self.stdout.flush()
