"""Documents of version 1, in which a limit said neither its scope nor what it counts.

Nor did a resource say whether equal shares are meant, and there were no pools.

They are signed as they are written, so a document keeps its version wherever it is.
"""

from typing import Any

from enforcers.errors import ContractError

VERSION = 1
_ADDED = ("limit_scope", "io_count", "joint_limit", "pool")
_ADDED_TO_RESOURCES = ("divides",)
_POOLS = "pools"


def is_former(plain: Any) -> bool:
    """Whether a parsed document says that it is of version 1."""
    version = plain.get("schema_version") if isinstance(plain, dict) else None
    return type(version) is int and version == VERSION


def downgraded(plain: dict[str, Any]) -> dict[str, Any]:
    """The plain form of a document, as its own version writes it."""
    if plain["schema_version"] != VERSION:
        return plain
    return {
        **{key: value for key, value in plain.items() if key != _POOLS},
        "resources": _without(plain["resources"], _ADDED_TO_RESOURCES),
        "allocations": _without(plain["allocations"], _ADDED),
    }


def _without(items: list[dict[str, Any]], keys: tuple[str, ...]) -> list[dict[str, Any]]:
    return [{key: value for key, value in item.items() if key not in keys} for item in items]


def upgraded(plain: Any, defaults: dict[str, str | None]) -> Any:
    """A parsed document with what version 1 left out; anything else as it is.

    Raises ContractError for a key that version 1 did not have: its signature would not cover it.
    """
    if not is_former(plain) or not isinstance(plain.get("allocations"), list):
        return plain
    if _POOLS in plain:
        raise ContractError(f"$.{_POOLS}", "unknown key")
    for name, added in (("resources", _ADDED_TO_RESOURCES), ("allocations", _ADDED)):
        items = plain.get(name)
        for place, item in enumerate(items if isinstance(items, list) else ()):
            for key in sorted(set(added) & set(item)) if isinstance(item, dict) else ():
                raise ContractError(f"$.{name}[{place}].{key}", "unknown key")
    allocations = [
        {**defaults, **item} if isinstance(item, dict) else item for item in plain["allocations"]
    ]
    return {**plain, "allocations": allocations}
