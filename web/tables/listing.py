"""The page of a list that an address asks for: heads, filters, groups and cells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import Any

from advisor.core.natural_order import natural_key
from advisor.queries.listed import Listed
from advisor.queries.scope import Scope
from web.tables.address import TableAddress
from web.tables.arranged import arranged, part_counts
from web.tables.column import Cell, Column, Plain, RowT, Table

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
    """One page of a list; `total` rows exist, of which `found` are asked for.

    `named` counts what rows are about: a workload has a row on each of its resources.
    """

    address: TableAddress
    heads: tuple[Head, ...]
    filters: tuple[Filter, ...]
    groups: tuple[Group, ...]
    named: int
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
    found = arranged(table, address, scope=scope, now=now)
    pages = max(1, -(-len(found.places) // PAGE_ROWS))
    page = min(address.page, pages)
    places = found.places[(page - 1) * PAGE_ROWS : page * PAGE_ROWS]
    columns = [table.column(key) for key in address.columns]
    shown = found.rows(places)
    if any(column.needs_day for column in columns):
        shown = table.with_days(shown, now)
    return Listing(
        address=address,
        heads=tuple(_head(column, address) for column in columns),
        filters=tuple(
            one
            for column in table.columns
            if column.parts and (one := _filter(column, address, found.listed)) is not None
        ),
        groups=_groups(table, columns, shown, found.titles(places), found.group_sizes),
        named=len(found.listed.by(table.columns[0].of).first),
        total=found.listed.count,
        found=len(found.places),
        page=page,
        pages=pages,
    )


def exported(
    table: Table[RowT], address: TableAddress, *, scope: Scope, now: datetime
) -> tuple[list[str], list[list[Plain]]]:
    """Heads and plain values of all rows that the address asks for, on whatever page."""
    columns = [column for key in address.columns if (column := table.column(key)).value]
    found = arranged(table, address, scope=scope, now=now)
    rows = found.rows(found.places)
    heads = []
    for column in columns:
        heads += [column.title, f"{column.title}, unit"] if column.plain_unit else [column.title]
    return heads, [[value for column in columns for value in _plain(column, row)] for row in rows]


def _plain(column: Column[RowT], row: RowT) -> list[Plain]:
    value = (column.plain or column.value or _nothing)(row)
    if column.plain_unit is None:
        return [value]
    return [value, column.plain_unit(row) if value is not None else None]


def _nothing(_: Any) -> None:
    return None


# --- What the page shows


def _groups(
    table: Table[RowT],
    columns: Sequence[Column[RowT]],
    shown: Sequence[RowT],
    titles: Sequence[str],
    sizes: Mapping[str, int],
) -> tuple[Group, ...]:
    rows = zip(titles, shown, strict=True)
    return tuple(
        Group(
            title=title,
            count=sizes[title],
            lines=tuple(
                Line(
                    identity=table.identity(row),
                    cells=tuple((column, column.cell(row)) for column in columns),
                )
                for _, row in own
            ),
        )
        for title, own in groupby(rows, key=itemgetter(0))
    )


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


def _filter(column: Column[RowT], address: TableAddress, rows: Listed[RowT]) -> Filter | None:
    """None where no row has a value, and none is asked for."""
    counts = part_counts(column, rows, most=MOST_CHOICES)
    if counts is not None and not counts and not address.wanted[column.key]:
        return None
    counts = counts or Counter()
    places = {name: place for place, name in enumerate(column.order)}
    names = sorted(counts, key=lambda name: (places.get(name, len(places)), natural_key(name)))
    return Filter(
        key=column.key,
        title=column.title,
        value=address.wanted[column.key],
        choices=tuple((name, counts[name]) for name in names),
    )
