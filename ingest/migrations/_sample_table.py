"""How migrations make the table of a measurement and the model that reads it.

It is a hypertable where TimescaleDB is installed, else partitioned by time, in partitions that
`ingest.partitions` makes. The primary key makes a repeated write harmless and is the only index:
every question names its series.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import django.db.models.deletion
from django.db import migrations, models
from django.db.migrations.operations.base import Operation

_FIELDS: Mapping[str, type[models.Field[Any, Any]]] = {
    "bigint": models.BigIntegerField,
    "double precision": models.FloatField,
}


def integers(*names: str) -> dict[str, str]:
    """Columns of whole numbers."""
    return dict.fromkeys(names, "bigint")


def floats(*names: str) -> dict[str, str]:
    """Columns of numbers with a fraction."""
    return dict.fromkeys(names, "double precision")


def sample_table(
    model: str, table: str, columns: Mapping[str, str], *, chunk: str = "1 day"
) -> list[Operation]:
    """The operations that make a sample table with these columns, each of which may be null.

    With TimescaleDB a chunk of it covers the time `chunk`.
    """
    return [
        migrations.RunPython(
            partial(_create, table=table, columns=columns, chunk=chunk),
            partial(_drop, table=table),
        ),
        _model(model, table, columns),
    ]


def _create(
    _: Any, schema_editor: Any, *, table: str, columns: Mapping[str, str], chunk: str
) -> None:
    own = ", ".join(f'"{name}" {kind}' for name, kind in columns.items())
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'timescaledb')")
        (timescaledb,) = cursor.fetchone()
        cursor.execute(
            f"CREATE TABLE {table} (series_id bigint NOT NULL, time timestamptz NOT NULL,"
            f" {own}, PRIMARY KEY (series_id, time))"
            + ("" if timescaledb else " PARTITION BY RANGE (time)")
        )
        if timescaledb:
            cursor.execute(
                "SELECT create_hypertable(%s, by_range('time', %s::interval),"
                " create_default_indexes => false)",
                [table, chunk],
            )


def _drop(_: Any, schema_editor: Any, *, table: str) -> None:
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(f"DROP TABLE {table}")


def _model(name: str, table: str, columns: Mapping[str, str]) -> Operation:
    return migrations.CreateModel(
        name=name,
        fields=[
            (
                "pk",
                models.CompositePrimaryKey(
                    "series_id",
                    "time",
                    blank=True,
                    editable=False,
                    primary_key=True,
                    serialize=False,
                ),
            ),
            (
                "series",
                models.ForeignKey(
                    db_constraint=False,
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="+",
                    to="ingest.series",
                ),
            ),
            ("time", models.DateTimeField()),
            *((column, _FIELDS[kind](null=True)) for column, kind in columns.items()),
        ],
        options={"db_table": table, "managed": False, "abstract": False},
    )
