"""Bursts into an own limit are found by looks at the queue, and a steady load never is one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.core.detection.micro_burst import (
    LEAST_WAIT_S,
    LimitLooks,
    MicroBurst,
    NoBurst,
    find_micro_burst,
    looks_at_queue,
)

DAY_OF_LOOKS = 2880
"""One each half minute."""
limits = st.floats(1e6, 1e10)
seeds = st.integers(0, 2**32 - 1)


def bursty(
    seed: int, *, limit: float, burst_s: float, times: float, every_s: float, count: int
) -> LimitLooks:
    """Looks at random moments of a workload that sends `times` the limit in bursts alone."""
    phase_s = np.random.default_rng(seed).uniform(0, every_s, count)
    filling_s = (times - 1) * phase_s
    draining_s = np.maximum((times - 1) * burst_s - (phase_s - burst_s), 0.0)
    return looks_at_queue(
        rate=np.full(count, times * burst_s / every_s * limit),
        limit=np.full(count, limit),
        waiting_bits=np.where(phase_s < burst_s, filling_s, draining_s) * limit,
        held=np.full(count, 100.0),
    )


@given(limits, st.floats(1.5, 10.0), seeds)
def test_limit_hit_for_200_ms_of_each_second_is_found(limit, times, seed) -> None:
    # What comes in 200 ms / times takes 200 ms at the limit.
    looks = bursty(
        seed, limit=limit, burst_s=0.2 / times, times=times, every_s=1.0, count=DAY_OF_LOOKS
    )

    found = find_micro_burst(looks)

    assert isinstance(found, MicroBurst)
    # Two of the 200 ms have a shorter queue than is counted, and 2,880 looks miss by 0.04 at most.
    assert found.ratio == pytest.approx(0.2, abs=0.06)
    assert "ms of each second" in found.text
    assert found.wait_s <= 0.2


@given(limits, seeds)
def test_queue_that_fills_once_a_minute_is_found(limit, seed) -> None:
    looks = bursty(seed, limit=limit, burst_s=0.5, times=4, every_s=60.0, count=DAY_OF_LOOKS)

    found = find_micro_burst(looks)

    assert isinstance(found, MicroBurst)
    # 0.5 s of four times the limit take two of sixty seconds.
    assert found.ratio == pytest.approx(2 / 60, abs=0.02)
    assert "s of each minute" in found.text


@given(limits, st.floats(0.0, 1.2), st.floats(0.0, 0.9 * LEAST_WAIT_S), st.integers(0, 3000))
def test_steady_load_is_no_burst(limit, part, wait_s, count) -> None:
    looks = looks_at_queue(
        rate=np.full(count, part * limit),
        limit=np.full(count, limit),
        waiting_bits=np.full(count, wait_s * limit),
        held=np.full(count, 100.0),
    )

    assert isinstance(find_micro_burst(looks), NoBurst)


@given(limits, st.floats(0.0, 0.4), seeds)
def test_queue_that_waits_for_the_link_is_no_burst(limit, part, seed) -> None:
    waits = np.random.default_rng(seed).choice([0.0, 0.5], DAY_OF_LOOKS)
    looks = looks_at_queue(
        rate=np.full(DAY_OF_LOOKS, part * limit),
        limit=np.full(DAY_OF_LOOKS, limit),
        waiting_bits=waits * limit,
        held=np.full(DAY_OF_LOOKS, 100.0),
    )

    found = find_micro_burst(looks)

    # It waits for half of the time, and at its limit it would have sent half of that.
    assert isinstance(found, NoBurst)
    assert "waits for something else" in found.reason


def planted(**columns: float) -> LimitLooks:
    """Sixty looks, a sixth of which finds a queue, with these columns instead."""
    looks = {"rate": 3e6, "limit": 1e7, "waiting_bits": 0.0, "held": 5.0} | columns
    full = {name: np.full(60, value) for name, value in looks.items()}
    if "waiting_bits" not in columns:
        full["waiting_bits"][::6] = 1e6
    return looks_at_queue(**full)


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({}, "hits its own limit for 167 ms of each second (102 to 260 ms,"),
        ({"held": 0.0}, "0 of 60 looks found its limit used up"),
        ({"held": float("nan")}, "0 looks at its limit, 60 are needed"),
        ({"limit": float("nan")}, "0 looks at its limit, 60 are needed"),
        ({"rate": 9.6e6}, "its mean is 96% of its limit, which averages show"),
        ({"rate": 5e5}, "it waits for something else"),
    ],
)
def test_what_is_told_of_looks(columns, said) -> None:
    found = find_micro_burst(planted(**columns))

    assert said in (found.text if isinstance(found, MicroBurst) else found.reason)
