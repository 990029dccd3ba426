"""Rows that hold if what was measured lies within bounds."""

from __future__ import annotations

from bench.fleet.rows import Row


def within(
    what: str,
    unit: str,
    *,
    wanted: float,
    tolerance_ratio: float,
    measured: float,
    note: str = "",
) -> Row:
    """A row that holds if the measured value is no further away than this part of the wanted."""
    return Row(
        what=what,
        unit=unit,
        asked=f"{wanted:g} +-{tolerance_ratio * 100:.3g} %",
        measured=measured,
        holds=abs(measured - wanted) <= tolerance_ratio * wanted,
        note=note,
    )


def at_least(what: str, unit: str, least: float, measured: float | None, note: str = "") -> Row:
    """A row that holds if something was measured and is at least this much."""
    holds = measured is not None and measured >= least
    return Row(
        what=what, unit=unit, asked=f">= {least:g}", measured=measured, holds=holds, note=note
    )


def as_found(what: str, unit: str, measured: float, note: str) -> Row:
    """A row of what a kernel does, of which nothing is asked."""
    return Row(what=what, unit=unit, asked="", measured=measured, holds=True, note=note)
