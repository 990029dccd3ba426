"""Days of the sample tables, on either kind of table; the run's database says which it is."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta
from threading import Barrier

import pytest
from django.db import connection

from ingest.models import DiskioSample, OpenHour, RejectedLine, Series
from ingest.partitions import PART, PARTS_OF_A_DAY, TABLES, drop_partitions, ensure_partitions
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
    assert made == ([len(TABLES) * 2 * PARTS_OF_A_DAY, 0] if native else [0, 0])


def test_expired_days_are_dropped_and_the_others_kept(tenant: Tenant) -> None:
    today = now().replace(hour=12, minute=0)
    times = [today - days * DAY for days in (20, 10, 9, 1)]
    write_lines(tenant, *(disk_line(at) for at in times), at=today)

    dropped = drop_partitions(before=(today - 9 * DAY).replace(hour=0))

    assert dropped == 2 or stored_days() == [times[2].date(), times[3].date()]
    assert stored_days() == [times[2].date(), times[3].date()]


def test_quarter_of_a_day_that_is_expired_in_part_is_kept(tenant: Tenant) -> None:
    noon = now().replace(hour=12, minute=0) - 10 * DAY
    times = [noon - timedelta(minutes=1), noon + timedelta(minutes=1)]
    write_lines(tenant, *map(disk_line, times), at=noon + DAY)

    drop_partitions(before=noon + timedelta(hours=5))

    assert list(DiskioSample.objects.values_list("time", flat=True)) == [times[1]]


def test_day_that_was_made_whole_is_written_to_and_dropped(tenant: Tenant, native: bool) -> None:
    if not native:
        pytest.skip("hypertables have no partition of a day")
    noon = now().replace(hour=12, minute=0) - 10 * DAY
    midnight = noon.replace(hour=0)
    with connection.cursor() as cursor:
        for table in TABLES:
            cursor.execute(
                f"CREATE TABLE {table}_p{noon:%Y%m%d} PARTITION OF {table}"
                f" FOR VALUES FROM ('{midnight}') TO ('{midnight + DAY}')"
            )

    write_lines(tenant, disk_line(noon), at=noon + DAY)
    drop_partitions(before=midnight + DAY - timedelta(hours=1))
    kept = stored_days()
    drop_partitions(before=midnight + DAY)

    assert (kept, stored_days()) == ([noon.date()], [])


def test_maintenance_makes_the_coming_days_and_is_safe_to_repeat(native: bool) -> None:
    at = datetime(2001, 5, 6, 23, 59, tzinfo=UTC)

    results = [maintain_samples(now=at, retention=RETENTION) for _ in range(2)]

    expected = (DAYS_AHEAD + 1) * len(TABLES) * PARTS_OF_A_DAY if native else 0
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

    assert sorted(made) in ([0, 0, 0, len(TABLES) * PARTS_OF_A_DAY], [0, 0, 0, 0])


def test_chunks_of_hypertables_are_as_short_as_partitions(native: bool) -> None:
    if native:
        pytest.skip("native tables have no chunks")
    with connection.cursor() as cursor:
        cursor.execute("SELECT DISTINCT time_interval FROM timescaledb_information.dimensions")
        assert cursor.fetchall() == [(PART,)]
