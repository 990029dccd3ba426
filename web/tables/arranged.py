"""Which rows of a list an address asks for, and in which order.

What rows share is looked at once, so that the cost follows what there is to compare, and not the
rows; only rows that are shown are built.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Generic

import numpy as np

from advisor.core.natural_order import natural_key
from advisor.queries.listed import NO_RANK, Listed, Places
from advisor.queries.scope import Scope
from web.tables.address import TableAddress
from web.tables.column import Column, Order, RowT, Table


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Arranged(Generic[RowT]):
    """The places of the rows that are asked for, in order.

    `title_of` has the place of each listed row in `group_names`.
    """

    listed: Listed[RowT]
    places: Places
    title_of: Places
    group_names: Sequence[str]

    def rows(self, places: Places) -> list[RowT]:
        return [self.listed.build(place) for place in places.tolist()]

    def titles(self, places: Places) -> list[str]:
        """The title of the group of each of these rows."""
        return [self.group_names[one] for one in self.title_of[places].tolist()]

    @property
    def group_sizes(self) -> Mapping[str, int]:
        """By title the number of all rows of the group that are asked for."""
        sizes: Counter[str] = Counter()
        counts = np.bincount(self.title_of[self.places], minlength=len(self.group_names))
        for name, count in zip(self.group_names, counts.tolist(), strict=True):
            sizes[name] += count
        return sizes


def arranged(
    table: Table[RowT], address: TableAddress, *, scope: Scope, now: datetime
) -> Arranged[RowT]:
    """The rows that the address asks for."""
    listed = table.read(scope, now)
    places = np.flatnonzero(_wanted(table, address, listed))
    ranks = _value_ranks(table.column(address.sort), listed)[places]
    group = table.column(address.group) if address.group else None
    titles, title_of, group_ranks = _titles(group, listed)
    order = np.lexsort((_turned(ranks, address.is_descending), group_ranks[places]))
    return Arranged(
        listed=listed,
        places=places[order],
        title_of=title_of,
        group_names=titles,
    )


# --- Filtering


def part_counts(column: Column[RowT], listed: Listed[RowT], *, most: int) -> Counter[str] | None:
    """How many rows have each part of the column; None if there are more than `most` parts."""
    shared = listed.by(column.of)
    sizes = np.bincount(shared.of_row, minlength=len(shared.first)).tolist()
    counts: Counter[str] = Counter()
    for parts, size in zip(_parts(column, listed), sizes, strict=True):
        for part in parts:
            counts[part] += size
        if len(counts) > most:
            return None
    return counts


def _parts(column: Column[RowT], listed: Listed[RowT]) -> Iterator[Sequence[str]]:
    """The parts of each of what rows share."""
    parts = column.parts or _no_parts
    return (parts(listed.build(place)) for place in listed.by(column.of).first)


def _no_parts(_: Any) -> Sequence[str]:
    return ()


def _wanted(table: Table[RowT], address: TableAddress, listed: Listed[RowT]) -> Any:
    wanted = np.ones(listed.count, dtype=np.bool_)
    if address.text:
        names = [str(name).lower() for name in _values(table.columns[0], listed)]
        for word in address.text.lower().split():
            wanted &= _of_rows(table.columns[0], listed, [word in name for name in names])
    for key, value in address.wanted.items():
        column = table.column(key)
        if value and column.parts:
            matches = partial(_matches, wanted=value)
            fits = [any(map(matches, parts)) for parts in _parts(column, listed)]
            wanted &= _of_rows(column, listed, fits)
    return wanted


def _of_rows(column: Column[RowT], listed: Listed[RowT], of_shared: Sequence[bool]) -> Any:
    return np.array(of_shared, dtype=np.bool_)[listed.by(column.of).of_row]


def _matches(part: str, *, wanted: str) -> bool:
    """Whether it is the same name; `*` in what is wanted stands for anything."""
    if "*" not in wanted:
        return part.lower() == wanted.lower()
    pattern = ".*".join(re.escape(piece) for piece in wanted.lower().split("*"))
    return re.fullmatch(pattern, part.lower()) is not None


# --- Order


def _values(column: Column[RowT], listed: Listed[RowT]) -> Sequence[Order]:
    """The value of each of what rows share."""
    shared = listed.by(column.of)
    if column.is_name and shared.names is not None:
        return shared.names
    value: Callable[[RowT], Order] = column.value or _nothing
    return [value(listed.build(place)) for place in shared.first]


def _nothing(_: Any) -> None:
    return None


def _value_ranks(column: Column[RowT], listed: Listed[RowT]) -> Places:
    """The rank of each row by the column."""
    if column.key in listed.ranks:
        return listed.ranks[column.key]()
    return _ranks(_values(column, listed))[listed.by(column.of).of_row]


def _ranks(values: Sequence[Order]) -> Places:
    """The place of each value among those that differ; without a value it is the last."""
    keys = [natural_key(value) if isinstance(value, str) else value for value in values]
    differing: list[Any] = sorted({key for key in keys if key is not None})
    ranks: dict[Any, int] = {key: place for place, key in enumerate(differing)}
    return np.array([NO_RANK if key is None else ranks[key] for key in keys], dtype=np.int64)


def _turned(ranks: Places, is_descending: bool) -> Places:
    return np.where(ranks == NO_RANK, ranks, -ranks) if is_descending else ranks


def _titles(
    column: Column[RowT] | None, listed: Listed[RowT]
) -> tuple[Sequence[str], Places, Places]:
    """The titles of groups, the place of each row's title among them, and of its group."""
    if column is None:
        nothing = np.zeros(listed.count, dtype=np.int64)
        return [""], nothing, nothing
    places = {name: place for place, name in enumerate(column.order)}
    every = list(_parts(column, listed))
    keys = [
        tuple((places.get(part, len(places)), natural_key(part)) for part in parts)
        for parts in every
    ]
    ranks = {key: place for place, key in enumerate(sorted(set(keys)))}
    of_row = listed.by(column.of).of_row
    of_group = np.array([ranks[key] for key in keys], dtype=np.int64)
    return [", ".join(parts) or "none" for parts in every], of_row, of_group[of_row]
