"""What was asked beside what was measured, as a table and as JSON.

`python -m bench.fleet.rows FILE` prints a run's `--json FILE` as in the README.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

LARGE = 1_000.0
"""In a document, numbers from there on are whole."""
_LEFT_OUT_IF_EMPTY = {"values", "course", "part", "rung"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the table; `measured` None has its reason in `note`.

    Plots draw `values`, what is measured of each class, and `course`, that of each interval.
    The testbed says which `part` of it the row is of, and on which `rung` that is measured.
    """

    what: str
    unit: str
    asked: str
    measured: float | None
    holds: bool
    note: str = ""
    values: Mapping[str, float] = field(default_factory=dict)
    course: Sequence[float | None] = ()
    part: str = ""
    rung: str = ""


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
    """Objects with the keys that every benchmark writes, the note, and what else there is."""
    return [
        {
            key: value
            for key, value in asdict(row).items()
            if value or key not in _LEFT_OUT_IF_EMPTY
        }
        for row in rows
    ]


def as_table(rows: Sequence[Row]) -> str:
    """One line per row, in columns; that of rungs is there if a row has one."""
    columns: dict[str, Callable[[Row], str]] = {
        "rung": lambda row: row.rung or "-",
        "what": lambda row: row.what,
        "unit": lambda row: row.unit,
        "asked": lambda row: row.asked,
        "measured": lambda row: _number(row.measured),
        "holds": lambda row: "yes" if row.holds else "no",
        "note": lambda row: row.note,
    }
    if not any(row.rung for row in rows):
        del columns["rung"]
    cells = [tuple(columns), *(tuple(show(row) for show in columns.values()) for row in rows)]
    widths = [max(map(len, column)) for column in list(zip(*cells, strict=True))[:-1]]
    return "\n".join(
        "  ".join(
            [*(text.ljust(width) for text, width in zip(line, widths, strict=False)), note]
        ).rstrip()
        for *line, note in cells
    )


def as_document(rows: Sequence[Row]) -> str:
    """One indented line per row for a document; `!` marks what was measured and does not hold."""
    width = max((len(row.what) for row in rows), default=0)
    return "\n".join(
        f"    {row.what:<{width}}  {row.asked:<8} {_measured(row)}".rstrip() for row in rows
    )


def _measured(row: Row) -> str:
    if row.measured is None:
        return f"not measured: {row.note}"
    value = f"{row.measured:,.0f}" if row.measured >= LARGE else f"{row.measured:.3g}"
    return f"{value} {row.unit}" + ("" if row.holds else "  !")


def _number(value: float | None) -> str:
    return "not measured" if value is None else f"{value:.4g}"


if __name__ == "__main__":
    print(as_document([Row(**one) for one in json.loads(Path(sys.argv[1]).read_text())]))
