"""`sluice migrate`: Django's command, without statement and lock timeouts."""

from __future__ import annotations

from typing import Any

from django.core.management.commands import migrate
from django.db import connections

from config.database_timeouts import without_timeouts


class Command(migrate.Command):
    """Brings the database's tables up to date; a step may take as long as it needs."""

    def handle(self, *args: Any, **options: Any) -> None:
        """Run Django's command on a connection without timeouts."""
        with without_timeouts(connections[options["database"]]):
            super().handle(*args, **options)
