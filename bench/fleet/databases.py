"""More databases on the server of the run, each with a fleet of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.core.cache import cache
from django.core.management import call_command
from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created


@contextmanager
def another_database(name: str) -> Iterator[None]:
    """A new database with the product's tables, for as long as this lasts."""
    home = str(connection.settings_dict["NAME"])
    _execute(f"DROP DATABASE IF EXISTS {name}")
    _execute(f"CREATE DATABASE {name}")
    _connect_to(name)
    try:
        call_command("migrate", verbosity=0)
        yield
    finally:
        _connect_to(home)
        _execute(f"DROP DATABASE {name} WITH (FORCE)")


def database_bytes() -> int:
    """The size of the database that is connected to; the log of writes is not in it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_database_size(current_database())")
        size: int = cursor.fetchone()[0]
        return size


def keep_still() -> None:
    """Nothing but what is measured runs, and nothing interrupts it.

    No automatic VACUUM starts, and statements of this process may take as long as they do; those
    of the workers keep their limit.
    """
    connection_created.connect(_without_time_limit)
    connection.close()
    _execute("ALTER SYSTEM SET autovacuum = off")
    _execute("SELECT pg_reload_conf()")
    _execute("CHECKPOINT")


def _without_time_limit(*, connection: BaseDatabaseWrapper, **_: object) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = 0")


def go_on() -> None:
    """As the product runs it."""
    _execute("ALTER SYSTEM RESET autovacuum")
    _execute("SELECT pg_reload_conf()")


def close() -> None:
    """End the connection, so that the server can stop."""
    connection.close()


def _connect_to(name: str) -> None:
    connection.close()
    connection.settings_dict["NAME"] = name
    # What is remembered is about rows of the other database.
    cache.clear()


def _execute(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)
