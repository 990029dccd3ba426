"""Objects of the vSphere API as plain values, whichever way they were read.

A value is None, a text, number, boolean, list or mapping by the names of the API. A mapping has
`_typeName` where the type is told, which exports do not. A reference is a mapping of `type` and
`value`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

_ESCAPED = re.compile("%(2f|5c|25)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagedObject:
    """Properties of one object by their path; `unreadable` has the reason of each refused one."""

    kind: str
    moid: str
    properties: Mapping[str, Any]
    unreadable: Mapping[str, str] = field(default_factory=dict)

    def get(self, path: str) -> Any:
        """The value at a path such as `config.hardware.device`, however much was asked for."""
        if path in self.properties:
            return self.properties[path]
        parts = path.split(".")
        for end in range(len(parts) - 1, 0, -1):
            value = self.properties.get(".".join(parts[:end]))
            if value is not None:
                return within(value, *parts[end:])
        return None


def managed_objects(contents: Iterable[Any]) -> Iterator[ManagedObject]:
    """The objects of `ObjectContent` and `ObjectUpdate` values; others are left out."""
    for content in contents:
        kind, moid = reference(within(content, "obj"))
        if kind and moid:
            yield ManagedObject(
                kind=kind,
                moid=moid,
                properties={
                    str(one["name"]): one.get("val")
                    for name in ("propSet", "changeSet")
                    for one in many(within(content, name))
                    if isinstance(one, dict) and "name" in one
                },
                unreadable={
                    text(within(one, "path")): _fault(within(one, "fault"))
                    for one in many(within(content, "missingSet"))
                },
            )


def _fault(value: Any) -> str:
    """The type of a fault, else what it says; exports do not tell types."""
    return (
        type_name(within(value, "fault")) or text(within(value, "localizedMessage")) or "refused"
    )


def merged(objects: Iterable[ManagedObject]) -> list[ManagedObject]:
    """Each object once, with all that is told of it; what comes later counts."""
    found: dict[tuple[str, str], ManagedObject] = {}
    for one in objects:
        before = found.get((one.kind, one.moid))
        if before is not None:
            one = ManagedObject(  # noqa: PLW2901 - the same object with more of it
                kind=one.kind,
                moid=one.moid,
                properties={**before.properties, **one.properties},
                unreadable={**before.unreadable, **one.unreadable},
            )
        found[one.kind, one.moid] = one
    return sorted(found.values(), key=lambda one: (one.kind, one.moid))


def within(value: Any, *names: str) -> Any:
    """The value below these names, None where one of them is missing."""
    for name in names:
        if not isinstance(value, dict):
            return None
        value = value.get(name)
    return value


def many(value: Any) -> list[Any]:
    """The values of a list, in any of its forms; one value alone is a list of it."""
    if isinstance(value, dict) and "_value" in value:
        value = value["_value"]
    if value is None:
        return []
    return list(value) if isinstance(value, list) else [value]


def type_name(value: Any) -> str:
    """The type of a value; empty if it is not told."""
    return text(within(value, "_typeName"))


def reference(value: Any) -> tuple[str, str]:
    """Type and number of a reference; empty if it is none."""
    return text(within(value, "type")), text(within(value, "value"))


def unescaped(name: str) -> str:
    """A name as people write it: vCenter escapes slashes, backslashes and percent signs."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), name)


def text(value: Any) -> str:
    """A text; empty if it is none."""
    if isinstance(value, dict) and "_value" in value:
        value = value["_value"]
    return value if isinstance(value, str) else ""


def whole(value: Any) -> int | None:
    """A whole number, also one that is written as text; None if it is none."""
    if isinstance(value, dict) and "_value" in value:
        value = value["_value"]
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        digits = value.strip()
        # More digits than any number of the API has are none of its numbers.
        is_number = digits.removeprefix("-").isdecimal() and len(digits) < 20
        return int(digits) if is_number else None
    return value if isinstance(value, int) else None


def flag(value: Any) -> bool | None:
    """A truth value, also as XML writes it; None if it is none."""
    if isinstance(value, dict) and "_value" in value:
        value = value["_value"]
    if isinstance(value, str):
        return {"true": True, "1": True, "false": False, "0": False}.get(value.strip())
    return value if isinstance(value, bool) else None
