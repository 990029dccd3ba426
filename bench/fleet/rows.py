"""What was asked beside what was measured, as a table and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the table; `measured` None has its reason in `note`."""

    what: str
    unit: str
    asked: str
    measured: float | None
    holds: bool
    note: str = ""


def at_most(what: str, unit: str, limit: float, measured: float | None, note: str = "") -> Row:
    """A row that holds if something was measured and is at most the limit."""
    holds = measured is not None and measured <= limit
    return Row(
        what=what, unit=unit, asked=f"<= {limit:g}", measured=measured, holds=holds, note=note
    )


def below(what: str, unit: str, limit: float, measured: float | None, note: str = "") -> Row:
    """A row that holds if something was measured and is below the limit."""
    holds = measured is not None and measured < limit
    return Row(
        what=what, unit=unit, asked=f"< {limit:g}", measured=measured, holds=holds, note=note
    )


def not_measured(what: str, unit: str, asked: str, why: str) -> Row:
    """A row that cannot hold, because nothing was measured."""
    return Row(what=what, unit=unit, asked=asked, measured=None, holds=False, note=why)


def as_json(rows: Iterable[Row]) -> list[dict[str, object]]:
    """The rows as objects with the keys that every benchmark writes, and the note."""
    return [asdict(row) for row in rows]


def as_table(rows: Sequence[Row]) -> str:
    """One line per row, in columns."""
    cells = [("what", "unit", "asked", "measured", "holds", "note")]
    cells += [
        (row.what, row.unit, row.asked, _number(row.measured), _word(row), row.note)
        for row in rows
    ]
    widths = [max(len(line[column]) for line in cells) for column in range(5)]
    return "\n".join(
        "  ".join(
            [*(text.ljust(width) for text, width in zip(line, widths, strict=False)), note]
        ).rstrip()
        for *line, note in cells
    )


def _number(value: float | None) -> str:
    return "not measured" if value is None else f"{value:.4g}"


def _word(row: Row) -> str:
    return "yes" if row.holds else "no"
