"""The rows of a list that an address asks for: filtered, sorted, grouped, one page of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any

from advisor.queries.scope import Scope
from advisor.queries.tables import Figures
from web.tables.address import TableAddress
from web.tables.column import Cell, Column, Needs, Order, Plain, RowT, Table

PAGE_ROWS = 50
MOST_CHOICES = 60
"""With more values a filter is a field to type in, and no choice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The head of a column: how it is sorted now, and the query that sorts by it."""

    key: str
    title: str
    hint: str
    is_number: bool
    order: str
    query: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """The filter of one column: its values with their numbers of rows, or none if too many."""

    key: str
    title: str
    value: str
    choices: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A row as its cells; the first is its name."""

    identity: str
    cells: tuple[tuple[Column[Any], Cell], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Rows of one group on this page; `count` is the number of all its rows."""

    title: str
    count: int
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """One page of a list; `total` rows exist, of which `found` are asked for."""

    address: TableAddress
    heads: tuple[Head, ...]
    filters: tuple[Filter, ...]
    groups: tuple[Group, ...]
    total: int
    found: int
    page: int
    pages: int

    @property
    def first(self) -> int:
        """The place of the first row of the page, from 1."""
        return (self.page - 1) * PAGE_ROWS + 1 if self.found else 0

    @property
    def last(self) -> int:
        return min(self.page * PAGE_ROWS, self.found)

    @property
    def is_filtered(self) -> bool:
        return bool(self.address.text or any(self.address.wanted.values()))

    @property
    def orders(self) -> list[tuple[str, str, bool]]:
        """Every order as the address has it, in words, and whether it is the present one."""
        found = []
        for head in self.heads:
            if head.query is None:
                continue
            usual, turned = (
                (f"-{head.key}", head.key) if head.is_number else (head.key, f"-{head.key}")
            )
            words = ("highest first", "lowest first") if head.is_number else ("", "backwards")
            for value, word in zip((usual, turned), words, strict=True):
                is_present = head.order == ("descending" if value[0] == "-" else "ascending")
                found.append((value, f"{head.title}, {word}".removesuffix(", "), is_present))
        return found

    @property
    def clear_query(self) -> str:
        """The query of the same columns in the same order, without any filter or group."""
        nothing = dict.fromkeys(self.address.wanted, "")
        return self.address.query(q="", group="", **nothing)

    @property
    def whole_query(self) -> str:
        """The query of the same rows from the first on."""
        return self.address.query()

    @property
    def previous_query(self) -> str | None:
        return self.address.query(page=self.page - 1) if self.page > 1 else None

    @property
    def next_query(self) -> str | None:
        return self.address.query(page=self.page + 1) if self.page < self.pages else None


def listing(table: Table[RowT], address: TableAddress, *, scope: Scope, now: datetime) -> Listing:
    """The page of the list that the address asks for."""
    rows = table.read(scope, now)
    ordered, has_rates = _ordered(table, address, rows, scope=scope, now=now)
    pages = max(1, -(-len(ordered) // PAGE_ROWS))
    page = min(address.page, pages)
    shown = ordered[(page - 1) * PAGE_ROWS : page * PAGE_ROWS]
    columns = [table.column(key) for key in address.columns]
    needs = {column.needs for column in columns}
    wanted = Figures(rates=Needs.RATES in needs and not has_rates, days=Needs.DAY in needs)
    shown = table.measured(scope, shown, wanted, now)
    return Listing(
        address=address,
        heads=tuple(_head(column, address) for column in columns),
        filters=tuple(_filter(column, address, rows) for column in table.columns if column.parts),
        groups=_groups(table, address, columns, shown, every=ordered),
        total=len(rows),
        found=len(ordered),
        page=page,
        pages=pages,
    )


def exported(
    table: Table[RowT], address: TableAddress, *, scope: Scope, now: datetime
) -> tuple[list[str], list[list[Plain]]]:
    """Heads and plain values of all rows that the address asks for, on whatever page."""
    columns = [column for key in address.columns if (column := table.column(key)).value]
    rows, has_rates = _ordered(table, address, table.read(scope, now), scope=scope, now=now)
    if not has_rates and any(column.needs is Needs.RATES for column in columns):
        rows = table.measured(scope, rows, Figures(rates=True), now)
    heads = []
    for column in columns:
        heads += [column.title, f"{column.title}, unit"] if column.plain_unit else [column.title]
    return heads, [[value for column in columns for value in _plain(column, row)] for row in rows]


def _plain(column: Column[RowT], row: RowT) -> list[Plain]:
    value = (column.plain or column.value or _nothing)(row)
    # A pair is an order of values of several units; what is exported has a `plain` for it.
    assert not isinstance(value, tuple), column.key
    if column.plain_unit is None:
        return [value]
    return [value, column.plain_unit(row) if value is not None else None]


def _nothing(_: Any) -> None:
    return None


# --- Filtering


def _ordered(
    table: Table[RowT],
    address: TableAddress,
    rows: Sequence[RowT],
    *,
    scope: Scope,
    now: datetime,
) -> tuple[list[RowT], bool]:
    """The rows that are asked for, in order, and whether their rates are read."""
    wanted = [row for row in rows if _is_wanted(table, address, row)]
    by = table.column(address.sort)
    has_rates = by.needs is Needs.RATES
    if has_rates:
        wanted = table.measured(scope, wanted, Figures(rates=True), now)
    if by.value:
        wanted = _sorted(wanted, by.value, is_descending=address.is_descending)
    if address.group:
        wanted.sort(key=_group_order(table.column(address.group)))
    return wanted, has_rates


def _is_wanted(table: Table[RowT], address: TableAddress, row: RowT) -> bool:
    text = table.text(row).lower() if address.text else ""
    if not all(word in text for word in address.text.lower().split()):
        return False
    for key, value in address.wanted.items():
        parts = table.column(key).parts
        if value and parts and not any(_matches(part, value) for part in parts(row)):
            return False
    return True


def _matches(part: str, wanted: str) -> bool:
    """Whether it is the same name; `*` in what is wanted stands for anything."""
    if "*" not in wanted:
        return part.lower() == wanted.lower()
    pattern = ".*".join(re.escape(piece) for piece in wanted.lower().split("*"))
    return re.fullmatch(pattern, part.lower()) is not None


# --- Order


def _sorted(
    rows: Sequence[RowT], value: Callable[[RowT], Order], *, is_descending: bool
) -> list[RowT]:
    """Rows without a value come last, whatever the direction; equal rows keep their order."""
    known: list[tuple[Any, RowT]] = []
    unknown: list[RowT] = []
    for row in rows:
        found = value(row)
        if found is None:
            unknown.append(row)
        else:
            known.append((_natural(found) if isinstance(found, str) else found, row))
    known.sort(key=lambda one: one[0], reverse=is_descending)
    return [row for _, row in known] + unknown


def _natural(text: str) -> list[tuple[int, int, str]]:
    """Numbers in a name are compared as numbers: `web-9` comes before `web-10`."""
    return [
        (0, int(piece), "") if piece.isdecimal() else (1, 0, piece)
        for piece in re.split(r"(\d+)", text.lower())
        if piece
    ]


def _group_order(column: Column[RowT]) -> Callable[[RowT], Any]:
    places = {name: place for place, name in enumerate(column.order)}

    def order(row: RowT) -> Any:
        parts = column.parts(row) if column.parts else ()
        return [(places.get(part, len(places)), _natural(part)) for part in parts]

    return order


# --- What the page shows


def _groups(
    table: Table[RowT],
    address: TableAddress,
    columns: Sequence[Column[RowT]],
    shown: Sequence[RowT],
    *,
    every: Sequence[RowT],
) -> tuple[Group, ...]:
    def title(row: RowT) -> str:
        return _group_title(table.column(address.group), row) if address.group else ""

    counts = Counter(title(row) for row in every) if address.group else {"": len(every)}
    return tuple(
        Group(
            title=name,
            count=counts[name],
            lines=tuple(
                Line(
                    identity=table.identity(row),
                    cells=tuple((column, column.cell(row)) for column in columns),
                )
                for row in rows
            ),
        )
        for name, rows in groupby(shown, key=title)
    )


def _group_title(column: Column[RowT], row: RowT) -> str:
    return ", ".join(column.parts(row) if column.parts else ()) or "none"


def _head(column: Column[Any], address: TableAddress) -> Head:
    is_sorted = column.key == address.sort
    order = ("descending" if address.is_descending else "ascending") if is_sorted else "none"
    # Of numbers the largest are asked for first.
    turned = order == "ascending" if is_sorted else column.is_number
    query = address.query(sort=f"-{column.key}" if turned else column.key)
    return Head(
        key=column.key,
        title=column.title,
        hint=column.hint,
        is_number=column.is_number,
        order=order,
        query=query if column.value else None,
    )


def _filter(column: Column[RowT], address: TableAddress, rows: Sequence[RowT]) -> Filter:
    counts: Counter[str] = Counter()
    for row in rows:
        counts.update(column.parts(row) if column.parts else ())
    places = {name: place for place, name in enumerate(column.order)}
    names = sorted(counts, key=lambda name: (places.get(name, len(places)), _natural(name)))
    choices = tuple((name, counts[name]) for name in names)
    return Filter(
        key=column.key,
        title=column.title,
        value=address.wanted[column.key],
        choices=choices if len(choices) <= MOST_CHOICES else (),
    )
