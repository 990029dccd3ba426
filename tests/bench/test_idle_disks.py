"""The benchmark of idle disks counts the work of the minute and that of the hour."""

from __future__ import annotations

from datetime import timedelta

import pytest

from advisor.models import Resource
from bench.fleet import product
from bench.fleet.idle import fill_idle, turns, watched_rows
from bench.fleet.shape import END
from bench.fleet.stage import WINDOW

MINUTE = timedelta(minutes=1)


def test_each_round_has_its_turns_of_the_minute_in_order() -> None:
    found = turns([20.0, 30.0], until=END, length=MINUTE)

    seconds = [((at - END).total_seconds(), place) for at, place in found]
    assert seconds == [(-40, 0), (-30, 1), (-20, 0), (0, 0), (0, 1)]


def test_round_that_is_rarer_than_the_time_has_one_turn_at_its_end() -> None:
    assert turns([300.0], until=END, length=MINUTE) == [(END, 0)]


@pytest.mark.django_db
def test_idle_disk_stores_a_state_an_hour_and_its_hour_is_counted() -> None:
    organisation = fill_idle(8)

    cores, states = watched_rows(organisation, lambda _: None)

    # One record at the beginning of an hour, 24 hours a day.
    assert (states.measured, states.note) == (24, "0 in a minute, 8 at the beginning of an hour")
    assert cores.what == "8 idle disks, CPU"
    unit, _, listed = cores.note.partition(": ")
    parts = dict(part.rsplit(" ", 1) for part in listed.split(", "))
    assert unit == "millicores"
    assert cores.measured is not None
    assert float(parts["first windows of hours"]) > 0
    assert float(parts["sealing of hours"]) > 0
    assert 1000 * cores.measured == pytest.approx(sum(map(float, parts.values())), rel=0.01)
    # Every window of the watched minute was judged, and the first one after it.
    one = Resource.objects.order_by("pk")[0]
    judged = product.judged_windows(one.pk, since=END - MINUTE, until=END + MINUTE)
    assert judged == {END + place * WINDOW for place in range(-5, 2)}
