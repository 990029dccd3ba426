"""How long a statement, and a wait for a lock, may take in the database."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

TIMEOUTS = ("statement_timeout", "lock_timeout")


def with_timeouts(database: Mapping[str, Any], *, statement_s: int, lock_s: int) -> dict[str, Any]:
    """The database's settings with timeouts for every connection; `options` of its URL win."""
    ours = f"-c statement_timeout={statement_s}s -c lock_timeout={lock_s}s"
    options = database.get("OPTIONS", {})
    stated = options.get("options", "")
    return {**database, "OPTIONS": {**options, "options": f"{ours} {stated}".strip()}}


@contextmanager
def without_timeouts(connection: Any) -> Iterator[None]:
    """Let statements on this connection take as long as they need, as a migration may."""
    with connection.cursor() as cursor:
        for name in TIMEOUTS:
            cursor.execute(f"SET {name} = 0")
    try:
        yield
    finally:
        # A broken connection needs no reset.
        if connection.is_usable():
            with connection.cursor() as cursor:
                for name in TIMEOUTS:
                    cursor.execute(f"RESET {name}")
