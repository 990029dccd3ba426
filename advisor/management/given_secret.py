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
    return _given("password", f"Password of {user}", "SLUICE_VCENTER_PASSWORD", file)


def given_token(file: Path | None) -> str:
    """The token for a Kubernetes cluster, likewise."""
    return _given("token", "Token", "SLUICE_KUBERNETES_TOKEN", file)


def _given(what: str, asked: str, variable: str, file: Path | None) -> str:
    if file:
        try:
            found = file.read_text(encoding="utf-8").removesuffix("\n")
        except (OSError, UnicodeDecodeError) as error:
            raise CommandError(f"{file} cannot be read: {error}") from error
    else:
        found = os.environ.get(variable, "")
        if not found and sys.stdin.isatty():
            found = getpass(f"{asked}: ")
    if not found:
        raise CommandError(f"there is no {what}; give --{what}-file, or set {variable}")
    if not found.isprintable():
        raise CommandError(f"the {what} has letters that cannot be sent, such as a line end")
    return found
