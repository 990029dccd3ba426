"""Catalogue, tables, models and docs/metrics.md say the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.db import connection

from ingest import sources
from ingest.core.catalogue import MEASUREMENTS, FieldKind, Measurement
from ingest.core.figures import FIGURE_KINDS, FigureKind
from ingest.core.mapping import Source
from ingest.sources.registry import SOURCES
from scripts import metrics_page
from tests.ingest.scenario import Tenant, disk_line, now, write_lines

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


def test_page_of_metrics_is_what_the_catalogue_and_the_sources_say() -> None:
    assert metrics_page.PAGE.read_text() == metrics_page.page()


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.name)
def test_source_has_a_folder_with_a_readme_and_a_stock_configuration(source: Source) -> None:
    readme = Path(sources.__path__[0], source.name, "README.md").read_text()

    assert "```" in readme
    for measurement in source.measurements:
        assert measurement in readme


@pytest.mark.parametrize("kind", FIGURE_KINDS, ids=lambda kind: kind.name)
def test_rates_are_derived_from_counters_of_the_measurement(kind: FigureKind[Any]) -> None:
    counters = {field.name for field in kind.measurement.fields if field.kind is FieldKind.COUNTER}

    assert kind.counters
    assert len(set(kind.counters)) == len(kind.counters)
    assert set(kind.counters) <= counters
