"""What of a list is shown, as the address holds it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.http import QueryDict

from web.tables.column import Column, Table

LONGEST_TEXT = 100
_OWN = ("q", "sort", "group", "columns", "page", "format")


@dataclass(frozen=True, slots=True, kw_only=True)
class TableAddress:
    """Search text, wanted part of each column, order, group, columns and page.

    `problems` says what in the address was not understood and is left out.
    """

    text: str
    wanted: dict[str, str]
    sort: str
    is_descending: bool
    group: str
    columns: tuple[str, ...]
    default_columns: tuple[str, ...]
    page: int
    usual_sort: str = ""
    problems: tuple[str, ...] = ()

    def query(self, **changes: Any) -> str:
        """The query of this address with these changes; what is as usual is left out."""
        return urlencode(self.pairs(**changes))

    def pairs(self, **changes: Any) -> list[tuple[str, str]]:
        """The same as names and values, for the hidden fields of a form."""
        order = f"-{self.sort}" if self.is_descending else self.sort
        found: list[tuple[str, str]] = []
        for name, value in {"q": self.text, **self.wanted}.items():
            found.append((name, changes.get(name, value)))
        found.append(("group", changes.get("group", self.group)))
        order = changes.get("sort", order)
        usual = self.usual_sort or self.default_columns[0]
        found.append(("sort", "" if order == usual else order))
        columns = changes.get("columns", self.columns)
        if columns and tuple(columns) != self.default_columns:
            found += [("columns", key) for key in columns]
        page = changes.get("page", 1)
        found.append(("page", "" if page == 1 else str(page)))
        return [(name, value) for name, value in found if value]


def read_address(query: QueryDict, table: Table[Any]) -> TableAddress:
    """The address of a list; what it does not have is told in `problems`."""
    columns: Sequence[Column[Any]] = table.columns
    first = columns[0].key
    usual = tuple(column.key for column in columns if column.is_shown)
    problems: list[str] = []

    def known(names: Sequence[str], allowed: Sequence[str], what: str) -> list[str]:
        strange = [name for name in names if name not in allowed]
        problems.extend(f'There is no {what} "{name[:20]}".' for name in strange)
        return [name for name in names if name in allowed]

    faceted = [column.key for column in columns if column.parts]
    sortable = [column.key for column in columns if column.value]
    sort = query.get("sort", "")
    is_descending = sort.startswith("-")
    order = known([sort.removeprefix("-")] if sort else [], sortable, "column to sort by")
    group = known(query.get("group", "").split(), faceted, "column to group by")
    every = [column.key for column in columns]
    shown = known(query.getlist("columns"), every, "column")
    page = query.get("page", "1")
    return TableAddress(
        text=query.get("q", "").strip()[:LONGEST_TEXT],
        wanted={key: query.get(key, "").strip()[:LONGEST_TEXT] for key in faceted},
        sort=order[0] if order else table.usual_sort or first,
        is_descending=is_descending and bool(order),
        group=group[0] if group else "",
        columns=tuple(key for key in every if key == first or key in shown) if shown else usual,
        default_columns=usual,
        page=int(page) if page.isdecimal() and 0 < len(page) < 7 else 1,
        usual_sort=table.usual_sort,
        problems=tuple(problems),
    )
