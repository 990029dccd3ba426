"""What a column may hold is said by an enum of the core."""

from __future__ import annotations

from enum import StrEnum


def choices_of(kind: type[StrEnum]) -> list[tuple[str, str]]:
    """Each value with its name in words."""
    return [(member.value, member.name.replace("_", " ").title()) for member in kind]
