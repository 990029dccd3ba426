"""Documents of version 1, in which a limit said neither its scope nor what it counts.

They are signed as they are written, so a document keeps its version wherever it is.
"""

from typing import Any

from enforcers.errors import ContractError

VERSION = 1
_ADDED = ("limit_scope", "io_count", "joint_limit")


def is_former(plain: Any) -> bool:
    """Whether a parsed document says that it is of version 1."""
    version = plain.get("schema_version") if isinstance(plain, dict) else None
    return type(version) is int and version == VERSION


def downgraded(plain: dict[str, Any]) -> dict[str, Any]:
    """The plain form of a document, as its own version writes it."""
    if plain["schema_version"] != VERSION:
        return plain
    allocations = [
        {key: value for key, value in item.items() if key not in _ADDED}
        for item in plain["allocations"]
    ]
    return {**plain, "allocations": allocations}


def upgraded(plain: Any, defaults: dict[str, str | None]) -> Any:
    """A parsed document with what version 1 left out; anything else as it is.

    Raises ContractError for a key that version 1 did not have: its signature would not cover it.
    """
    if not is_former(plain) or not isinstance(plain.get("allocations"), list):
        return plain
    for place, item in enumerate(plain["allocations"]):
        for key in sorted(set(_ADDED) & set(item)) if isinstance(item, dict) else ():
            raise ContractError(f"$.allocations[{place}].{key}", "unknown key")
    allocations = [
        {**defaults, **item} if isinstance(item, dict) else item for item in plain["allocations"]
    ]
    return {**plain, "allocations": allocations}
