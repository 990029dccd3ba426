"""`sluice login`: work at a server elsewhere, as the person of a token."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from getpass import getpass
from typing import Any

from django.core.management.base import CommandError

from accounts.management.product_command import PrintingCommand, add_json_option
from appliance.remote.person import Login, keep_login, login_file
from sluice_client.connection import ApiError


class Command(PrintingCommand):
    help = (
        "Let status, recommendations, incidents, approve, reject, rollback, plan, apply and "
        "export work at a server, as the person of a token; SLUICE_SERVER with SLUICE_TOKEN does "
        "the same for one command"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_json_option(parser)
        parser.add_argument("server", help="its address, such as https://sluice.example.net")

    def handle(self, *_: Any, **options: Any) -> None:
        login = Login(server=options["server"], token=_token())
        try:
            me = login.api.get_me()
        except ApiError as error:
            raise CommandError(str(error)) from error
        keep_login(login)
        if options["as_json"]:
            self.show_json(
                {"username": me.username, "role": me.role, "organisation": me.organisation}
            )
        else:
            self.stdout.write(
                f"You are {me.username}, {me.role} of {me.organisation}, at {login.server}. "
                f"The token is kept in {login_file()}."
            )


def _token() -> str:
    """Asked for without showing it, or read: an argument would be seen by others."""
    return getpass("Token: ").strip() if sys.stdin.isatty() else sys.stdin.readline().strip()
