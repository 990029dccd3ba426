"""Times as the database sends them, read by Python's own parser.

Django has psycopg read each by a pattern and a zone, which takes ten times as long: a list of a
thousand hosts has as many times.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from psycopg.abc import Buffer
from psycopg.adapt import Loader


class TimeLoader(Loader):
    """A `timestamptz` with its zone; connections are set to UTC.

    Django registers a loader of its own for a cursor whose `timezone` is another one.
    """

    timezone = UTC

    def load(self, data: Buffer) -> datetime:
        return datetime.fromisoformat(bytes(data).decode())


def read_times_at_once(*, connection: Any, **_: object) -> None:
    """Let a new connection read times so."""
    connection.connection.adapters.register_loader("timestamptz", TimeLoader)
