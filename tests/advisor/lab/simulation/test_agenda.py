"""Simulated time: order of events, and an end to what would never end."""

import pytest

from advisor.lab.simulation.agenda import Agenda


def test_events_happen_by_time_and_then_as_planned():
    agenda, seen = Agenda(), []
    for time, name in ((2.0, "late"), (1.0, "first"), (1.0, "second"), (5.0, "never")):
        agenda.at(time, seen.append, name)

    agenda.run_until(2.0)

    assert seen == ["first", "second", "late"]
    assert agenda.now == 2.0


def test_load_that_takes_no_time_is_stopped():
    agenda = Agenda(most_events=1000)

    def again(_):
        agenda.at(agenda.now, again)

    agenda.at(0.0, again)

    with pytest.raises(ValueError, match="more than 1,000 events by 0 s"):
        agenda.run_until(1.0)
