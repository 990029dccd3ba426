"""The heat strip shows the worst of every five minutes, and nothing where nothing is known."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.core.cache import cache

from accounts.models import Organisation
from advisor.decisions.inventory import add_resource
from advisor.models import Resource, ResourceKind, State
from advisor.queries.heat import COLUMNS, Level, day_until, heat_strips
from tests.advisor.judged_windows import judge, judged_window

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 11, 20, 12, 2, 30, tzinfo=UTC)
COLUMN = timedelta(minutes=5)


@pytest.fixture
def datastore() -> Resource:
    """A datastore with a threshold of 20 ms."""
    cache.clear()
    return add_resource(
        organisation=Organisation.objects.create(slug="acme", name="Acme"),
        name="ds1",
        kind=ResourceKind.DATASTORE,
        attachments=[("h1", "sda")],
        threshold=20.0,
    )


def window(
    datastore: Resource, at: datetime, value: float | None, state: State = State.CLEAR
) -> None:
    judge(datastore, judged_window(at, state, value=value, threshold=20.0))


def test_day_ends_with_the_column_that_now_is_in() -> None:
    since, until = day_until(NOW)

    assert until == datetime(2026, 11, 20, 12, 5, tzinfo=UTC)
    assert until - since == COLUMNS * COLUMN == timedelta(days=1)


def test_column_shows_its_worst_window(datastore: Resource) -> None:
    window(datastore, NOW - timedelta(seconds=70), 6.0)
    window(datastore, NOW - timedelta(seconds=60), 17.0)
    window(datastore, NOW - timedelta(seconds=50), 9.0)

    cell = heat_strips([datastore.pk], now=NOW)[datastore.pk].cells[-1]

    assert cell is not None
    assert (cell.value, cell.ratio) == (17.0, pytest.approx(0.85))


@pytest.mark.parametrize(
    ("value", "state", "level"),
    [
        (7.9, State.CLEAR, Level.CALM),
        (8.0, State.CLEAR, Level.BELOW),
        (15.9, State.CLEAR, Level.BELOW),
        (16.0, State.CLEAR, Level.NEAR),
        (90.0, State.CLEAR, Level.NEAR),
        (12.0, State.CONGESTED, Level.ABOVE),
    ],
    ids=["calm", "below", "just below near", "near", "high but idle", "congested by other means"],
)
def test_level_follows_the_ratio_and_the_state_decides_on_congestion(
    datastore: Resource, value: float, state: State, level: Level
) -> None:
    window(datastore, NOW, value, state)

    cell = heat_strips([datastore.pk], now=NOW)[datastore.pk].cells[-1]

    assert cell is not None
    assert cell.level == level


@pytest.mark.parametrize(
    ("seconds", "column"), [(0, -2), (1, -1)], ids=["on the edge", "after it"]
)
def test_window_belongs_to_the_column_that_it_ends_in(
    datastore: Resource, seconds: int, column: int
) -> None:
    window(datastore, datetime(2026, 11, 20, 12, 0, seconds, tzinfo=UTC), 1.0)

    cells = heat_strips([datastore.pk], now=NOW)[datastore.pk].cells

    assert [index - COLUMNS for index, cell in enumerate(cells) if cell] == [column]


@pytest.mark.parametrize(
    ("age", "shown"),
    [(timedelta(hours=24), False), (timedelta(hours=23, minutes=50), True)],
    ids=["before the day", "in its first columns"],
)
def test_day_begins_a_day_ago(datastore: Resource, age: timedelta, shown: bool) -> None:
    window(datastore, NOW - age, 1.0)

    cells = heat_strips([datastore.pk], now=NOW)[datastore.pk].cells

    assert any(cells) is shown


def test_window_without_a_value_is_a_gap(datastore: Resource) -> None:
    window(datastore, NOW, None, State.UNKNOWN)

    assert set(heat_strips([datastore.pk], now=NOW)[datastore.pk].cells) == {None}


def test_newest_columns_are_never_remembered(datastore: Resource) -> None:
    heat_strips([datastore.pk], now=NOW)
    window(datastore, NOW - timedelta(minutes=11), 1.0)

    cells = heat_strips([datastore.pk], now=NOW)[datastore.pk].cells

    assert cells[-3] is not None
