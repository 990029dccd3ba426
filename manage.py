#!/usr/bin/env python
"""Django's own entry point, for `python manage.py <command>` in a checkout."""

import os

from django.core.management import execute_from_command_line

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    execute_from_command_line()
