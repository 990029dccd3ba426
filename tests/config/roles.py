"""Act in the test's database with the rights of one role."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction
from django.test import override_settings
from psycopg import sql

from config.database_roles import EMBEDDED_USERS, DatabaseRole, grant_rights
from config.row_walls import build_walls


def make_roles() -> None:
    """The users of all roles with their rights, in the test's transaction."""
    with connection.cursor() as cursor:
        for role, name in EMBEDDED_USERS.items():
            if role != DatabaseRole.OWNER:
                cursor.execute(sql.SQL("CREATE ROLE {}").format(sql.Identifier(name)))
        # A table that waits for the end of the transaction cannot be changed.
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        # Before rights, as `sluice migrate` does it.
        build_walls(connection, EMBEDDED_USERS)
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")
        grant_rights(connection, EMBEDDED_USERS)


@contextmanager
def acting_as(role: DatabaseRole) -> Iterator[None]:
    """Run statements with the rights of the role, and requests within its walls.

    What fails is undone.
    """
    with connection.cursor() as cursor:
        cursor.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(EMBEDDED_USERS[role])))
        try:
            with override_settings(HAS_ROW_WALLS=role == DatabaseRole.WEB), transaction.atomic():
                yield
        finally:
            cursor.execute("RESET ROLE")
            cursor.execute("SET sluice.sees = 'all'")
