"""Fields of a point become the columns of rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from operator import itemgetter
from typing import Any

from ingest.core.catalogue import GAUGE, Field, FieldKind, Measurement
from ingest.core.line_protocol import LARGEST_INT64
from ingest.core.mapping import Cell, Fact, FactField, Form, Head, SeriesKey
from ingest.core.point import FieldValue, PointError

Value = int | float | None

RATE_UNITS = 1000
"""Rates are stored in thousandths a second, because columns of counters are whole numbers."""
_ONLY_INTEGERS = frozenset({int})
_NUMBERS = frozenset({int, float})


class RowPlan:
    """How fields of one head become rows of one series.

    `place` is the number of the series in its batch, once it has a row.
    """

    __slots__ = ("_cells", "_in_order", "_names", "_plain", "_rates", "_times", "place", "series")

    def __init__(self, series: SeriesKey) -> None:
        self.series = series
        self.place: int | None = None
        self._names: tuple[str, ...] = ()
        self._cells: list[tuple[Field, Cell]] = []
        self._in_order: Callable[[tuple[Value, ...]], tuple[Value, ...]] | None = None
        self._plain = True
        self._rates: list[tuple[float, str | None]] | None = (
            [] if series.form is Form.RATE else None
        )
        self._times: tuple[str, ...] = ()

    def add(self, name: str, cell: Cell) -> None:
        """This field belongs into this cell."""
        self._names += (name,)
        self._cells.append((_columns_of(self.series.table)[cell.column][1], cell))
        self._in_order = None
        if cell.scale != 1 or cell.times or self.series.form is Form.RATE:
            self._plain = False
        if self._rates is not None:
            self._rates.append((cell.scale, cell.times))
            self._times += (cell.times,) if cell.times else ()

    def values(self, fields: Mapping[str, FieldValue]) -> tuple[Value, ...] | None:
        """The row; None if no field of it is there. Raises `PointError` for a wrong value."""
        given = tuple(map(fields.get, self._names))
        # The common case, counters only, without a call per column.
        if self._plain and _ONLY_INTEGERS.issuperset(map(type, given)):
            integers: tuple[int, ...] = given  # type: ignore[assignment]  # the line above proves it
            if min(integers) >= 0 and max(integers) <= LARGEST_INT64:
                return self._row(integers)
        if self._rates and _NUMBERS.issuperset(map(type, given)):
            found = self._whole_rates(given, fields)
            if found is not None:
                return self._row(found)
        values = tuple(
            _value(name, column, cell, fields)
            for name, (column, cell) in zip(self._names, self._cells, strict=True)
        )
        return self._row(values) if any(value is not None for value in values) else None

    def _whole_rates(
        self, given: tuple[Any, ...], fields: Mapping[str, Any]
    ) -> tuple[int, ...] | None:
        """All columns of a row of rates, without a call per column; None if that cannot be."""
        if not _NUMBERS.issuperset(map(type, map(fields.get, self._times))):
            return None
        assert self._rates is not None
        try:
            found = tuple(
                [
                    round(value * fields[times] * scale * RATE_UNITS)
                    if times
                    else round(value * scale * RATE_UNITS)
                    for value, (scale, times) in zip(given, self._rates, strict=True)
                ]
            )
        except (OverflowError, ValueError):
            return None
        return found if min(found) >= 0 and max(found) <= LARGEST_INT64 else None

    def _row(self, values: tuple[Value, ...]) -> tuple[Value, ...]:
        """In the order of the columns; those without a field are None."""
        if self._in_order is None:
            columns = _columns_of(self.series.table)
            order = [-1] * len(columns)
            for number, (_, cell) in enumerate(self._cells):
                order[columns[cell.column][0]] = number
            self._in_order = itemgetter(*order) if len(order) > 1 else lambda found: found[:1]
        return self._in_order((*values, None))


class HeadPlan:
    """How the points of one head are kept; it learns the names of fields as they come."""

    __slots__ = ("_facts", "_head", "_known", "_of_field", "_rows")

    def __init__(self, head: Head) -> None:
        self._head = head
        self._known: set[str] = set()
        self._facts: dict[str, FactField] = {}
        self._rows: dict[SeriesKey, RowPlan] = {}
        self._of_field: dict[str, list[RowPlan]] = defaultdict(list)

    def rows(self, fields: Mapping[str, FieldValue]) -> Iterable[RowPlan]:
        """The rows that these fields may belong to, however many others have."""
        if len(self._rows) <= len(fields):
            return self._rows.values()
        return dict.fromkeys(row for name in fields for row in self._of_field.get(name, ()))

    def learn(self, fields: Mapping[str, FieldValue]) -> None:
        """Take in the fields that no point of this head had before."""
        if fields.keys() <= self._known:
            return
        for name in sorted(fields.keys() - self._known):
            place = self._head.place(name)
            if isinstance(place, FactField):
                self._facts[name] = place
            elif place is not None:
                for cell in (place,) if isinstance(place, Cell) else place:
                    self._add(name, cell)
            self._known.add(name)

    def _add(self, name: str, cell: Cell) -> None:
        plan = self._rows.get(cell.series)
        if plan is None:
            plan = self._rows[cell.series] = RowPlan(cell.series)
        plan.add(name, cell)
        self._of_field[name].append(plan)

    def facts(self, fields: Mapping[str, FieldValue]) -> tuple[Fact, ...]:
        """What the point says of things, beside its numbers."""
        if not self._facts:
            return self._head.facts
        said = (field.fact(fields[name]) for name, field in self._facts.items() if name in fields)
        return (*self._head.facts, *said)


@cache
def _columns_of(table: Measurement) -> Mapping[str, tuple[int, Field]]:
    return {field.name: (place, field) for place, field in enumerate(table.fields)}


def _value(name: str, column: Field, cell: Cell, fields: Mapping[str, FieldValue]) -> Value:
    value, factor = fields.get(name), fields.get(cell.times) if cell.times else 1
    if value is None or factor is None:
        return None
    # Of all that a collector sends only numbers are gauges.
    if cell.series.table is GAUGE and isinstance(value, str | bool):
        return None
    return _column_value(name, column, _scaled(name, value, factor, cell))


def _scaled(name: str, value: FieldValue, factor: FieldValue, cell: Cell) -> FieldValue:
    unit = RATE_UNITS if cell.series.form is Form.RATE else 1
    if (cell.scale, factor, unit) == (1, 1, 1):
        return value
    numbers = [one for one in (value, factor) if isinstance(one, int | float)]
    if len(numbers) != 2 or isinstance(value, bool) or isinstance(factor, bool):
        raise PointError(f'field "{name}" must be a number')
    try:
        return round(numbers[0] * numbers[1] * cell.scale * unit)
    except (OverflowError, ValueError) as error:
        raise PointError(f'field "{name}" does not fit a signed 64-bit integer') from error


def _column_value(name: str, column: Field, value: FieldValue) -> Value:
    if isinstance(value, str | bool):
        kind = "a string" if isinstance(value, str) else "true or false"
        raise PointError(f'field "{name}" must be a {column.kind}, not {kind}')
    if column.kind is FieldKind.NUMBER:
        return float(value)
    if value != int(value):
        raise PointError(f'field "{name}" must be a {column.kind}, not a fraction')
    if value > LARGEST_INT64:
        raise PointError(f'field "{name}" does not fit a signed 64-bit integer')
    if value < 0:
        if column.kind is FieldKind.COUNTER:
            raise PointError(f'field "{name}" is a counter and cannot be negative')
        # Linux and Telegraf say -1 for what they do not know, such as the speed of a tunnel.
        return None
    return int(value)
