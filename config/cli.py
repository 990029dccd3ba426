"""The command `sluice`: a thin layer over the management commands."""

import os
import sys

from django.core.management import execute_from_command_line


def main() -> None:
    """Run one management command under the name `sluice`."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    execute_from_command_line(sys.argv)
