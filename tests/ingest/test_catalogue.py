"""Catalogue, tables, models and docs/metrics.md say the same."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.db import connection

from ingest.core.canonical_figures import FIGURES
from ingest.core.catalogue import MEASUREMENTS, FieldKind, Measurement
from ingest.core.figures import FIGURE_KINDS, FigureKind
from tests.ingest.scenario import Tenant, disk_line, now, write_lines

METRICS = Path(__file__).parents[2] / "docs" / "metrics.md"
COLUMN_TYPES = {
    FieldKind.COUNTER: "bigint",
    FieldKind.WHOLE: "bigint",
    FieldKind.NUMBER: "double precision",
}


@pytest.fixture(params=MEASUREMENTS, ids=lambda measurement: measurement.name)
def measurement(request: pytest.FixtureRequest) -> Measurement:
    return request.param  # type: ignore[no-any-return]


def test_table_has_the_columns_of_the_catalogue(db: None, measurement: Measurement) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT column_name, data_type FROM information_schema.columns"
            " WHERE table_name = %s ORDER BY ordinal_position",
            [measurement.table],
        )
        columns = cursor.fetchall()

    assert columns == [
        ("series_id", "bigint"),
        ("time", "timestamp with time zone"),
        *((field.name, COLUMN_TYPES[field.kind]) for field in measurement.fields),
    ]


def test_model_reads_the_columns_of_the_catalogue(
    tenant: Tenant, measurement: Measurement
) -> None:
    (model,) = (m for m in apps.get_models() if m._meta.db_table == measurement.table)
    write_lines(tenant, disk_line(now()))

    names = [field.name for field in measurement.fields]

    assert [
        f.name for f in model._meta.concrete_fields if f.name not in ("series", "time")
    ] == names
    assert len(model.objects.values_list(*names)) == (1 if measurement.name == "diskio" else 0)


def test_document_has_every_field_with_type_unit_and_meaning(measurement: Measurement) -> None:
    section = re.search(
        rf"^## `{measurement.name}`\n(.*?)(?=^## |\Z)",
        METRICS.read_text(),
        re.MULTILINE | re.DOTALL,
    )
    assert section
    rows = re.findall(r"^\| `(\S+)` \| (.+?) \| (.+?) \| (.+?) \|$", section[1], re.MULTILINE)

    assert rows == [
        (field.name, field.kind.value, field.unit, field.meaning) for field in measurement.fields
    ]


def test_document_has_no_measurement_beside_the_catalogue() -> None:
    sections = re.findall(r"^## `(\w+)`$", METRICS.read_text(), re.MULTILINE)

    assert sections == [measurement.name for measurement in MEASUREMENTS]


@pytest.mark.parametrize("kind", FIGURE_KINDS, ids=lambda kind: kind.name)
def test_rates_are_derived_from_all_counters(kind: FigureKind[Any]) -> None:
    assert kind.counters == tuple(
        field.name for field in kind.measurement.fields if field.kind is FieldKind.COUNTER
    )


def test_page_of_metrics_lists_every_figure_of_the_history() -> None:
    rows = re.findall(
        r"^\| (\w+) \| `(\w+)` \| (\d+) \| (\w+) \| (.+) \|$", METRICS.read_text(), re.MULTILINE
    )

    assert rows == [
        (kind, figure.name, str(figure.number), figure.how, figure.unit)
        for kind, figures in FIGURES.items()
        for figure in figures
    ]
