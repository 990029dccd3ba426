"""The base of commands on database rows: organisation, table or JSON, one-line errors."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from argparse import SUPPRESS, ArgumentParser
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import date
from typing import Any

from django.core.management.base import CommandError
from django.db import transaction
from django.utils import timezone

from accounts.actor import COMMAND_LINE
from accounts.errors import AccountsError
from accounts.management.plain_command import DJANGO_OPTIONS, PlainCommand
from accounts.models import Organisation
from accounts.models.audit import LONGEST_SUBJECT
from accounts.services.audit import record
from accounts.table import table


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted:
    """What a command does to what, in the words of the audit chain."""

    action: str
    subject: str


class PrintingCommand(PlainCommand):
    """A command for people and programs: a table by default, one JSON document with `--json`."""

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


class ProductCommand(PrintingCommand, ABC):
    """A command on the rows of one organisation.

    An exception of `refusals` becomes one line on standard error and exit status 1.
    """

    refusals: tuple[type[Exception], ...] = (AccountsError,)

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_json_option(parser)
        add_organisation_option(parser)
        self.add_own_arguments(parser)

    def add_own_arguments(self, parser: ArgumentParser) -> None:
        """Add this command's own options to the shared ones."""

    def noted(self, options: Mapping[str, Any]) -> Noted | None:  # noqa: ARG002  others look at it
        """What the audit chain is told of these options; None if they change nothing.

        Also None where the service that changes it tells the chain itself.
        """
        return None

    def handle(self, *_: Any, **options: Any) -> None:
        own = options_of(options)
        try:
            organisation = find_organisation(options["organisation"])
            with transaction.atomic() if (noted := self.noted(own)) else nullcontext():
                self.run(organisation=organisation, **own)
                if noted is not None:
                    note(organisation, noted)
        except self.refusals as error:
            raise CommandError(str(error)) from error

    @abstractmethod
    def run(self, *, organisation: Organisation, **options: Any) -> None:
        """Do the work and print it with `show`."""


def note(organisation: Organisation, noted: Noted) -> None:
    """Tell the audit chain, in the transaction that does it."""
    record(
        organisation=organisation, actor=COMMAND_LINE, action=noted.action,
        subject=noted.subject[:LONGEST_SUBJECT], now=timezone.now(),
    )  # fmt: skip


def add_verb(verbs: Any, name: str, *, help: str) -> ArgumentParser:  # noqa: A002 - argparse's word
    """A verb of a command; the shared options may also stand after it."""
    parser: ArgumentParser = verbs.add_parser(name, help=help)
    # Without a default, an option that is absent here keeps the value given before the verb.
    add_json_option(parser, default=SUPPRESS)
    add_organisation_option(parser, default=SUPPRESS)
    return parser


def add_json_option(parser: ArgumentParser, *, default: object = False) -> None:
    parser.add_argument(
        "--json",
        action="store_true",
        dest="as_json",
        default=default,
        help="print JSON for programs",
    )


def add_organisation_option(parser: ArgumentParser, *, default: object = None) -> None:
    parser.add_argument(
        "--organisation",
        metavar="SLUG",
        default=default,
        help="organisation (required if there are several)",
    )


def options_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """The command's own options, without Django's and without the organisation."""
    shared = DJANGO_OPTIONS | {"organisation"}
    return {name: value for name, value in options.items() if name not in shared}


def find_organisation(slug: str | None) -> Organisation:
    """The named organisation, or the only one there is."""
    found = list(Organisation.objects.filter(slug=slug) if slug else Organisation.objects.all())
    if len(found) == 1:
        return found[0]
    if slug:
        raise CommandError(f'there is no organisation "{slug}"')
    if not found:
        raise CommandError(
            "there is no organisation yet; create it by starting the product once: sluice run"
        )
    raise CommandError(f"choose one with --organisation: {', '.join(item.slug for item in found)}")


def _plain(value: Any) -> str:
    if isinstance(value, date):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} has no JSON form")
