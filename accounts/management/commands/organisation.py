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
    help = "List organisations, or make one with its admin"

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_json_option(parser)
        verbs = parser.add_subparsers(dest="verb", title="verbs")
        everyone = verbs.add_parser("list", help="all organisations (the default)")
        add_json_option(everyone, default=SUPPRESS)
        create = verbs.add_parser("create", help="make an organisation with its admin")
        add_json_option(create, default=SUPPRESS)
        create.add_argument("slug", help="its short name, as programs say it")
        create.add_argument("--name", required=True, help="its name, as people say it")
        create.add_argument("--admin", required=True, metavar="USER", help="made if new")

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
            self.stdout.write(f"{made.admin_username} may now do everything in {options['slug']}")
        else:
            self.stdout.write(f"{made.admin_username} logs in with: {made.password}")
