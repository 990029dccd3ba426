"""The connection to a read replica: it changes nothing, sees nothing at first, gives up soon."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_GIVEN_UP_SOON = {
    "connect_timeout": 2,
    # Of a machine that is gone nothing comes, not even an end of the connection.
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 2,
    "tcp_user_timeout": 9_000,
}
"""Parameters of libpq; those of the address win. The last is in milliseconds."""


def as_replica(database: Mapping[str, Any]) -> dict[str, Any]:
    """The database's settings for connections that read.

    Without `sluice.sees` the row wall shows a new connection nothing (`config.row_walls`).
    """
    options = database.get("OPTIONS", {})
    stated = options.get("options", "")
    reads = f"-c default_transaction_read_only=on {stated}".strip()
    return {**database, "OPTIONS": {**_GIVEN_UP_SOON, **options, "options": reads}}
