"""The thread between two rounds: it goes on through faults, and ends with its block."""

import threading

from enforcers.following import following

PATIENCE_S = 30.0


def test_it_is_called_again_and_again_and_not_after_the_end() -> None:
    calls: list[int] = []
    several = threading.Event()

    def follow() -> None:
        calls.append(1)
        if len(calls) == 3:
            several.set()

    with following(follow, period_s=0.001):
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

    with following(follow, period_s=0.001):
        assert again.wait(PATIENCE_S)
