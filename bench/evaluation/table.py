"""Tables and numbers of the evaluation, so that the same run gives the same text."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A table and what follows from it."""

    table: str
    verdict: str


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table, two columns of words and the others of numbers."""
    rule = ["---"] * 2 + ["---:"] * (len(head) - 2)
    return "\n".join("| " + " | ".join(row) + " |" for row in (head, rule, *rows))


def percent(ratio: float) -> str:
    """Whole percents: what comes after differs between machines."""
    return f"{ratio:.0%}".replace("%", " %")
