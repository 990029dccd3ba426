"""The service's database: all of a seed is rolled back, and so it can go back to a backup.

One transaction lasts as long as the fleet; seeds, and backups within them, are its savepoints.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.core.cache import cache
from django.db import OperationalError, connection, transaction

_UNHARMED = ("SAVEPOINT", "ROLLBACK")
"""What never goes wrong: the run's own transaction could not go on after it."""


@contextmanager
def taken_back() -> Iterator[None]:
    """Nothing of what is written within is kept."""
    numbers = _numbers()
    try:
        with transaction.atomic():
            yield
            transaction.set_rollback(True)
    finally:
        cache.clear()
        _count_from(numbers)


class Backup:
    """The database as it is now, to go back to within the same `taken_back` block."""

    def __init__(self) -> None:
        self._numbers = _numbers()
        self._savepoint = transaction.savepoint()

    def restore(self) -> None:
        """Have it as it was; the next rows have the numbers of those that are lost."""
        transaction.savepoint_rollback(self._savepoint)
        cache.clear()
        _count_from(self._numbers)


class FailingStatements:
    """Lets the n-th statement fail, as a database does that goes away."""

    def __init__(self, struck: Callable[[], None]) -> None:
        """`struck` is told when it does."""
        self._struck = struck
        self.left: int | None = None

    @contextmanager
    def spared(self) -> Iterator[None]:
        """What the simulation itself asks within never goes wrong, nor is it counted."""
        left, self.left = self.left, None
        try:
            yield
        finally:
            self.left = left

    def __call__(
        self, execute: Callable[..., Any], query: Any, params: Any, many: bool, context: Any
    ) -> Any:
        if self.left is not None and not str(query).startswith(_UNHARMED):
            self.left -= 1
            if self.left <= 0:
                self.left = None
                self._struck()
                raise OperationalError("the connection was lost")
        return execute(query, params, many, context)


def unharmed_transaction() -> None:
    """Go on after a statement failed: it never reached the database, which knows nothing of it."""
    transaction.set_rollback(False)


def _numbers() -> list[tuple[str, int | None]]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT quote_ident(schemaname) || '.' || quote_ident(sequencename), last_value "
            "FROM pg_sequences WHERE schemaname = 'public' ORDER BY 1"
        )
        return list(cursor.fetchall())


def _count_from(numbers: list[tuple[str, int | None]]) -> None:
    """Rows get the same numbers again: sequences know no transactions."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT setval(name::regclass, greatest(last, 1), last > 0) "
            "FROM unnest(%s::text[], %s::bigint[]) AS one(name, last)",
            [[name for name, _ in numbers], [last or 0 for _, last in numbers]],
        )
