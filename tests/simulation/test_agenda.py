"""Virtual time."""

from __future__ import annotations

from appliance.simulation.agenda import Agenda


def test_acts_come_in_the_order_of_their_times_and_equal_ones_as_they_were_given() -> None:
    agenda = Agenda()
    done: list[tuple[float, str]] = []
    for at_s, name in ((2.0, "b"), (1.0, "a"), (2.0, "c"), (9.0, "late")):
        agenda.at(at_s, lambda name=name: done.append((agenda.now_s, name)))

    agenda.run_until(5.0)

    assert done == [(1.0, "a"), (2.0, "b"), (2.0, "c")]
    assert agenda.now_s == 5.0


def test_others_act_while_one_waits() -> None:
    agenda = Agenda()
    done: list[tuple[float, str]] = []

    def wait() -> None:
        agenda.run_until(agenda.now_s + 3.0)
        done.append((agenda.now_s, "waited"))

    agenda.at(1.0, wait)
    agenda.at(2.0, lambda: done.append((agenda.now_s, "other")))
    agenda.run_until(10.0)

    assert done == [(2.0, "other"), (4.0, "waited")]


def test_what_is_past_happens_next() -> None:
    agenda = Agenda()
    done: list[float] = []
    agenda.run_until(4.0)

    agenda.at(1.0, lambda: done.append(agenda.now_s))
    agenda.run_until(4.0)

    assert done == [4.0]
