"""Planned work: what it excuses, what it does not, and clocks that change."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.core.detection.maintenance_windows import (
    OVERRUN_S,
    MaintenanceWindow,
    Recurrence,
    SlowTime,
    mute,
)

START = datetime(2026, 3, 2, 1, tzinfo=UTC)  # A Monday, at one in the morning.
HOUR = timedelta(hours=1)
BACKUP = MaintenanceWindow(
    name="backup",
    starts_at=START,
    length_s=2 * 3600.0,
    recurrence=Recurrence.DAILY,
    resources=("ds1",),
    workloads=("backup-1",),
)


def is_planned(maintenance, at):
    """Whether an incident of no length at that time is muted; the overrun counts as planned."""
    moment = SlowTime(resource="ds1", began_at=at, ended_at=at)
    return mute(moment, [maintenance], now=at).muted


def slow(began_at=START + HOUR / 2, length=HOUR, **kwargs):
    fields = {"resource": "ds1", "aggressors": ("backup-1",), **kwargs}
    return SlowTime(began_at=began_at, ended_at=began_at + length, **fields)


planned = st.builds(
    MaintenanceWindow,
    name=st.sampled_from(["a", "b"]),
    starts_at=st.integers(-1000, 1000).map(lambda minutes: START + timedelta(minutes=minutes)),
    length_s=st.floats(60, 86_400),
    recurrence=st.sampled_from(Recurrence),
)
times = st.integers(-3 * 1440, 30 * 1440).map(lambda minutes: START + timedelta(minutes=minutes))


@given(planned, times)
def test_a_job_recurs_in_its_own_rhythm(maintenance, at):
    period = {Recurrence.DAILY: 1, Recurrence.WEEKLY: 7}.get(maintenance.recurrence)

    # Planned is from five minutes before each beginning until five minutes after the end.
    into = (at - maintenance.starts_at).total_seconds() + OVERRUN_S
    if period is not None and into >= 0:
        into %= period * 86_400
    assert is_planned(maintenance, at) == (0 <= into <= maintenance.length_s + 2 * OVERRUN_S)


@given(planned, times, st.integers(0, 2000))
def test_only_time_that_one_occurrence_covers_is_muted(maintenance, began_at, minutes):
    ended_at = began_at + timedelta(minutes=minutes)
    incident = SlowTime(resource="ds1", began_at=began_at, ended_at=ended_at)

    result = mute(incident, [maintenance], now=ended_at)

    assert result.reason
    if result.muted:
        assert minutes * 60 <= maintenance.length_s + 2 * OVERRUN_S
        assert all(
            is_planned(maintenance, began_at + timedelta(minutes=one)) for one in (0, minutes)
        )


@pytest.mark.parametrize(
    ("incident", "muted", "reason"),
    [
        (slow(), True, '"backup" is planned for this time'),
        (slow(START + timedelta(days=9, minutes=5)), True, '"backup" is planned for this time'),
        (slow(START + 10 * HOUR), False, "no maintenance window was planned for it"),
        (slow(resource="ds2"), False, "no maintenance window was planned for it"),
        (slow(length=3 * HOUR), False, 'it lasted beyond the time planned for "backup"'),
        (slow(aggressors=("backup-1", "web")), False, 'web is not part of "backup"'),
        (
            slow(aggressors=("web-4", "web-1", "backup-1", "web-3", "web-2")),
            False,
            'web-1, web-2, web-3 +1 more are not part of "backup"',
        ),
        (slow(aggressors=()), True, '"backup" is planned for this time'),
        (slow(reservation_unmet=True), False, "a reservation was not met"),
    ],
    ids=[
        "in its window",
        "nine days later",
        "by day",
        "elsewhere",
        "too long",
        "somebody else as well",
        "four others",
        "nobody named",
        "a broken promise",
    ],
)
def test_muting_takes_time_place_cause_and_promise_into_account(incident, muted, reason):
    result = mute(incident, [BACKUP], now=START)

    assert (result.muted, result.reason) == (muted, reason)
    assert result.maintenance == ("backup" if muted else None)


@pytest.mark.parametrize(
    ("began_at", "muted"),
    [(START + HOUR / 2, True), (START + HOUR, True), (START + timedelta(days=1), False)],
    ids=["in its window", "to its end", "a day later"],
)
def test_work_planned_once_excuses_its_own_time_alone(began_at, muted):
    once = replace(BACKUP, recurrence=Recurrence.ONCE)

    assert mute(slow(began_at), [once], now=START).muted is muted


def test_slowness_that_goes_on_is_muted_until_the_window_is_over():
    going_on = replace(slow(), ended_at=None)

    during = mute(going_on, [BACKUP], now=START + HOUR)
    after = mute(going_on, [BACKUP], now=START + 2 * HOUR + timedelta(seconds=OVERRUN_S + 1))

    assert (during.muted, after.muted) == (True, False)


def test_a_job_keeps_its_wall_clock_time_when_summer_time_begins():
    # Berlin goes from +1 to +2 on 29 March 2026: 23:00 is 22:00 UTC before and 21:00 UTC after.
    berlin = ZoneInfo("Europe/Berlin")
    maintenance = MaintenanceWindow(
        name="night",
        starts_at=datetime(2026, 3, 20, 23, tzinfo=berlin),
        length_s=3600.0,
        recurrence=Recurrence.DAILY,
    )

    assert is_planned(maintenance, datetime(2026, 3, 28, 22, 30, tzinfo=UTC))
    assert is_planned(maintenance, datetime(2026, 3, 30, 21, 30, tzinfo=UTC))
    assert not is_planned(maintenance, datetime(2026, 3, 30, 22, 30, tzinfo=UTC))


def test_a_fixed_offset_is_a_zone_too():
    maintenance = replace(
        BACKUP,
        starts_at=datetime(2026, 3, 2, 6, tzinfo=timezone(timedelta(hours=5))),
        workloads=(),
    )

    assert is_planned(maintenance, START + HOUR)


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"length_s": 0.0}, r"^length_s is 0.0; it must be"),
        ({"length_s": 86_401.0}, r"^length_s is 86401.0; daily work lasts at most 86400 s"),
        ({"starts_at": datetime(2026, 3, 2)}, r"^starts_at is "),  # noqa: DTZ001
    ],
    ids=["no time", "more than a day", "no zone"],
)
def test_a_job_that_cannot_be_is_refused(fields, complaint):
    with pytest.raises(ValueError, match=complaint):
        replace(BACKUP, **fields)


def test_an_end_before_the_beginning_is_refused():
    with pytest.raises(ValueError, match="lies before began_at"):
        slow(length=-HOUR)


@pytest.mark.parametrize("recurrence", Recurrence)
@pytest.mark.parametrize(
    ("early_s", "late_s", "muted"),
    [(300, 300, True), (301, 0, False), (0, 301, False)],
    ids=["five minutes", "earlier", "later"],
)
def test_planned_work_may_begin_and_end_five_minutes_off(recurrence, early_s, late_s, muted):
    maintenance = replace(BACKUP, recurrence=recurrence)
    incident = slow(
        START - timedelta(seconds=early_s), 2 * HOUR + timedelta(seconds=early_s + late_s)
    )

    result = mute(incident, [maintenance], now=START)

    assert (result.muted, "lasted beyond" in result.reason) == (muted, not muted)


@pytest.mark.parametrize(
    ("began_at", "length", "touches"),
    [
        (START - 3 * HOUR, 3 * HOUR, True),
        (START - 3 * HOUR, 2.9 * HOUR, False),
        (START + 1.9 * HOUR, HOUR, True),
        (START + 2 * HOUR, HOUR, False),
    ],
    ids=["ends as it begins", "ends before", "begins before its end", "begins at its end"],
)
def test_only_slowness_within_the_planned_time_is_said_to_last_beyond_it(
    began_at, length, touches
):
    result = mute(slow(began_at, length), [BACKUP], now=START)

    assert not result.muted
    assert ("it lasted beyond" in result.reason) is touches


def test_work_that_covers_all_resources_and_workloads_excuses_any():
    everywhere = replace(BACKUP, resources=(), workloads=())

    assert mute(slow(resource="ds9", aggressors=("web",)), [everywhere], now=START).muted


def test_stall_is_never_excused():
    result = mute(slow(stalled=True), [BACKUP], now=START)

    assert (result.muted, result.maintenance) == (False, None)
    assert result.reason == "I/O did not complete, which no planned work explains"


@pytest.mark.parametrize(
    "other",
    [
        replace(BACKUP, name="a", resources=("ds2",)),
        replace(BACKUP, name="a", starts_at=START - 6 * HOUR),
        replace(BACKUP, name="a", workloads=("somebody else",)),
    ],
    ids=["elsewhere", "another time", "of others"],
)
def test_work_that_does_not_explain_it_leaves_it_to_other_work(other):
    result = mute(slow(), [other, BACKUP], now=START)

    assert (result.muted, result.maintenance) == (True, "backup")


def test_of_two_that_explain_it_the_first_by_name_is_given():
    twice = [BACKUP, replace(BACKUP, name="archive")]

    assert mute(slow(), twice, now=START).maintenance == "archive"


@pytest.mark.parametrize(
    ("recurrence", "longest_s"),
    [(Recurrence.DAILY, 86_400.0), (Recurrence.WEEKLY, 604_800.0), (Recurrence.ONCE, 604_800.0)],
)
def test_work_lasts_a_day_at_most_if_daily_and_a_week_otherwise(recurrence, longest_s):
    longest = replace(BACKUP, recurrence=recurrence, length_s=longest_s)

    assert longest.length_s == longest_s
    with pytest.raises(ValueError, match=f"work lasts at most {longest_s:g} s"):
        replace(longest, length_s=longest_s + 1)


def test_weekly_work_of_a_week_covers_every_time_from_its_first_on():
    always = replace(BACKUP, recurrence=Recurrence.WEEKLY, length_s=604_800.0)

    assert is_planned(always, START + timedelta(days=20))
    assert is_planned(always, START - timedelta(minutes=5))
    assert not is_planned(always, START - timedelta(minutes=6))


def test_weekly_work_is_not_planned_on_other_days():
    weekly = replace(BACKUP, recurrence=Recurrence.WEEKLY)

    planned_days = [
        day for day in range(30) if is_planned(weekly, START + timedelta(days=day, hours=1))
    ]

    assert planned_days == [0, 7, 14, 21, 28]


def test_incident_may_end_as_it_begins_and_times_need_a_zone():
    assert mute(slow(length=0 * HOUR), [BACKUP], now=START).muted
    bare = datetime(2026, 3, 2)  # noqa: DTZ001  # What is refused.
    with pytest.raises(ValueError, match=r"^began_at is "):
        SlowTime(resource="ds1", began_at=bare, ended_at=None)
    with pytest.raises(ValueError, match=r"^ended_at is "):
        SlowTime(resource="ds1", began_at=START, ended_at=bare)
    with pytest.raises(ValueError, match=r"^now is "):
        mute(slow(), [], now=bare)
