"""Days of the sample tables, on either kind of table; the run's database says which it is."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta
from threading import Barrier, Event

import pytest
from django.db import connection, transaction

from ingest.models import DiskioSample, OpenHour, RejectedLine, Series, SystemSample
from ingest.partitions import (
    PART,
    PARTS_OF_A_DAY,
    TABLES,
    drop_partitions,
    ensure_partitions,
    ensure_parts,
)
from ingest.services.maintenance import DAYS_AHEAD, maintain_samples
from tests.ingest.scenario import (
    RETENTION,
    Tenant,
    disk_line,
    make_tenant,
    now,
    write_lines,
)
from tests.locks import wait_for_a_lock

DAY = timedelta(days=1)
ROWS = timedelta(hours=6)


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
        pytest.skip("does not apply: hypertables have no partition of a day")
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

    results = [maintain_samples(now=at, retention=RETENTION, rows=ROWS) for _ in range(2)]

    # The quarter of six hours ago, the present one, and those of three days.
    expected = (2 + DAYS_AHEAD * PARTS_OF_A_DAY) * len(TABLES) if native else 0
    assert [result.partitions_made for result in results] == [expected, 0]


def test_maintenance_forgets_series_and_refused_lines_of_long_ago(tenant: Tenant) -> None:
    long_ago = now() - 40 * DAY
    write_lines(tenant, disk_line(long_ago, name="gone"), "bad", at=long_ago)
    write_lines(tenant, disk_line(now(), name="here"), "bad")
    OpenHour.objects.all().delete()

    result = maintain_samples(now=now(), retention=RETENTION, rows=ROWS)

    assert (result.series_dropped, result.rejected_lines_dropped) == (1, 1)
    assert [series.subject for series in Series.objects.all()] == ["here"]
    assert DiskioSample.objects.count() == 1
    assert RejectedLine.objects.count() == 1


def test_samples_stay_until_their_hours_are_in_the_history(tenant: Tenant) -> None:
    long_ago = now() - 40 * DAY
    write_lines(tenant, disk_line(long_ago), at=long_ago)

    maintain_samples(now=now(), retention=RETENTION, rows=ROWS)
    kept = DiskioSample.objects.count()
    OpenHour.objects.all().delete()
    maintain_samples(now=now(), retention=RETENTION, rows=ROWS)

    assert (kept, DiskioSample.objects.count()) == (1, 0)


def test_rows_go_some_hours_after_their_time_once_their_hours_are_sealed(tenant: Tenant) -> None:
    midnight = now().replace(hour=0, minute=0, second=0) - 3 * DAY
    times = [midnight + timedelta(hours=hour) for hour in (3, 9, 15, 21)]
    write_lines(tenant, *(disk_line(at) for at in times), at=times[-1])
    # The hours of the second quarter are not sealed; those next to them need its samples too.
    OpenHour.objects.exclude(at=times[1]).delete()

    maintain_samples(now=midnight + timedelta(hours=24), retention=RETENTION, rows=ROWS)
    first = list(DiskioSample.objects.order_by("time").values_list("time", flat=True))
    OpenHour.objects.all().delete()
    maintain_samples(now=midnight + timedelta(hours=24), retention=RETENTION, rows=ROWS)
    then = list(DiskioSample.objects.values_list("time", flat=True))

    # The last quarter ended a moment ago.
    assert first == [times[1], times[3]]
    assert then == [times[3]]
    assert Series.objects.exists()


def test_samples_around_an_open_hour_stay(tenant: Tenant) -> None:
    noon = now().replace(hour=12, minute=0, second=0) - 3 * DAY
    times = [noon - timedelta(minutes=10), noon + timedelta(minutes=10)]
    write_lines(tenant, *map(disk_line, times), at=times[-1])
    OpenHour.objects.exclude(at=noon).delete()

    maintain_samples(now=noon + DAY, retention=RETENTION, rows=ROWS)

    assert DiskioSample.objects.count() == 2


def test_host_with_a_slow_clock_does_not_keep_the_rows_of_others(tenant: Tenant) -> None:
    at = now().replace(hour=3, minute=0) - 2 * DAY
    write_lines(tenant, disk_line(at), at=at)
    OpenHour.objects.all().delete()
    write_lines(tenant, disk_line(at - 20 * DAY, host="slow"), at=at)

    maintain_samples(now=at + DAY, retention=RETENTION, rows=ROWS)

    assert stored_days() == [(at - 20 * DAY).date()]


def test_samples_that_are_never_sealed_stay_for_days(tenant: Tenant) -> None:
    at = now() - 10 * DAY
    write_lines(tenant, f"system,host=h1 load1=1 {int(at.timestamp())}000000000", at=at)
    OpenHour.objects.all().delete()

    counts = []
    for days in (20, 31):
        maintain_samples(now=at + days * DAY, retention=RETENTION, rows=ROWS)
        counts.append(SystemSample.objects.count())

    assert counts == [1, 0]


def test_samples_that_are_being_written_when_their_partition_should_go_stay(
    committed: None,
) -> None:
    tenant = make_tenant()
    at = now().replace(hour=3, minute=0) - 2 * DAY
    write_lines(tenant, disk_line(at), at=at)
    OpenHour.objects.all().delete()
    written = Event()

    def write_slowly() -> None:
        try:
            with transaction.atomic():
                write_lines(tenant, disk_line(at + timedelta(hours=1)), at=at + DAY)
                written.set()
                wait_for_a_lock()
        finally:
            connection.close()

    def drop_meanwhile() -> None:
        try:
            assert written.wait(timeout=60)
            maintain_samples(now=at + DAY, retention=RETENTION, rows=ROWS)
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(write_slowly), pool.submit(drop_meanwhile)]:
            done.result(timeout=90)

    assert DiskioSample.objects.count() == 2


def test_partition_that_goes_before_it_is_written_to_is_made_again(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when the last late sample came long ago, and the next one comes as its rows go."""
    at, making = now() - 3 * DAY, ensure_parts
    dropped: list[int] = []

    def made_and_dropped(begins: Iterable[datetime]) -> int:
        made = making(begins)
        if not dropped:
            dropped.append(drop_partitions(before=at + DAY, only_sealed=True))
        return made

    monkeypatch.setattr("ingest.write.ensure_parts", made_and_dropped)
    result = write_lines(tenant, disk_line(at), at=at)

    assert result.changed_rows == 1
    assert DiskioSample.objects.count() == 1


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
        pytest.skip("does not apply: native tables have no chunks")
    with connection.cursor() as cursor:
        cursor.execute("SELECT DISTINCT time_interval FROM timescaledb_information.dimensions")
        assert cursor.fetchall() == [(PART,)]
