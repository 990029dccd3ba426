"""What was said of windows before they were judged again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from accounts.models import Organisation
from advisor.models import EarlierStates, Resource
from advisor.queries.earlier_states import EarlierRun, earlier_states
from tests.advisor.stated_datastores import stated_datastore

pytestmark = pytest.mark.django_db

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


def at(minutes: int) -> datetime:
    return NOON + timedelta(minutes=minutes)


@pytest.fixture
def disk() -> Resource:
    return stated_datastore(Organisation.objects.create(slug="acme", name="Acme"), "sda", "h1")


def said(
    disk: Resource, *runs: tuple[int, int, str, float | None], replaced: int = 60
) -> EarlierStates:
    """Runs of states by minutes after noon, one portion of what was judged again."""
    return EarlierStates.objects.create(
        resource=disk,
        since=at(runs[0][0]),
        until=at(runs[-1][1]),
        replaced_at=at(replaced),
        states=[
            {
                "since": at(begin).isoformat(),
                "until": at(end).isoformat(),
                "state": state,
                "value": value,
            }
            for begin, end, state, value in runs
        ],
    )


def test_portions_of_one_time_are_one_and_a_run_over_two_of_them_too(disk: Resource) -> None:
    said(disk, (10, 20, "congested", 70.0), (20, 30, "clear", 4.0))
    said(disk, (0, 5, "clear", 5.0), (5, 10, "congested", 60.0))

    (found,) = earlier_states(disk)

    assert (found.replaced_at, found.since, found.until) == (at(60), at(0), at(30))
    assert found.runs == (EarlierRun(since=at(5), until=at(20), state="congested", value=70.0),)
    assert found.left_out == 0


def test_windows_between_two_portions_stayed_as_they_were_and_are_not_told(disk: Resource) -> None:
    said(disk, (0, 5, "clear", 5.0))
    said(disk, (60, 65, "clear", 5.0))

    found = earlier_states(disk)

    assert [(one.since, one.until) for one in found] == [(at(0), at(5)), (at(60), at(65))]


def test_many_stretches_of_one_time_are_counted(disk: Resource) -> None:
    for number in range(13):
        said(disk, (4 * number, 4 * number + 2, "congested", 60.0))

    found = earlier_states(disk)

    assert [one.since for one in found] == [at(4 * number) for number in range(10)]
    assert [one.more for one in found] == [0] * 9 + [3]


def test_three_stretches_are_told_and_the_others_counted(disk: Resource) -> None:
    runs = [(k, k + 1, "unknown" if k % 2 else "clear", None) for k in range(10)]
    said(disk, *runs)

    (found,) = earlier_states(disk)

    assert [run.since for run in found.runs] == [at(1), at(3), at(5)]
    assert found.left_out == 2


def test_newest_three_times_are_told_of_this_resource_alone(disk: Resource) -> None:
    other = stated_datastore(disk.organisation, "sdb", "h1")
    for replaced in (60, 90, 70, 80):
        said(disk, (0, 5, "clear", 5.0), replaced=replaced)
    said(other, (0, 5, "clear", 5.0), replaced=95)

    assert [one.replaced_at for one in earlier_states(disk)] == [at(90), at(80), at(70)]


def test_nothing_was_judged_again(disk: Resource) -> None:
    assert earlier_states(disk) == []
