"""`sluice validate`: whether files are policy files, without a server."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from accounts.management.product_command import PrintingCommand, add_json_option
from advisor.decisions.policy_file.decide.problems import PolicyFileError
from advisor.decisions.policy_file.decide.read import read_policy_file
from advisor.decisions.policy_file.decide.schema import policy_file_schema
from advisor.management.policy_file_command import text_of


class Command(PrintingCommand):
    help = (
        "Check policy files without a database: keys, values and units, each problem with its "
        "line. Exit status 1 if there are problems"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_json_option(parser)
        parser.add_argument("files", nargs="*", metavar="FILE", help="policy file; - is stdin")
        parser.add_argument(
            "--schema", action="store_true", help="print the JSON Schema of policy files instead"
        )

    def handle(self, *_: Any, **options: Any) -> None:
        if options["schema"]:
            self.stdout.write(json.dumps(policy_file_schema(), indent=2))
            return
        if not options["files"]:
            raise CommandError("name at least one policy file")
        found = {file: _problems(file) for file in options["files"]}
        if options["as_json"]:
            self.show_json(
                [
                    {"file": file, "line": one.line, "problem": one.what}
                    for file, error in found.items()
                    if error is not None
                    for one in error.problems
                ]
            )
        else:
            for file, error in found.items():
                self.stdout.write(f"{file}: no problem" if error is None else str(error))
        if any(error is not None for error in found.values()):
            raise SystemExit(1)


def _problems(file: str) -> PolicyFileError | None:
    try:
        read_policy_file(text_of(file), file=file)
    except PolicyFileError as error:
        return error
    return None
