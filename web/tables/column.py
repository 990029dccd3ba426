"""What a list consists of: columns, and how a row is written in each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

from advisor.queries.listed import Listed
from advisor.queries.scope import Scope
from web.drawing.sparkline import Sparkline

RowT = TypeVar("RowT")

Plain = str | float | datetime | None
"""A value as it is exported: in base units, None if there is none."""
Order = str | float | datetime | None
"""What rows are compared by; those with None stand last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A text that leads somewhere; `about` is said after it to those who cannot see the row."""

    text: str
    address: str
    about: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One cell: links, a text, a time or a drawing, with a shape before and a note after it.

    Without any of them it is a dash that tells `reason`; `tone` is the class of a state, `hidden`
    what is said to those who cannot see the `title`.
    """

    text: str = ""
    links: tuple[Link, ...] = ()
    at: datetime | None = None
    drawing: Sparkline | None = None
    reason: str = "nothing was measured"
    mark: str = ""
    tone: str = ""
    note: str = ""
    title: str = ""
    hidden: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column(Generic[RowT]):
    """One column; `value` is what it is sorted by, and exported as if there is no `plain`.

    With `plain_unit` the unit is exported beside each value, because rows may differ in it.
    With `parts` the rows can be filtered and grouped by it: a row belongs to each of its parts.
    `order` is the order of the groups, for names that have one; others are in that of the
    alphabet. `of` is what of the row it is about, as `Listed.shared` has it: rows that share this
    have the same value and parts. A column with `is_name` has the name of that for both. One with
    `needs_day` can be written once the last day of the row was read.
    """

    key: str
    title: str
    cell: Callable[[RowT], Cell]
    value: Callable[[RowT], Order] | None = None
    plain: Callable[[RowT], Plain] | None = None
    plain_unit: Callable[[RowT], str] | None = None
    parts: Callable[[RowT], Sequence[str]] | None = None
    order: tuple[str, ...] = ()
    hint: str = ""
    is_number: bool = False
    is_shown: bool = True
    of: str = ""
    is_name: bool = False
    needs_day: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Table(Generic[RowT]):
    """A list: its rows and columns; the first column names the row and is always shown.

    `read` gives all rows; `with_days` gives some of them with their last day. `usual_sort` is the
    column by which rows stand unless the address says so, if not the first.
    """

    name: str
    title: str
    noun: str
    plural: str
    empty: str
    columns: tuple[Column[RowT], ...]
    identity: Callable[[RowT], str]
    read: Callable[[Scope, datetime], Listed[RowT]]
    with_days: Callable[[Sequence[RowT], datetime], list[RowT]]
    usual_sort: str = ""

    def column(self, key: str) -> Column[RowT]:
        return next(column for column in self.columns if column.key == key)
