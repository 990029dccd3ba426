"""Names that are given to what is found, each once."""

from __future__ import annotations

from collections.abc import Collection


def free_name(wanted: str, taken: Collection[str], *, longest: int) -> str:
    """The wanted name, or with a number where another thing has it; cut to what can be kept."""
    name, number = wanted[:longest], 1
    while name in taken:
        number += 1
        ending = f" ({number})"
        name = wanted[: longest - len(ending)] + ending
    return name
