"""Times come back from the database as they went in, to the microsecond."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from django.db import connection
from psycopg.postgres import types
from psycopg.pq import Format

from accounts.database_times import TimeLoader

pytestmark = pytest.mark.django_db
INDIA = timezone(timedelta(hours=5, minutes=30))


def returned(at: datetime | None) -> datetime | None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT %s::timestamptz", [at])
        found: datetime | None = cursor.fetchone()[0]
        return found


@pytest.mark.parametrize(
    "at",
    [
        datetime(2026, 3, 2, 12, tzinfo=UTC),
        datetime(2026, 3, 2, 12, 0, 0, 1, tzinfo=UTC),
        datetime(2026, 3, 2, 12, 0, 59, 120000, tzinfo=UTC),
        datetime(1970, 1, 1, tzinfo=UTC),
        datetime(2026, 3, 2, 23, 59, 59, 999999, tzinfo=INDIA),
    ],
    ids=["whole", "a microsecond", "fewer digits", "long ago", "another zone"],
)
def test_time_comes_back_in_utc(at: datetime) -> None:
    found = returned(at)

    assert found == at
    assert found is not None
    assert found.tzinfo is UTC


def test_no_time_stays_none() -> None:
    assert returned(None) is None


def test_connections_read_times_at_once() -> None:
    returned(None)

    assert connection.connection is not None
    loader = connection.connection.adapters.get_loader(types["timestamptz"].oid, Format.TEXT)
    assert loader is TimeLoader


def test_session_in_another_zone_tells_the_same_moment() -> None:
    at = datetime(2026, 3, 2, 12, 30, tzinfo=UTC)

    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL timezone = 'Asia/Kolkata'")
        found = returned(at)

    assert found == at
