"""The thread between two rounds: it goes on through faults, and ends with its block."""

import itertools
import threading
import time

from enforcers.following import LOOK_S, following

PATIENCE_S = 30.0


def test_it_is_called_again_and_again_and_not_after_the_end() -> None:
    calls: list[int] = []
    several = threading.Event()

    def follow() -> None:
        calls.append(1)
        if len(calls) == 3:
            several.set()

    with following(follow, look=lambda: None, period_s=0.001):
        assert several.wait(PATIENCE_S)
    seen = len(calls)

    assert not [thread for thread in threading.enumerate() if thread.name == "following"]
    assert len(calls) == seen


def test_period_that_fails_does_not_end_it() -> None:
    calls: list[int] = []
    again = threading.Event()

    def follow() -> None:
        calls.append(1)
        if len(calls) == 2:
            again.set()
        raise OSError("gone")

    with following(follow, look=lambda: None, period_s=0.001):
        assert again.wait(PATIENCE_S)


def test_looks_come_in_pairs_at_moments_of_chance() -> None:
    at_s: list[float] = []
    enough = threading.Event()

    def look() -> None:
        at_s.append(time.monotonic())
        if len(at_s) == 4:
            enough.set()
        raise OSError("gone")

    parts = itertools.cycle([0.0, 0.5])
    with following(lambda: None, look=look, period_s=0.001, random_part=lambda: next(parts)):
        assert enough.wait(PATIENCE_S)

    assert min(at_s[1] - at_s[0], at_s[3] - at_s[2]) >= LOOK_S


def test_most_periods_have_no_look() -> None:
    looks: list[int] = []
    calls: list[int] = []
    several = threading.Event()

    def follow() -> None:
        calls.append(1)
        if len(calls) == 9:
            several.set()

    with following(follow, look=lambda: looks.append(1), period_s=0.001, random_part=lambda: 0.06):
        assert several.wait(PATIENCE_S)

    assert looks == []
