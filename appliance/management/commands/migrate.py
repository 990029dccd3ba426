"""`sluice migrate`: Django's command without timeouts; then each role gets its rights."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.commands import migrate
from django.db import connections, transaction

from config.database_roles import grant_rights, user_names
from config.database_timeouts import without_timeouts
from config.row_walls import build_walls


class Command(migrate.Command):
    """Brings the database's tables up to date; a step may take as long as it needs."""

    def handle(self, *args: Any, **options: Any) -> None:
        """Run Django's command on a connection without timeouts, and give the rights."""
        connection = connections[options["database"]]
        with without_timeouts(connection):
            super().handle(*args, **options)
            with transaction.atomic(using=options["database"]):
                names = user_names(settings.DATABASE_URLS)
                # Walls lock their tables. After rights they would wait for an autovacuum that
                # waits for the row that rights have changed in `pg_class`.
                build_walls(connection, names)
                grant_rights(connection, names)
