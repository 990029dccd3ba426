"""`sluice openapi`: the description of the API for programs."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from accounts.management.plain_command import PlainCommand
from web.api.v1.document import openapi_text


class Command(PlainCommand):
    help = "Print the OpenAPI document of the API, or compare it with a file"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--check", type=Path, metavar="FILE", help="status 1 unless the file says the same"
        )

    def handle(self, *_: Any, **options: Any) -> None:
        text, file = openapi_text(), options["check"]
        if file is None:
            self.stdout.write(text, ending="")
        elif not file.is_file() or file.read_text(encoding="utf-8") != text:
            raise CommandError(f"{file} is not of these routes; write it: sluice openapi > {file}")
