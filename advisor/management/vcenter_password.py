"""The password for a vCenter: from a file, the environment or the terminal.

Never from the command line, which other users of the machine see.
"""

from __future__ import annotations

import os
import sys
from getpass import getpass
from pathlib import Path

from django.core.management.base import CommandError


def given_password(user: str, file: Path | None) -> str:
    """The password of the user; CommandError if there is none, or it cannot be sent."""
    if file:
        try:
            found = file.read_text(encoding="utf-8").removesuffix("\n")
        except (OSError, UnicodeDecodeError) as error:
            raise CommandError(f"{file} cannot be read: {error}") from error
    else:
        found = os.environ.get("SLUICE_VCENTER_PASSWORD", "")
        if not found and sys.stdin.isatty():
            found = getpass(f"Password of {user}: ")
    if not found:
        raise CommandError(
            "there is no password; give --password-file, or set SLUICE_VCENTER_PASSWORD"
        )
    if not found.isprintable():
        raise CommandError("the password has letters that cannot be sent, such as a line end")
    return found
