"""Waiting before a failed change is tried again."""

from enforcers.retry import LONGEST_WAIT_S, Retries


def test_wait_doubles_up_to_a_bound() -> None:
    retries = Retries(first_s=10.0)
    now_s, waits = 0.0, []
    for _ in range(8):
        retries.failed("up0", "policy", now_s, error="no")
        start_s = now_s
        while retries.waiting("up0", "policy", now_s) is not None:
            now_s += 1.0
        waits.append(now_s - start_s)

    assert waits == [10.0, 20.0, 40.0, 80.0, 160.0, *[LONGEST_WAIT_S] * 3]


def test_waiting_repeats_the_error() -> None:
    retries = Retries(first_s=10.0)
    retries.failed("up0", "policy", 100.0, error="tc refused")

    assert retries.waiting("up0", "policy", 103.0) == "tc refused (next attempt in 7 s)"


def test_another_wish_or_target_is_tried_at_once() -> None:
    retries = Retries(first_s=10.0)
    retries.failed("up0", "policy", 0.0, error="no")

    assert retries.waiting("up0", "next policy", 1.0) is None
    assert retries.waiting("up1", "policy", 1.0) is None


def test_success_ends_the_waiting() -> None:
    retries = Retries(first_s=10.0)
    retries.failed("up0", "policy", 0.0, error="no")

    retries.succeeded("up0")

    assert retries.waiting("up0", "policy", 1.0) is None
