"""The page of maintenance windows: planning work, seeing when it comes, removing it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from accounts.models import AuditEntry
from advisor.core.detection.maintenance_windows import (
    MaintenanceWindow as Window,
)
from advisor.core.detection.maintenance_windows import (
    Recurrence,
    occurrences,
)
from advisor.models import MaintenanceWindow
from config.database_roles import DatabaseRole
from tests.config.roles import acting_as, make_roles
from tests.web.conftest import client_of
from tests.web.fleet import Fleet
from tests.web.html import page_of

FORM = {
    "name": "backup", "start": "2026-03-27T23:30", "zone": "Europe/Berlin", "minutes": "90",
    "recurrence": "daily", "resources": "nfs-07\r\n\r\nnfs-07", "workloads": "batch-3",
}  # fmt: skip
HOUR = timedelta(hours=1)
TIMES = st.datetimes(
    datetime(2020, 1, 1),  # noqa: DTZ001  hypothesis gives them their zone
    datetime(2030, 1, 1),  # noqa: DTZ001
    timezones=st.just(UTC),
)


@pytest.fixture
def operator(fleet: Fleet) -> Client:
    return client_of(fleet.people.operator)


def text_of(client: Client) -> str:
    return " ".join(page_of(client.get("/settings/maintenance/")).text("main").split())


def plan(client: Client, **changed: str) -> str:
    answer = client.post("/settings/maintenance/plan/", {**FORM, **changed}, follow=True)
    return page_of(answer).all_text()


def test_work_is_planned_shown_and_removed(viewer: Client, operator: Client) -> None:
    make_roles()

    with acting_as(DatabaseRole.WEB):
        said = plan(operator)
        row = MaintenanceWindow.objects.get()
        names = [one.name for one in (*row.resources.all(), *row.workloads.all())]
        shown = text_of(viewer)
        operator.post(f"/settings/maintenance/{row.pk}/remove/")

    assert "backup is planned." in said
    assert row.starts_at == datetime(2026, 3, 27, 22, 30, tzinfo=UTC)
    assert names == ["nfs-07", "batch-3"]
    assert "daily, 23:30 Europe/Berlin, for 90 minutes" in shown
    assert shown.count(" backup") >= 14
    assert not MaintenanceWindow.objects.exists()
    assert [one.action for one in AuditEntry.objects.order_by("number")][-2:] == [
        "state maintenance window", "remove maintenance window",
    ]  # fmt: skip


def test_times_of_another_zone_are_shown_in_utc(
    fleet: Fleet, operator: Client, viewer: Client
) -> None:
    begins = (fleet.now + HOUR).replace(second=0, microsecond=0)
    local = begins.astimezone(ZoneInfo("Asia/Kolkata"))
    plan(operator, zone="Asia/Kolkata", start=f"{local:%Y-%m-%dT%H:%M}")

    shown = text_of(viewer)

    assert f"{local:%H:%M} Asia/Kolkata" in shown
    ends = begins + timedelta(minutes=90)
    assert f"{begins:%Y-%m-%d %H:%M} to {ends:%H:%M} UTC backup" in shown


def test_work_that_goes_on_says_until_when(fleet: Fleet, operator: Client, viewer: Client) -> None:
    began = fleet.now - HOUR
    plan(operator, recurrence="once", zone="UTC", start=f"{began:%Y-%m-%dT%H:%M}")

    assert "now, until" in text_of(viewer)


def test_work_that_is_over_and_work_far_ahead_are_told_apart(
    fleet: Fleet, operator: Client, viewer: Client
) -> None:
    ahead = fleet.now + timedelta(days=400)
    plan(operator, recurrence="once")
    plan(operator, name="move", recurrence="once", zone="UTC", start=f"{ahead:%Y-%m-%dT%H:%M}")

    page = page_of(viewer.get("/settings/maintenance/"))

    assert page.row("main", "backup")[1] == "over"
    assert f"{ahead:%Y-%m-%d %H:%M}" in page.row("main", "move")[1]
    assert "Nothing is planned." in page.all_text()


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"start": "tomorrow"}, '"tomorrow" is not a time'),
        ({"start": "0001-01-01T00:00"}, "a year is from 2000 to 2200, not 1"),
        ({"start": "9999-12-31T23:59"}, "a year is from 2000 to 2200, not 9999"),
        ({"zone": "../etc/passwd"}, "is not a time zone"),
        ({"zone": ""}, "is not a time zone"),
        ({"minutes": "0"}, "from 1 to 10080"),
        ({"minutes": "9e9"}, "from 1 to 10080"),
        ({"minutes": "2000"}, "daily work lasts at most 86400 s"),
        ({"recurrence": "yearly"}, '"yearly" is not one of once, daily, weekly'),
        ({"resources": "nowhere"}, 'there is no resource "nowhere"'),
        ({"workloads": "nobody"}, 'there is no workload "nobody"'),
        ({"workloads": "\r\n".join(map(str, range(1001)))}, "at most 1000 of each"),
        ({"name": " "}, "a maintenance window needs a name"),
    ],
)
def test_what_cannot_be_planned_is_told(operator: Client, wrong: dict[str, str], why: str) -> None:
    assert why in plan(operator, **wrong)
    assert not MaintenanceWindow.objects.exists()


def test_name_is_taken_once(operator: Client) -> None:
    plan(operator)

    assert 'there is a maintenance window "backup" already' in plan(operator)


def test_viewer_sees_and_plans_nothing(viewer: Client, operator: Client) -> None:
    plan(operator)
    row = MaintenanceWindow.objects.get()

    assert "Plan work" not in text_of(viewer)
    assert viewer.post("/settings/maintenance/plan/", FORM).status_code == 403
    assert viewer.post(f"/settings/maintenance/{row.pk}/remove/").status_code == 403
    assert MaintenanceWindow.objects.count() == 1


@given(
    recurrence=st.sampled_from(Recurrence),
    first=TIMES,
    since=TIMES,
    length_min=st.integers(1, 1440),
    days=st.integers(0, 30),
)
def test_times_lie_within_what_was_asked_and_follow_each_other(
    recurrence: Recurrence, first: datetime, since: datetime, length_min: int, days: int
) -> None:
    window = Window(
        name="w", starts_at=first, length_s=60.0 * length_min,
        recurrence=recurrence,
    )  # fmt: skip
    begin, end = since, since + timedelta(days=days)

    found = list(occurrences(window, since=begin, until=end))

    step = {Recurrence.DAILY: timedelta(days=1), Recurrence.WEEKLY: timedelta(days=7)}
    starts = [one for one, _ in found]
    assert all(one < end and until > begin for one, until in found)
    assert all(until - one == timedelta(minutes=length_min) for one, until in found)
    assert all(one >= window.starts_at for one in starts)
    if recurrence is Recurrence.ONCE:
        assert len(found) <= 1
    else:
        every = step[recurrence]
        assert all(later - one == every for one, later in pairwise(starts))
        if end > max(begin, window.starts_at) + every:
            assert len(found) >= 1


def test_daily_work_keeps_its_hour_over_a_night_in_which_clocks_change() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    window = Window(
        name="w", starts_at=datetime(2026, 3, 27, 23, 30, tzinfo=berlin), length_s=5400.0,
        recurrence=Recurrence.DAILY,
    )  # fmt: skip
    since = datetime(2026, 3, 28, tzinfo=UTC)

    found = list(occurrences(window, since=since, until=since + timedelta(days=3)))

    at = [(f"{begin:%d %H:%M}", f"{end:%d %H:%M}") for begin, end in found]
    assert at == [
        ("28 22:30", "29 00:00"), ("29 21:30", "29 23:00"), ("30 21:30", "30 23:00"),
    ]  # fmt: skip
