"""`sluice organisation`: tenants."""

from __future__ import annotations

import sys
from argparse import SUPPRESS, ArgumentParser
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from accounts.actor import COMMAND_LINE
from accounts.errors import AccountsError
from accounts.management.product_command import (
    PrintingCommand,
    add_json_option,
    find_organisation,
)
from accounts.models import Organisation
from accounts.services.deletion import GRACE, keep_organisation, plan_deletion
from accounts.services.export import export_organisation
from accounts.services.organisation import create_organisation


class Command(PrintingCommand):
    help = "List organisations, create, export or delete one"

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

        export = verbs.add_parser("export", help="write all that is stored of it into a ZIP file")
        export.add_argument("slug")
        export.add_argument("file", type=Path)
        add_json_option(export, default=SUPPRESS)
        delete = verbs.add_parser(
            "delete", help=f"delete it with all its data, {GRACE.days} days from now"
        )
        delete.add_argument("slug")
        delete.add_argument("--now", action="store_true", help="begin within a minute")
        delete.add_argument("--yes", action="store_true", help="without a question")
        add_json_option(delete, default=SUPPRESS)
        keep = verbs.add_parser("keep", help="take a deletion back before it begins")
        keep.add_argument("slug")
        add_json_option(keep, default=SUPPRESS)

    def handle(self, *_: Any, **options: Any) -> None:
        # The only command that belongs to no organisation.
        verb = options["verb"] or "list"
        try:
            getattr(self, f"_{verb}")(options)
        except AccountsError as error:
            raise CommandError(str(error)) from error

    def _list(self, options: dict[str, Any]) -> None:
        rows = [
            {
                "slug": found.slug,
                "name": found.name,
                "created_at": found.created_at,
                "deletion_due_at": found.deletion_due_at,
            }
            for found in Organisation.objects.all()
        ]
        self.show(
            rows,
            as_json=options["as_json"],
            columns=["slug", "name", "created_at", "deletion_due_at"],
            empty="no organisations yet",
        )

    def _export(self, options: dict[str, Any]) -> None:
        def told(table: str, rows: int) -> None:
            if not options["as_json"] and rows:
                self.stdout.write(f"{table}: {rows:,} rows")

        path: Path = options["file"]
        try:
            rows = export_organisation(
                find_organisation(options["slug"]), path, now=timezone.now(), on_table=told
            )
        except OSError as error:
            raise CommandError(f"{path}: {error.strerror}; nothing was written") from error
        if options["as_json"]:
            self.show_json({"file": str(path), "rows": rows})
        else:
            self.stdout.write(
                f"All of {options['slug']} is in {path}. Keep it as safe as a backup."
            )

    def _delete(self, options: dict[str, Any]) -> None:
        organisation = find_organisation(options["slug"])
        if not options["yes"]:
            _ask(organisation.slug)
        now = timezone.now()
        due = plan_deletion(
            organisation=organisation,
            slug=organisation.slug,
            actor=COMMAND_LINE,
            now=now,
            grace=timedelta() if options["now"] else GRACE,
        )
        if options["as_json"]:
            self.show_json({"slug": organisation.slug, "deletion_due_at": due})
        elif due <= now:
            self.stdout.write(f"{organisation.slug} is being deleted by the workers.")
        else:
            self.stdout.write(
                f"{organisation.slug} is deleted from {due:%Y-%m-%d %H:%M} UTC on. Until then: "
                f"sluice organisation keep {organisation.slug}"
            )

    def _keep(self, options: dict[str, Any]) -> None:
        organisation = find_organisation(options["slug"])
        keep_organisation(organisation=organisation, actor=COMMAND_LINE, now=timezone.now())
        if options["as_json"]:
            self.show_json({"slug": organisation.slug, "deletion_due_at": None})
        else:
            self.stdout.write(f"{organisation.slug} stays.")

    def _create(self, options: dict[str, Any]) -> None:
        made = create_organisation(
            slug=options["slug"], name=options["name"], admin_username=options["admin"]
        )
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


def _ask(slug: str) -> None:
    if not sys.stdin.isatty():
        raise CommandError("nobody can be asked; nothing was done. Add --yes if that is meant")
    said = input(f"Type {slug} to delete it with all its data: ").strip()
    if said != slug:
        raise CommandError("nothing was done")
