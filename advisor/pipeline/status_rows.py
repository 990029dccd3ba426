"""Statuses as the detector writes them: those of many resources in one cheap statement."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import connection

from advisor.models import ResourceStatus

_COLUMNS = {
    "state": "text",
    "state_since": "timestamptz",
    "value": "float8",
    "threshold": "float8",
    "reason": "text",
    "looked_at": "timestamptz",
    "detector": "text",
    "judged_until": "timestamptz",
    "history_until": "timestamptz",
    "rewound_at": "timestamptz",
    "rewound_to": "timestamptz",
    "last_window_at": "timestamptz",
}
"""What the detector writes. The gaps in advice are the adviser's, which may be running."""


def write_judged(statuses: Sequence[ResourceStatus]) -> None:
    """Write what the detector found of resources, whose rows it holds."""
    arrays = ", ".join(f"%s::{kind}[]" for kind in _COLUMNS.values())
    changes = ", ".join(f"{name} = new.{name}" for name in _COLUMNS)
    statement = (
        f"UPDATE advisor_resourcestatus AS status SET {changes}"  # noqa: S608  # of this file
        f" FROM unnest(%s::bigint[], {arrays}) AS new(id, {', '.join(_COLUMNS)})"
        " WHERE status.id = new.id"
    )
    values = [[getattr(status, name) for status in statuses] for name in _COLUMNS]
    with connection.cursor() as cursor:
        cursor.execute(statement, [[status.pk for status in statuses], *values])
