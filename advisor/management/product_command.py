"""What all commands of the product share: whose rows, table or JSON, refusals in one line."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser
from django.core.management.base import BaseCommand, CommandError

from advisor.core.quantity import QuantityError
from advisor.errors import AdvisorError
from advisor.models import Resource
from ingest.models import Organisation


class ProductCommand(BaseCommand):
    """A command for people and programs: a table by default, one JSON document with `--json`."""

    requires_system_checks: Sequence[str] = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--json", action="store_true", dest="as_json", help="print JSON for programs"
        )
        parser.add_argument(
            "--organisation", metavar="SLUG", help="whose rows; needed if there are several"
        )
        self.add_own_arguments(parser)

    def add_own_arguments(self, parser: ArgumentParser) -> None:
        """Add what this command takes beside the shared options."""

    def handle(self, *_: Any, **options: Any) -> None:
        try:
            self.run(
                organisation=find_organisation(options["organisation"]), **options_of(options)
            )
        except (AdvisorError, QuantityError) as error:
            raise CommandError(str(error)) from error

    def run(self, *, organisation: Organisation, **options: Any) -> None:
        """Do the work and print it with `show`."""
        raise NotImplementedError

    def show(
        self,
        rows: Sequence[Mapping[str, Any]],
        *,
        as_json: bool,
        columns: Sequence[str],
        empty: str,
    ) -> None:
        """Print rows as a table of these columns, or whole as JSON."""
        if as_json:
            self.show_json(rows)
        elif rows:
            self.stdout.write(table(rows, columns))
        else:
            self.stdout.write(empty)

    def show_json(self, value: Any) -> None:
        self.stdout.write(json.dumps(value, indent=2, default=_plain))


def options_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """The command's own options, without Django's and without the organisation."""
    shared = {
        "verbosity", "settings", "pythonpath", "traceback", "no_color", "force_color",
        "skip_checks", "organisation",
    }  # fmt: skip
    return {name: value for name, value in options.items() if name not in shared}


def find_organisation(slug: str | None) -> Organisation:
    """The named organisation, or the only one there is."""
    found = list(Organisation.objects.filter(slug=slug) if slug else Organisation.objects.all())
    if len(found) == 1:
        return found[0]
    if slug:
        raise CommandError(f'there is no organisation "{slug}"')
    if not found:
        raise CommandError("there is no organisation yet; start the product once: sluice run")
    raise CommandError(f"say --organisation: {', '.join(item.slug for item in found)}")


def find_resource(organisation: Organisation, name: str) -> Resource:
    """The organisation's resource of this name."""
    found = Resource.objects.filter(organisation=organisation, name=name).first()
    if found is None:
        names = Resource.objects.filter(organisation=organisation).values_list("name", flat=True)
        raise CommandError(
            f'there is no resource "{name}"; there are: {", ".join(names) or "none"}'
        )
    return found


def find_user(organisation: Organisation, username: str) -> AbstractBaseUser:
    """The member of the organisation with this name."""
    found = (
        get_user_model()
        .objects.filter(username=username, memberships__organisation=organisation)
        .first()
    )
    if found is None:
        raise CommandError(f'{organisation} has no member "{username}"')
    return found


def table(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> str:
    """Rows under their column names; numbers to the right."""
    texts = [[_text(row.get(column)) for column in columns] for row in rows]
    widths = [
        max(len(column), *(len(line[index]) for line in texts))
        for index, column in enumerate(columns)
    ]
    numeric = [
        all(isinstance(row.get(column), int | float | None) for row in rows) for column in columns
    ]
    lines = [[column.replace("_", " ") for column in columns], *texts]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(line, widths, numeric, strict=True)
        ).rstrip()
        for line in lines
    )


def _text(value: Any) -> str:
    if value is None:
        return "\N{EN DASH}"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S}"
    return str(value)


def _plain(value: Any) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} has no JSON form")
