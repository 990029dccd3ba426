"""Partitions of the history by organisation and time."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime

import pytest
from django.db import connection

from advisor.history.stored.partitions import (
    Level,
    Span,
    drop_before,
    drop_organisation,
    ensure_partitions,
    organisations_with_partitions,
    partitions_of,
    span_of,
)
from advisor.models import Chunk
from ingest.core.canonical_figures import COVERED, FIGURES

pytestmark = pytest.mark.django_db

MAY = [date(2026, 5, 30), date(2026, 5, 31), date(2026, 6, 1)]


def test_span_is_a_day_a_month_or_a_year() -> None:
    day = date(2026, 12, 31)

    assert {level: span_of(level, day) for level in Level} == {
        Level.EXACT: Span(begin=day, end=date(2027, 1, 1)),
        Level.QUARTER: Span(begin=date(2026, 12, 1), end=date(2027, 1, 1)),
        Level.DAY: Span(begin=date(2026, 1, 1), end=date(2027, 1, 1)),
    }


def test_missing_partitions_are_made_once() -> None:
    for _ in range(2):
        ensure_partitions(7, MAY, Level)

    assert {level: len(partitions_of(7, level)) for level in Level} == {
        Level.EXACT: 3,
        Level.QUARTER: 2,
        Level.DAY: 1,
    }


def test_retention_of_one_organisation_leaves_the_other_alone() -> None:
    for organisation in (7, 8):
        ensure_partitions(organisation, MAY, [Level.EXACT])
        for day in MAY:
            at = datetime(day.year, day.month, day.day, 12, tzinfo=UTC)
            Chunk.objects.create(
                organisation_id=organisation, shard_id=1, figure=1, at=at, data=b"x"
            )

    dropped = drop_before(7, Level.EXACT, MAY[2])

    assert dropped == 2
    kept = Chunk.objects.order_by("organisation_id", "at").values_list(
        "organisation_id", "at__day"
    )
    assert list(kept) == [(7, 1), (8, 30), (8, 31), (8, 1)]


def test_all_of_an_organisation_goes_at_once() -> None:
    for organisation in (7, 8):
        ensure_partitions(organisation, MAY, Level)

    drop_organisation(7)

    assert organisations_with_partitions() == {8}


def test_partitions_keep_chunks_uncompressed_by_the_database() -> None:
    """They are compressed already; EXTERNAL is `e`."""
    ensure_partitions(7, MAY[:1], [Level.EXACT])

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT attstorage FROM pg_attribute"
            " WHERE attrelid = 'advisor_history_chunk_o7_p20260530'::regclass AND attname = 'data'"
        )
        assert cursor.fetchone() == ("e",)


def test_view_names_the_figures_in_the_order_of_their_places() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_get_viewdef('history_15min')")
        (definition,) = cursor.fetchone()

    rows = re.findall(r"'(\w+)'::text,\s*(\d+),\s*'(\w+)'::text,\s*'([^']+)'::text", definition)
    assert [(kind, int(place), name, unit) for kind, place, name, unit in rows] == [
        (kind, place, figure.name, figure.rate_unit)
        for kind, figures in FIGURES.items()
        for place, figure in enumerate(figures, start=1)
        if figure.name != COVERED
    ]


def test_figures_have_numbers_and_names_of_their_own() -> None:
    numbers = [figure.number for figures in FIGURES.values() for figure in figures]

    assert len(numbers) == len(set(numbers))
    assert all(len({one.name for one in own}) == len(own) for own in FIGURES.values())
