"""`sluice organisation`: tenants."""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from accounts.errors import AccountsError
from accounts.management.product_command import PrintingCommand, add_json_option
from accounts.models import Organisation
from accounts.services.organisation import create_organisation


class Command(PrintingCommand):
    help = "List organisations, or create one with its administrator"

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_json_option(parser)
        verbs = parser.add_subparsers(dest="verb", title="verbs")
        everyone = verbs.add_parser("list", help="all organisations (the default)")
        add_json_option(everyone, default=SUPPRESS)
        create = verbs.add_parser("create", help="create an organisation with its administrator")
        add_json_option(create, default=SUPPRESS)
        create.add_argument("slug", help="short name for commands and URLs")
        create.add_argument("--name", required=True, help="display name")
        create.add_argument(
            "--admin",
            required=True,
            metavar="USER",
            help="username of the administrator; created if missing",
        )

    def handle(self, *_: Any, **options: Any) -> None:
        # The only command that belongs to no organisation.
        if options["verb"] == "create":
            self._create(options)
            return
        rows = [
            {"slug": found.slug, "name": found.name, "created_at": found.created_at}
            for found in Organisation.objects.all()
        ]
        self.show(
            rows,
            as_json=options["as_json"],
            columns=["slug", "name", "created_at"],
            empty="no organisations yet",
        )

    def _create(self, options: dict[str, Any]) -> None:
        try:
            made = create_organisation(
                slug=options["slug"], name=options["name"], admin_username=options["admin"]
            )
        except AccountsError as error:
            raise CommandError(str(error)) from error
        if options["as_json"]:
            self.show_json(
                {
                    "slug": made.organisation.slug,
                    "admin": made.admin_username,
                    "password": made.password,
                }
            )
        elif made.password is None:
            self.stdout.write(
                f"{made.admin_username} is now an administrator of {options['slug']}"
            )
        else:
            self.stdout.write(f"Password of {made.admin_username}: {made.password}")
