"""Load from outside: told from our own by what as much own load made in the past."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.core import canonical
from advisor.core.detection.external_workload import (
    ExternalState,
    LoadWindow,
    detect_external_load,
)

START = datetime(2026, 3, 2, tzinfo=UTC)
BASE_MS, SLOPE_MS = 2.0, 0.01


def windows(loads, latencies, *, begin=0):
    return [
        LoadWindow(at=START + timedelta(minutes=begin + i), own_load=load, latency_ms=latency)
        for i, (load, latency) in enumerate(zip(loads, latencies, strict=True))
    ]


def datastore(seed, *, own, external=0.0, begin=0, count=60):
    """Latency 2 ms + 0.01 ms per unit of load, ours and theirs, with a tenth of noise."""
    rng = np.random.default_rng(seed)
    loads = own * rng.lognormal(0, 0.2, size=count)
    latencies = (BASE_MS + SLOPE_MS * (loads + external)) * rng.lognormal(0, 0.1, size=count)
    return windows(loads.tolist(), latencies.tolist(), begin=begin)


values = st.none() | st.floats(0, 1e9)
rows = st.lists(st.tuples(values, values), max_size=40)


@given(rows, rows, st.randoms(use_true_random=False))
def test_the_conclusion_does_not_depend_on_order_and_has_no_nan(past, present, random):
    reference = windows(*(zip(*past, strict=True) if past else ([], [])))
    recent = windows(*(zip(*present, strict=True) if present else ([], [])), begin=1000)
    shuffled = list(recent)
    random.shuffle(shuffled)

    result = detect_external_load(reference, recent)

    assert detect_external_load(reference, shuffled) == result
    assert canonical.dumps(result)
    assert (result.began_at is not None) == (result.state is ExternalState.EXTERNAL)


@given(rows, rows, st.integers(-10, 10))
def test_the_unit_of_load_does_not_matter(past, present, octaves):
    def scaled(pairs, begin):
        found = [(None if load is None else load * 2.0**octaves, ms) for load, ms in pairs]
        return windows(*(zip(*found, strict=True) if found else ([], [])), begin=begin)

    plain = detect_external_load(
        windows(*(zip(*past, strict=True) if past else ([], []))),
        windows(*(zip(*present, strict=True) if present else ([], [])), begin=1000),
    )

    assert detect_external_load(scaled(past, 0), scaled(present, 1000)).state is plain.state


def found_over_seeds(**recent):
    states = [
        detect_external_load(
            datastore(seed, own=500, count=120) + datastore(seed + 50, own=1500, count=60),
            datastore(seed + 100, begin=1000, count=12, **recent),
        ).state
        for seed in range(40)
    ]
    return {state: states.count(state) for state in ExternalState}


def test_latency_that_rises_while_our_load_is_flat_comes_from_outside():
    # 2 + 0.01 · 500 = 7 ms becomes 2 + 0.01 · 1500 = 17 ms.
    found = found_over_seeds(own=500, external=1000)

    assert found[ExternalState.EXTERNAL] >= 38


def test_latency_that_rises_while_our_load_falls_comes_from_outside():
    found = found_over_seeds(own=250, external=2000)

    assert found[ExternalState.EXTERNAL] >= 38


@pytest.mark.parametrize("own", [500, 1500], ids=["as ever", "our own peak"])
def test_latency_that_our_own_load_explains_does_not(own):
    found = found_over_seeds(own=own)

    assert found[ExternalState.EXTERNAL] <= 1


def test_load_that_was_never_seen_before_is_not_blamed_on_others():
    result = detect_external_load(
        datastore(1, own=500), datastore(2, own=5000, begin=1000, count=12)
    )

    assert result.state is ExternalState.UNKNOWN
    assert "our own load may explain" in result.reason


def test_it_began_where_latency_left_the_normal():
    # Twenty windows at 5 ms; of ten recent ones the last six are at 20 ms.
    past = windows([100.0] * 20, [5.0] * 20)
    recent = windows([100.0] * 10, [5.0] * 4 + [20.0] * 6, begin=1000)

    result = detect_external_load(past, recent)

    assert result.began_at == recent[4].at
    assert (result.normal_ms, result.recent_ms) == (5.0, 20.0)


def test_a_few_recent_windows_say_nothing():
    result = detect_external_load(datastore(1, own=500), datastore(2, own=500, count=5))

    assert result.state is ExternalState.UNKNOWN


def test_own_load_near_the_peak_is_not_taken_for_load_from_outside():
    # A queue with a peak of 5200: 1 / (1 - 4850/5200) = 14.9 and 1 / (1 - 5100/5200) = 52.
    reference = windows([4850.0] * 60, [14.9] * 60)
    recent = windows([5100.0] * 20, [52.0] * 20, begin=1000)

    assert detect_external_load(reference, recent).state is not ExternalState.EXTERNAL


@pytest.mark.parametrize(
    ("past_ms", "state"),
    [((8.0, 12.0), ExternalState.EXTERNAL), ((6.0, 14.0), ExternalState.NONE)],
    ids=["calm", "noisy"],
)
def test_rise_is_judged_by_the_noise_of_the_past(past_ms, state):
    # The median is 10 ms. 2 ms of deviation are a spread of 1.4826 · 2 = 2.97: six windows at
    # 16 ms sum up to 6 · (6 / 2.97 - 0.5) = 9.1, above the alarm at 5. With twice the deviation,
    # it is 6 · (6 / 5.93 - 0.5) = 3.1.
    past = windows([100.0] * 20, past_ms * 10)
    recent = windows([100.0] * 6, [16.0] * 6, begin=1000)

    assert detect_external_load(past, recent).state is state


def bursts(*, latency_ms, begin, count=60):
    """A neighbour of ours fills the device in every other window: 500 I/Os a second, or 100."""
    is_on = [index % 2 == 1 for index in range(count)]
    return windows(
        [500.0 if on else 100.0 for on in is_on],
        [latency_ms if on else 2.0 for on in is_on],
        begin=begin,
    )


def test_own_neighbour_that_comes_back_with_a_deeper_queue_is_not_load_from_outside():
    # Twice as many I/Os wait at the device that gives no more: twice the latency.
    recent = windows([500.0] * 20, [100.0] * 20, begin=1000)

    found = detect_external_load(bursts(latency_ms=50.0, begin=0), recent)

    assert found.state is ExternalState.UNKNOWN
    assert found.reason == (
        "our own load fills the device as before, when it waited 50 ms, against 2 ms when calm: "
        "a deeper queue of our own may explain the latency"
    )


@pytest.mark.parametrize(
    ("load", "before_ms"),
    [(500.0, 2.5), (300.0, 50.0)],
    ids=["without a queue before", "far from filling it"],
)
def test_load_from_outside_is_told_where_our_own_makes_no_queue(load, before_ms):
    reference = [
        *bursts(latency_ms=before_ms, begin=0),
        *windows([300.0] * 30, [2.5] * 30, begin=100),
    ]

    found = detect_external_load(reference, windows([load] * 20, [200.0] * 20, begin=1000))

    assert found.state is ExternalState.EXTERNAL
