"""What the commands on policy files share: the file, and its text."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from pathlib import Path

from django.core.management.base import CommandError

from accounts.models import Organisation
from advisor.decisions.policy_file.decide.difference import Present
from advisor.decisions.policy_file.decide.read import Read, read_policy_file
from advisor.decisions.policy_file.decide.yaml_tree import MOST_CHARACTERS
from advisor.decisions.policy_file.present import present_state

SECTIONS = (
    "What the file does not name in a section that it has is removed; a section that is left out "
    "stays as it is, and so does what was found and is not named."
)


def add_file_argument(parser: ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="policy file in YAML; - is standard input")


def text_of(file: str) -> str:
    """The text of a file, as much of it as may be read."""
    most = 4 * MOST_CHARACTERS + 1
    try:
        if file == "-":
            return sys.stdin.read(MOST_CHARACTERS + 1)
        with open(file, "rb") as opened:  # noqa: PTH123  Path.read_bytes reads all of it.
            return opened.read(most).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{file} cannot be read: {error}") from error


def read_beside(organisation: Organisation, file: str) -> tuple[Read, Present]:
    """A policy file for an organisation, and what is there."""
    present = present_state(organisation)
    return read_policy_file(text_of(file), file=file, units=present.units), present


def write_whole(path: Path, text: str) -> None:
    """Write a file so that nobody ever finds half of it."""
    beside = path.with_name(f"{path.name}.part")
    try:
        beside.write_text(text, encoding="utf-8")
        beside.replace(path)
    except OSError as error:
        raise CommandError(f"{path} cannot be written: {error}") from error
