"""Judged windows are read as they were stored, and a window without news costs no write."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accounts.models import Organisation
from advisor.core.detection.congestion import StatePoint
from advisor.core.detection.nic_signals import NicEvidence, NicSignal
from advisor.core.detection.worst_levels import DamagedEntriesError
from advisor.history.level_merge import merge_hours
from advisor.history.level_store import drop_points, forget_points, save_points
from advisor.history.levels import (
    newest_ends,
    newest_loads,
    read_levels,
    read_points,
    read_worst_windows,
)
from advisor.history.stored.verify import check_history
from advisor.models import LevelRecords, Resource, ResourceStatus, State, StateRun
from tests.advisor.judged_windows import EVER, judge, judged_window
from tests.advisor.stated_datastores import stated_datastore

pytestmark = pytest.mark.django_db

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
STEP = timedelta(seconds=10)
HOUR = timedelta(hours=1)


@pytest.fixture
def disk() -> Resource:
    return stated_datastore(Organisation.objects.create(slug="acme", name="Acme"), "sda", "h1")


def idle(number: int) -> StatePoint:
    """A window without I/O, so many windows after noon."""
    return judged_window(NOON + number * STEP, since=NOON, threshold=30.0, load=0.0)


def busy(number: int, state: State = State.CLEAR) -> StatePoint:
    at = NOON + number * STEP
    return judged_window(at, state, since=NOON, value=5.0 + number, threshold=30.0, load=7.0)


def look(disk: Resource, *points: StatePoint) -> None:
    """Windows are judged as the detector does it: with the status of the resource."""
    save_points({disk: points}, with_status=True)
    newest = {"last_window_at": points[-1].at}
    ResourceStatus.objects.update_or_create(resource=disk, defaults=newest)


def everything(disk: Resource) -> list[StatePoint]:
    return read_points(disk, since=EVER)


def test_points_are_read_as_they_were_judged(disk: Resource) -> None:
    signal = NicEvidence(signal=NicSignal.DROPS, value=0.25, threshold=1e-4, unit="", present=True)
    point = judged_window(
        NOON, State.CONGESTED, since=NOON - HOUR, value=45.1, threshold=30.0, load=1e9,
        device_load=0.1, reason="above in 3 of 5 windows", signals=(signal,),
    )  # fmt: skip

    judge(disk, point)

    assert everything(disk) == [point]


@pytest.mark.parametrize("merged", [False, True], ids=["in parts", "merged"])
def test_windows_of_each_look_are_read_together(disk: Resource, merged: bool) -> None:
    looks = [
        [idle(1)], [idle(2)], [idle(3)], [busy(4)], [busy(5, State.CONGESTED), idle(6)],
        # A gap, then the end of the hour.
        [idle(40)], [idle(41)], *([idle(number)] for number in range(358, 364)),
    ]  # fmt: skip
    for points in looks:
        look(disk, *points)

    if merged:
        assert merge_hours(organisation=disk.organisation, now=NOON + 3 * HOUR) == 2

    assert everything(disk) == [point for points in looks for point in points]
    assert LevelRecords.objects.filter(is_hour=False).exists() is not merged


def test_levels_are_columns_of_the_asked_windows(disk: Resource) -> None:
    other = stated_datastore(disk.organisation, "sdb", "h1")
    look(disk, idle(1), idle(2), busy(3, State.CONGESTED), idle(4))

    found = read_levels([disk, other], since=NOON + STEP, until=NOON + 3 * STEP)

    levels = found[disk.pk]
    assert levels.state.tolist() == ["clear", "congested"]
    np.testing.assert_array_equal(levels.value, [np.nan, 8.0])
    np.testing.assert_array_equal(levels.load, [0.0, 7.0])
    assert len(found[other.pk].at_us) == 0


def test_window_that_says_nothing_new_is_not_written(disk: Resource) -> None:
    look(disk, idle(1))

    with CaptureQueriesContext(
        connection,
    ) as asked:
        save_points({disk: [idle(2)]}, with_status=True)

    assert [one["sql"] for one in asked if not one["sql"].lstrip().startswith("SELECT")] == []


def test_idle_day_is_stored_in_a_row_an_hour(disk: Resource) -> None:
    for number in range(1, 8641, 360):
        look(disk, *(idle(number + place) for place in range(360)))

    assert (StateRun.objects.count(), LevelRecords.objects.count()) == (1, 24)


def test_run_of_a_state_says_since_when_and_until_when(disk: Resource) -> None:
    look(disk, busy(1), busy(2), busy(3, State.CONGESTED), busy(4, State.CONGESTED), busy(60))

    runs = StateRun.objects.values_list("state", "since", "first_at", "until", "is_open")
    first, second, third = (NOON + number * STEP for number in (1, 3, 60))
    assert list(runs) == [
        ("clear", NOON, first, first + STEP, False),
        ("congested", NOON, second, second + STEP, False),
        ("clear", NOON, third, third, True),
    ]


def test_window_that_is_judged_again_is_replaced(disk: Resource) -> None:
    look(disk, *(busy(number) for number in range(1, 20)))
    again = [busy(number, State.CONGESTED) for number in range(5, 8)]

    judge(disk, *again)

    expected = [busy(number) for number in range(1, 20)]
    expected[4:7] = again
    assert everything(disk) == expected


def test_windows_between_others_are_judged_late(disk: Resource) -> None:
    look(disk, idle(1), idle(2), idle(9))

    judge(disk, busy(5))

    assert everything(disk) == [idle(1), idle(2), busy(5), idle(9)]


@pytest.mark.parametrize("number", [2, 6, 500], ids=["busy", "idle", "in a later hour"])
def test_forgotten_windows_were_never_judged(disk: Resource, number: int) -> None:
    every = [busy(1), busy(2), busy(3), *(idle(one) for one in range(4, 800))]
    look(disk, *every)

    forget_points(disk, since=NOON + number * STEP)

    assert everything(disk) == every[:number]


@given(
    count=st.integers(400, 1200),
    gone=st.tuples(st.integers(0, 1200), st.integers(1, 500)),
    again=st.tuples(st.integers(1, 1200), st.integers(1, 500)),
)
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_windows_around_those_that_are_taken_or_judged_again_stay(
    disk: Resource, count: int, gone: tuple[int, int], again: tuple[int, int]
) -> None:
    forget_points(disk, since=EVER)
    ResourceStatus.objects.filter(resource=disk).delete()
    known = {one: busy(one) if one % 97 < 5 else idle(one) for one in range(1, count)}
    save_points({disk: list(known.values())})
    since, until = gone[0], sum(gone)

    forget_points(disk, since=NOON + since * STEP, until=NOON + until * STEP)
    new = {one: busy(one, State.CONGESTED) for one in range(again[0], sum(again), 3)}
    save_points({disk: list(new.values())})

    kept = {number: one for number, one in known.items() if not since < number <= until}
    assert everything(disk) == [one for _, one in sorted((kept | new).items())]
    checked = check_history(disk.organisation, now=NOON + 10 * HOUR)
    assert {one.damage for one in checked} == {""}


def test_windows_go_on_after_some_were_forgotten(disk: Resource) -> None:
    look(disk, *(idle(one) for one in range(1, 10)))
    forget_points(disk, since=NOON + 4 * STEP)

    look(disk, busy(5), idle(6))

    assert everything(disk) == [*(idle(one) for one in range(1, 5)), busy(5), idle(6)]


def test_newest_window_is_known_without_a_write(disk: Resource) -> None:
    look(disk, busy(1), idle(2))
    look(disk, idle(3))

    assert newest_ends([disk.pk]) == {disk.pk: NOON + 3 * STEP}
    assert newest_loads([disk.pk], since=NOON + 2 * STEP) == {disk.pk: 0.0}
    assert newest_loads([disk.pk], since=NOON + 3 * STEP) == {}


def test_old_windows_are_dropped_by_whole_hours(disk: Resource) -> None:
    every = [idle(one) for one in range(1, 1000)]
    look(disk, *every)

    drop_points(before=NOON + HOUR + 5 * STEP)

    assert everything(disk) == every[360:]


def test_day_is_drawn_from_rows_of_before_there_was_a_version_too(disk: Resource) -> None:
    save_points({disk: [busy(1), idle(40)]})
    asked = {"since": NOON, "until": NOON + HOUR}
    before = read_worst_windows([disk.pk], **asked)
    first = LevelRecords.objects.get(resource=disk, at=NOON)

    LevelRecords.objects.filter(pk=first.pk).update(worst=bytes(first.worst)[1:])

    found = read_worst_windows([disk.pk], **asked)
    # The window after noon has 6 ms.
    assert found.value[0, 0] == 6.0
    np.testing.assert_array_equal(found.value, before.value)


def test_day_is_not_drawn_from_rows_of_a_later_version(disk: Resource) -> None:
    save_points({disk: [busy(1)]})
    row = LevelRecords.objects.get(resource=disk)
    LevelRecords.objects.filter(pk=row.pk).update(worst=b"\x02" + bytes(row.worst)[1:])

    with pytest.raises(DamagedEntriesError, match=f"resource {disk.pk} are damaged or of a later"):
        read_worst_windows([disk.pk], since=NOON, until=NOON + HOUR)


@pytest.mark.parametrize("count", [1, 30])
def test_statements_do_not_grow_with_resources(disk: Resource, count: int) -> None:
    disks = [stated_datastore(disk.organisation, f"disk{one}", "h1") for one in range(count)]
    save_points({one: [busy(1), idle(2)] for one in disks})

    with CaptureQueriesContext(connection) as asked:
        read_worst_windows([one.pk for one in disks], since=NOON, until=NOON + HOUR)
        read_levels(disks, since=NOON, until=NOON + HOUR)
        save_points({one: [busy(3), idle(4)] for one in disks}, with_status=True)

    # 2 to draw a day, 1 to read levels; 2 to find the newest and 1 to write it.
    assert len(asked) == 2 + 1 + 2 + 1
