"""Rows of quarters: what is known of each, exactly, and nothing where nothing is."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from django.db import connection

from accounts.models import Organisation
from advisor.core.stored_hour import QuarterValues
from advisor.history.stored.partitions import Level, ensure_partitions
from advisor.history.stored.quarter_rows import write_quarters

HOUR = datetime(2026, 1, 15, 12, tzinfo=UTC)
UNKNOWN = np.nan


def quarters(values: list[list[list[float]]]) -> QuarterValues:
    """Figures of quarters of columns, each as its mean and its largest value."""
    return QuarterValues(mean=np.array(values), maximum=2 * np.array(values))


@pytest.mark.django_db
def test_quarter_has_a_row_if_anything_of_it_is_known() -> None:
    organisation = Organisation.objects.create(slug="one", name="One").pk
    ensure_partitions(organisation, [HOUR.date()], [Level.QUARTER])
    # Two figures of two tracks: the second is unknown throughout but for one figure of a quarter.
    first = [[1.5, UNKNOWN], [2.0, UNKNOWN], [UNKNOWN, UNKNOWN], [4.0, 0.25]]
    second = [[0.0, UNKNOWN], [-0.0, UNKNOWN], [UNKNOWN, UNKNOWN], [1e30, UNKNOWN]]

    write_quarters(organisation, HOUR, [7, 8], quarters([first, second]))

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT track_id, at, mean, maximum FROM advisor_history_quarter ORDER BY track_id, at"
        )
        rows = [(key, (at - HOUR) / timedelta(minutes=15), *rest) for key, at, *rest in cursor]
    # 1e30 and its double as 32 bits hold them
    large = float(np.float32(1e30))
    assert rows == [
        (7, 0, [1.5, 0.0], [3.0, 0.0]),
        (7, 1, [2.0, 0.0], [4.0, 0.0]),
        (7, 3, [4.0, pytest.approx(large)], [8.0, pytest.approx(2 * large)]),
        (8, 3, [0.25, None], [0.5, None]),
    ]


@pytest.mark.django_db
def test_hour_of_which_nothing_is_known_has_no_rows() -> None:
    organisation = Organisation.objects.create(slug="one", name="One").pk
    ensure_partitions(organisation, [HOUR.date()], [Level.QUARTER])

    write_quarters(organisation, HOUR, [7], quarters([[[UNKNOWN]] * 4]))

    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM advisor_history_quarter")
        assert cursor.fetchone() == (0,)
