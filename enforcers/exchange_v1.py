"""Exchanges of version 1, of hosts that know windows and no rates."""

from typing import Any

from enforcers.errors import ContractError

VERSION = 1
_TOLD_SINCE = ("done_iops", "met_iops", "shares", "reserved_iops", "capacity_iops")
_ANSWERED_SINCE = (
    "done_iops",
    "met_iops",
    "total_shares",
    "reserved_iops",
    "capacity_iops",
    "threshold_ms",
    "is_shared",
)


def upgraded(plain: Any) -> Any:
    """Parsed figures of a host, with what version 1 left out unknown; anything else as it is.

    Raises ContractError for a key that version 1 did not have.
    """
    if not isinstance(plain, dict) or plain.get("schema_version") != VERSION:
        return plain
    for key in _TOLD_SINCE:
        if key in plain:
            raise ContractError(f"$.{key}", "unknown key")
    return plain | dict.fromkeys(_TOLD_SINCE)


def downgraded_load(plain: dict[str, Any]) -> dict[str, Any]:
    """The plain form of an answer, as version 1 reads it."""
    known = {key: value for key, value in plain.items() if key not in _ANSWERED_SINCE}
    return known | {"schema_version": VERSION}
