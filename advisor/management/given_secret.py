"""A secret for a command: from a file, the environment or the terminal.

Never from the command line, which other users of the machine see.
"""

from __future__ import annotations

import os
import sys
from getpass import getpass
from pathlib import Path

from django.core.management.base import CommandError


def given_password(user: str, file: Path | None) -> str:
    """The password of a vCenter's user; CommandError if there is none, or it cannot be sent."""
    stated = os.environ.get("SLUICE_VCENTER_PASSWORD", "")
    return _given("password", f"Password of {user}", ("SLUICE_VCENTER_PASSWORD", stated), file)


def given_token(file: Path | None) -> str:
    """The token for a Kubernetes cluster, likewise."""
    stated = os.environ.get("SLUICE_KUBERNETES_TOKEN", "")
    return _given("token", "Token", ("SLUICE_KUBERNETES_TOKEN", stated), file)


def _given(what: str, asked: str, variable: tuple[str, str], file: Path | None) -> str:
    """`variable` of the environment, with what it has."""
    if file:
        try:
            found = file.read_text(encoding="utf-8").removesuffix("\n")
        except (OSError, UnicodeDecodeError) as error:
            raise CommandError(f"{file} cannot be read: {error}") from error
    else:
        found = variable[1]
        if not found and sys.stdin.isatty():
            found = getpass(f"{asked}: ")
    if not found:
        raise CommandError(f"there is no {what}; give --{what}-file, or set {variable[0]}")
    if not found.isprintable():
        raise CommandError(f"the {what} has letters that cannot be sent, such as a line end")
    return found
