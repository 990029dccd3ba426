"""Which rows a run must hold, so that it fails where one of them does not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bench.fleet.rows import Row


def misses(
    rows: Sequence[Row], parts: Sequence[str], groups: Mapping[str, Sequence[str]]
) -> list[str]:
    """Of these parts, each row that does not hold, and each part without a row, in words.

    Where nothing could be measured, one row may stand for a whole group of parts.
    """
    whole = [name for name, own in groups.items() if set(own) & set(parts)]
    fell_short = [row for row in rows if row.part in {*parts, *whole} and not row.holds]
    seen = {row.part for row in rows}
    return [
        *(_words(row) for row in fell_short),
        *(f"{part}: no row" for part in parts if part not in seen),
    ]


def _words(row: Row) -> str:
    measured = "not measured" if row.measured is None else f"{row.measured:.4g} {row.unit}"
    return f"{row.part}: {row.what}: {measured}, asked {row.asked}"
