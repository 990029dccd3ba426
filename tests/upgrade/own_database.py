"""A database in place of the usual test database, for tests that migrate."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection


@contextmanager
def own_database(django_db_blocker: Any) -> Iterator[None]:
    """Whoever asks for the default database gets an empty one, without any table."""
    with django_db_blocker.unblock():
        usual = connection.settings_dict["NAME"]
        own = f"{usual}_own"
        _execute(f'DROP DATABASE IF EXISTS "{own}" WITH (FORCE)', f'CREATE DATABASE "{own}"')
        connection.settings_dict["NAME"] = own
        try:
            yield
        finally:
            connection.close()
            connection.settings_dict["NAME"] = usual
            _execute(f'DROP DATABASE "{own}" WITH (FORCE)')


def _execute(*statements: str) -> None:
    connection.close()
    with connection._nodb_cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
