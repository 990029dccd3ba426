"""Days of the sample tables, on either kind of table; the run's database says which it is."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta
from threading import Barrier

import pytest
from django.db import connection

from ingest.models import DiskioSample, OpenHour, RejectedLine, Series
from ingest.partitions import TABLES, drop_partitions, ensure_partitions
from ingest.services.maintenance import DAYS_AHEAD, maintain_samples
from tests.ingest.scenario import RETENTION, Tenant, disk_line, now, write_lines

DAY = timedelta(days=1)


@pytest.fixture
def native(db: None) -> bool:
    """Whether the tables are native partitions, and not hypertables."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT relkind FROM pg_class WHERE relname = 'ingest_diskio_sample'")
        return bool(cursor.fetchone() == ("p",))


def stored_days() -> list[date]:
    return sorted({at.date() for at in DiskioSample.objects.values_list("time", flat=True)})


def test_tables_are_hypertables_exactly_where_timescaledb_is(native: bool) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_extension WHERE extname = 'timescaledb'")
        (extensions,) = cursor.fetchone()
        assert native == (extensions == 0)
        if not native:
            cursor.execute("SELECT hypertable_name FROM timescaledb_information.hypertables")
            assert sorted(name for (name,) in cursor.fetchall()) == sorted(TABLES)


def test_missing_days_are_made_once(native: bool) -> None:
    days = [date(2001, 2, 3), date(2001, 2, 4)]

    made = [ensure_partitions(days), ensure_partitions(days)]

    # Hypertables make their chunks themselves.
    assert made == ([len(TABLES) * 2, 0] if native else [0, 0])


def test_expired_days_are_dropped_and_the_others_kept(tenant: Tenant) -> None:
    today = now().replace(hour=12, minute=0)
    times = [today - days * DAY for days in (20, 10, 9, 1)]
    write_lines(tenant, *(disk_line(at) for at in times), at=today)

    dropped = drop_partitions(before=(today - 9 * DAY).replace(hour=0))

    assert dropped == 2 or stored_days() == [times[2].date(), times[3].date()]
    assert stored_days() == [times[2].date(), times[3].date()]


def test_day_that_is_expired_in_part_is_kept(tenant: Tenant) -> None:
    today = now().replace(hour=12, minute=0)
    write_lines(tenant, disk_line(today - 10 * DAY), at=today)

    drop_partitions(before=today - 10 * DAY + timedelta(hours=1))

    assert stored_days() == [(today - 10 * DAY).date()]


def test_maintenance_makes_the_coming_days_and_is_safe_to_repeat(native: bool) -> None:
    at = datetime(2001, 5, 6, 23, 59, tzinfo=UTC)

    results = [maintain_samples(now=at, retention=RETENTION) for _ in range(2)]

    expected = (DAYS_AHEAD + 1) * len(TABLES) if native else 0
    assert [result.partitions_made for result in results] == [expected, 0]


def test_maintenance_forgets_series_and_refused_lines_of_long_ago(tenant: Tenant) -> None:
    long_ago = now() - 40 * DAY
    write_lines(tenant, disk_line(long_ago, name="gone"), "bad", at=long_ago)
    write_lines(tenant, disk_line(now(), name="here"), "bad")
    OpenHour.objects.all().delete()

    result = maintain_samples(now=now(), retention=RETENTION)

    assert (result.series_dropped, result.rejected_lines_dropped) == (1, 1)
    assert [series.subject for series in Series.objects.all()] == ["here"]
    assert DiskioSample.objects.count() == 1
    assert RejectedLine.objects.count() == 1


def test_samples_stay_until_their_hours_are_in_the_history(tenant: Tenant) -> None:
    long_ago = now() - 40 * DAY
    write_lines(tenant, disk_line(long_ago), at=long_ago)

    maintain_samples(now=now(), retention=RETENTION)
    kept = DiskioSample.objects.count()
    OpenHour.objects.all().delete()
    maintain_samples(now=now(), retention=RETENTION)

    assert (kept, DiskioSample.objects.count()) == (1, 0)


def test_many_that_need_the_same_day_make_it_once(committed: None) -> None:
    start = Barrier(4)
    day = date(2001, 7, 8)

    def make(_: int) -> int:
        try:
            start.wait(timeout=30)
            return ensure_partitions([day])
        finally:
            connection.close()

    try:
        with ThreadPoolExecutor(4) as pool:
            made = list(pool.map(make, range(4)))
    finally:
        drop_partitions(before=datetime(2001, 7, 9, tzinfo=UTC))

    assert sorted(made) in ([0, 0, 0, len(TABLES)], [0, 0, 0, 0])
