"""The base of every command: help without the options of Django."""

from __future__ import annotations

from argparse import SUPPRESS
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

DJANGO_OPTIONS = {
    "version", "verbosity", "settings", "pythonpath", "traceback", "no_color", "force_color",
    "skip_checks",
}  # fmt: skip


class PlainCommand(BaseCommand):
    """A command whose help hides Django's options; they still work."""

    requires_system_checks = ()

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        """The parser, with Django's own options hidden from its help."""
        parser = super().create_parser(prog_name, subcommand, **kwargs)
        for action in parser._actions:  # noqa: SLF001 - argparse lists its options nowhere else
            if action.dest in DJANGO_OPTIONS:
                action.help = SUPPRESS
        return parser
