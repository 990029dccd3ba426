"""Rows of every model, and what is in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from graphlib import TopologicalSorter
from itertools import count
from typing import Any

from django.apps.registry import Apps
from django.db import connection, models

ROWS = 3
"""The last row of a model has nothing where nothing is allowed."""
FIRST_NUMBER = 10_000
"""The least primary key of a row that is made here."""
DAY = datetime(2026, 11, 20, tzinfo=UTC)
MADE_BY_DJANGO = frozenset({"auth.permission", "contenttypes.contenttype"})

Values = Mapping[str, Any]
"""The values of a row, by field; of several related rows, their numbers in order."""


def models_of(apps: Apps) -> list[type[models.Model]]:
    """Every model that has rows of people, hosts or tasks; none before those that it refers to."""
    mine = {
        model: [
            column.related_model
            for column in (*model._meta.fields, *model._meta.many_to_many)
            if column.is_relation and column.related_model is not model
        ]
        for model in apps.get_models()
    }
    return [
        model
        for model in TopologicalSorter(mine).static_order()
        if model._meta.label_lower not in MADE_BY_DJANGO
    ]


def fill(apps: Apps) -> None:
    """Make rows in which no two values are equal, so that one in the wrong place shows."""
    numbers = count(1)
    made: dict[str, list[models.Model]] = {}
    for order, model in enumerate(models_of(apps)):
        _prepare(model, first_number=FIRST_NUMBER * (order + 1))
        rows = made[model._meta.label_lower] = []
        for row in range(ROWS):
            rows.append(
                model._default_manager.create(
                    **{
                        column.name: _value(column, row, next(numbers), made)
                        for column in model._meta.fields
                        if not _is_made_by_the_database(column)
                    }
                )
            )
            for several in model._meta.many_to_many:
                getattr(rows[-1], several.name).set(made.get(_target(several), [])[: row + 1])


def stored(model: type[models.Model]) -> dict[Any, Values]:
    """All rows of a model by their primary key."""
    return {row.pk: dict(_values(row)) for row in model._default_manager.order_by("pk")}


def _values(row: models.Model) -> Iterator[tuple[str, Any]]:
    for column in row._meta.fields:
        if not isinstance(column, models.CompositePrimaryKey):
            yield column.name, getattr(row, column.attname)
    for several in row._meta.many_to_many:
        yield several.name, sorted(getattr(row, several.name).values_list("pk", flat=True))


def _prepare(model: type[models.Model], *, first_number: int) -> None:
    """Number rows differently in every table; give a sample table a partition for its rows."""
    table = model._meta.db_table
    with connection.cursor() as cursor:
        if isinstance(model._meta.pk, models.AutoField):
            cursor.execute(f"ALTER TABLE {table} ALTER COLUMN id RESTART WITH {first_number}")
        elif _is_partitioned(table):
            cursor.execute(
                f"CREATE TABLE {table}_p{DAY:%Y%m%d} PARTITION OF {table}"
                f" FOR VALUES FROM ('{DAY}') TO ('{DAY + timedelta(days=1)}')"
            )


def _is_partitioned(table: str) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT relkind = 'p' FROM pg_class WHERE relname = %s", [table])
        (partitioned,) = cursor.fetchone()
    return bool(partitioned)


def _is_made_by_the_database(column: models.Field[Any, Any]) -> bool:
    return isinstance(column, models.AutoField | models.CompositePrimaryKey)


def _target(column: models.Field[Any, Any]) -> str:
    return str(column.related_model._meta.label_lower)


def _value(
    column: models.Field[Any, Any], row: int, number: int, made: dict[str, list[models.Model]]
) -> Any:
    if column.null and row == ROWS - 1:
        return None
    if column.is_relation:
        related = made[_target(column)]
        # A row that refers to its own kind refers to the one before it.
        return related[min(row, len(related) - 1)] if related else None
    if column.choices:
        # The first two are choices to this day; tokens had others, which are removed.
        return [value for value, _ in column.flatchoices][row % min(2, len(column.flatchoices))]
    return _plain_value(column, number)


def _plain_value(column: models.Field[Any, Any], number: int) -> Any:
    match column:
        case models.BooleanField():
            return number % 2 == 0
        case models.FloatField():
            return number + 0.1
        case models.IntegerField():
            return number
        case models.DateTimeField():
            return DAY + timedelta(seconds=number, microseconds=number)
        case models.JSONField():
            return {"text": f"ü {number}", "list": [number, number + 0.1, None, True, {}]}
        case models.SlugField():
            return f"{column.name}-{number}"
        case models.CharField():
            text = f"{column.name} ü {number}"
            return text[-column.max_length :] if column.max_length else text
        case models.TextField():
            return f"{column.name} ü\n{number}"
    raise AssertionError(f"no value is known for {column!r}")
