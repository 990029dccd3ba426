"""`sluice logout`: work on this machine again."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from accounts.management.product_command import PrintingCommand, add_json_option
from appliance.remote.person import login_file


class Command(PrintingCommand):
    help = "Forget the token of sluice login; it stays valid until it is revoked"

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_json_option(parser)

    def handle(self, *_: Any, **options: Any) -> None:
        file = login_file()
        was_there = file.is_file()
        file.unlink(missing_ok=True)
        if options["as_json"]:
            self.show_json({"was_logged_in": was_there})
        else:
            self.stdout.write("Logged out." if was_there else "You were not logged in.")
