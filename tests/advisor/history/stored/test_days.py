"""Rows of days, and what retention leaves of the levels."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta

import pytest
from django.db import connection

from advisor.core.histogram import RELATIVE_ERROR, counts_of, merged, percentile
from advisor.history.stored import seal as sealing
from advisor.history.stored.days import make_days
from advisor.history.stored.partitions import Level, drop_before, partitions_of
from advisor.history.stored.retention import (
    drop_expired,
    drop_of_deleted_organisations,
    exact_since,
    kept_by,
)
from advisor.models import Chunk, Day, HistoryRetention, Quarter, StaleDay
from advisor.pipeline.store_history import store_history
from ingest.core.canonical_figures import FIGURES
from ingest.core.figures import INTERFACE
from ingest.models import OpenHour
from tests.advisor.history.stored.hosts import (
    HOUR,
    MINUTE,
    after,
    hour_of_tests,
    seal_all,
    send_net,
    times,
)
from tests.ingest.scenario import Tenant

pytestmark = pytest.mark.django_db

BYTES_SENT = FIGURES[INTERFACE.name][0].number
DAY = timedelta(days=1)


def two_hours(tenant: Tenant) -> datetime:
    """An hour of 7 bytes a second and one of 70; when both were sealed, its day was over."""
    hour = hour_of_tests()
    send_net(tenant, times(hour, hour + HOUR), per_s=7)
    send_net(tenant, times(hour + 2 * HOUR, hour + 3 * HOUR), begun=hour + HOUR, per_s=70)
    return hour


def day_of(hour: datetime) -> date:
    return hour.date()


def make(tenant: Tenant, now: datetime) -> int:
    return make_days(organisation=tenant.organisation, now=now, limit_s=60.0)


def test_day_has_mean_maximum_and_distribution(tenant: Tenant) -> None:
    hour = two_hours(tenant)
    seal_all(tenant, hour + DAY)

    make(tenant, hour + 2 * DAY)

    row = Day.objects.get(figure=BYTES_SENT, day=day_of(hour))
    data = bytes(row.histogram)
    assert (row.mean, row.maximum) == (pytest.approx((7 + 70) / 2), 70)
    assert counts_of(data).sum() == 720
    assert percentile(data, 50) == pytest.approx(7, rel=RELATIVE_ERROR)
    assert percentile(data, 51) == pytest.approx(70, rel=RELATIVE_ERROR)


def test_two_days_add_up(tenant: Tenant) -> None:
    hour = two_hours(tenant)
    send_net(tenant, times(hour - DAY, hour - DAY + HOUR), name="eth0", per_s=7)
    seal_all(tenant, hour + DAY)
    make(tenant, hour + 2 * DAY)

    rows = Day.objects.filter(figure=BYTES_SENT)
    whole = merged(bytes(row.histogram) for row in rows)
    assert counts_of(whole).sum() == 3 * 360


def test_day_that_is_not_over_waits(tenant: Tenant) -> None:
    hour = two_hours(tenant)
    seal_all(tenant, hour + DAY)
    midnight = hour.replace(hour=0) + DAY

    made = [
        make(tenant, midnight + HOUR + 19 * MINUTE),
        make(tenant, midnight + DAY),
    ]

    assert made == [0, 1]
    assert not StaleDay.objects.exists()


def test_late_samples_make_the_day_again(tenant: Tenant) -> None:
    hour = two_hours(tenant)
    seal_all(tenant, hour + DAY)
    make(tenant, hour + 2 * DAY)

    send_net(tenant, times(hour + HOUR + MINUTE, hour + 2 * HOUR - MINUTE), name="eth1")
    seal_all(tenant, hour + DAY)
    stale = list(StaleDay.objects.values_list("day", flat=True))
    make(tenant, hour + 2 * DAY)

    assert stale == [day_of(hour)]
    assert Day.objects.filter(figure=BYTES_SENT).count() == 2


def test_upkeep_does_all_three_and_is_safe_to_repeat(tenant: Tenant) -> None:
    hour = two_hours(tenant)
    runs = [
        store_history(organisation=tenant.organisation, now=hour + 31 * DAY, limit_s=60.0)
        for _ in range(2)
    ]

    assert [(run.days, run.partitions_dropped) for run in runs] == [(1, 1), (0, 0)]
    assert not Chunk.objects.exists()
    assert Quarter.objects.exists()
    assert Day.objects.exists()


class TestRetention:
    def test_each_level_is_dropped_in_its_time(self, tenant: Tenant) -> None:
        hour = two_hours(tenant)
        own = tenant.organisation
        store_history(organisation=own, now=hour + DAY, limit_s=60.0)

        def left(now: datetime) -> dict[Level, int]:
            store_history(organisation=own, now=now, limit_s=60.0)
            return {level: len(partitions_of(own.pk, level)) for level in Level}

        assert left(hour + 30 * DAY) == {Level.EXACT: 1, Level.QUARTER: 1, Level.DAY: 1}
        assert left(hour + 31 * DAY) == {Level.EXACT: 0, Level.QUARTER: 1, Level.DAY: 1}
        assert left(hour + 400 * DAY) == {Level.EXACT: 0, Level.QUARTER: 0, Level.DAY: 1}
        assert left(hour + 7 * 366 * DAY) == {Level.EXACT: 0, Level.QUARTER: 0, Level.DAY: 0}

    def test_longer_retention_begins_where_something_was_dropped_last(
        self, tenant: Tenant, stranger: Tenant
    ) -> None:
        hour = hour_of_tests()
        own, other = tenant.organisation.pk, stranger.organisation.pk
        now = hour + 5 * DAY
        later = hour + 6 * DAY
        stated = HistoryRetention.objects.create(
            organisation=tenant.organisation, exact_days=2, quarter_days=400, day_days=400
        )
        midnight = datetime.combine(day_of(hour), time(), tzinfo=UTC)
        send_net(tenant, times(hour, hour + HOUR))
        store_history(organisation=tenant.organisation, now=now, limit_s=60.0)
        assert exact_since([own], now=now) == {own: now - 2 * DAY}

        # Another hour of that day comes late and is dropped, though four days are kept by now.
        HistoryRetention.objects.update(exact_days=4)
        send_net(tenant, times(hour, hour + HOUR), name="eth1")
        for _ in range(2):
            store_history(organisation=tenant.organisation, now=later, limit_s=60.0)
        stated.delete()

        # The first time the days up to the third were dropped, the second time up to the second.
        assert not Chunk.objects.exists()
        assert exact_since([own, other], now=later) == {
            own: midnight + 3 * DAY,
            other: later - 30 * DAY,
        }

    def test_organisation_keeps_what_it_states_and_no_other_does(
        self, tenant: Tenant, stranger: Tenant
    ) -> None:
        hour = hour_of_tests()
        HistoryRetention.objects.create(
            organisation=tenant.organisation, exact_days=2, quarter_days=400, day_days=400
        )
        for one in (tenant, stranger):
            send_net(one, times(hour, hour + HOUR))
            store_history(organisation=one.organisation, now=hour + 3 * DAY, limit_s=60.0)

        assert set(Chunk.objects.values_list("organisation_id", flat=True)) == {
            stranger.organisation.pk
        }
        assert kept_by(tenant.organisation).exact_days == 2

    def test_exact_hours_stay_until_their_day_is_made(self, tenant: Tenant) -> None:
        hour = two_hours(tenant)
        seal_all(tenant, hour + DAY)
        later = hour + 40 * DAY

        drop_expired(organisation=tenant.organisation, now=later)
        kept = Chunk.objects.exists()
        make(tenant, later)
        drop_expired(organisation=tenant.organisation, now=later)

        assert (kept, Chunk.objects.exists()) == (True, False)
        assert Day.objects.exists()

    def test_retention_that_is_shortened_while_an_hour_is_sealed_leaves_it_open(
        self, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        hour = two_hours(tenant)
        writing = sealing.write_chunks

        def dropped_before(
            organisation: int, at: datetime, data: dict[tuple[int, int], bytes]
        ) -> int:
            monkeypatch.setattr(sealing, "write_chunks", writing)
            drop_before(organisation, Level.EXACT, at.date() + DAY)
            return writing(organisation, at, data)

        monkeypatch.setattr(sealing, "write_chunks", dropped_before)
        first = seal_all(tenant, after(hour))
        open_hours = list(OpenHour.objects.order_by("at").values_list("at", flat=True))
        seal_all(tenant, after(hour))

        assert first.left == 1
        assert open_hours[0] == hour
        assert Chunk.objects.filter(at=hour).exists()

    def test_history_of_a_deleted_organisation_goes_with_it(
        self, tenant: Tenant, stranger: Tenant
    ) -> None:
        hour = hour_of_tests()
        for one in (tenant, stranger):
            send_net(one, times(hour, hour + HOUR))
            seal_all(one, after(hour))

        stranger.organisation.delete()
        drop_of_deleted_organisations()

        assert set(Chunk.objects.values_list("organisation_id", flat=True)) == {
            tenant.organisation.pk
        }


def test_quarters_are_read_by_name_through_the_view(tenant: Tenant) -> None:
    hour = hour_of_tests()
    send_net(tenant, times(hour, hour + HOUR + MINUTE))
    seal_all(tenant, after(hour))

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT organisation, host, subject, unit, at, mean, maximum FROM history_15min"
            " WHERE figure = 'bytes_received' AND at >= %s ORDER BY at LIMIT 1",
            [hour],
        )
        row = cursor.fetchone()

    # It receives twice what it sends.
    assert row == ("northgate", "h1", "eth0", "bytes/s", hour, 14.0, 14.0)
