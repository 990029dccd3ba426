"""The list of hours to seal grows with each write, and with nothing else."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.core.grid import LONGEST_INTERVAL_S
from ingest.models import OpenHour
from ingest.series_rows import open_hours_of
from tests.ingest.scenario import Tenant, disk_line, write_lines

NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
HOUR_US = 3_600_000_000


@pytest.mark.parametrize(
    ("minute", "hours"),
    [(0, [11, 12]), (14, [11, 12]), (15, [12]), (29, [12]), (30, [12, 13]), (59, [12, 13])],
)
def test_reading_near_the_edge_of_an_hour_opens_both(
    tenant: Tenant, minute: int, hours: list[int]
) -> None:
    at = NOON + minute * MINUTE
    write_lines(tenant, disk_line(at), at=at)

    assert [row.at.hour for row in OpenHour.objects.all()] == hours


@given(st.integers(0, 10**15))
def test_all_that_a_reading_may_change_is_open(time_us: int) -> None:
    """The interval before it, the one after it, and whether the next one counts."""
    reach_us = round(LONGEST_INTERVAL_S * 1e6)
    hours = [at_us for _, at_us in open_hours_of([(1, time_us)])]

    assert hours[0] <= time_us - reach_us
    assert hours[-1] + HOUR_US >= time_us + 2 * reach_us


def test_hours_are_of_the_host_that_sent(tenant: Tenant, stranger: Tenant) -> None:
    at = NOON + 20 * MINUTE
    for one in (tenant, stranger):
        write_lines(one, disk_line(at), disk_line(at, name="sdb"), at=at)

    rows = OpenHour.objects.values_list("host__organisation__slug", "at")
    assert sorted(rows) == [("lakeside", NOON), ("northgate", NOON)]


def test_body_that_changes_nothing_opens_nothing(tenant: Tenant) -> None:
    at = NOON + 20 * MINUTE
    write_lines(tenant, disk_line(at), at=at)
    OpenHour.objects.all().delete()

    write_lines(tenant, disk_line(at), at=at)

    assert not OpenHour.objects.exists()
