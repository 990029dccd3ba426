"""Queues of a device that fill in bursts are found by looks, and a steady load never has one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.core.detection.queue_burst import (
    LEAST_DEPTH,
    DeviceWindows,
    NoQueueBurst,
    QueueBurst,
    find_queue_burst,
)

DAY = 8640
"""Windows of ten seconds, with a look at the edge of each."""
seeds = st.integers(0, 2**32 - 1)


def device(
    seed: int,
    *,
    steady_iops: float,
    io_ms: float,
    burst: float = 0.0,
    every_s: float = 60.0,
    count: int = DAY,
) -> DeviceWindows:
    """A device that takes `io_ms` for an I/O and serves `steady_iops`, looked at by chance.

    A `burst` of I/Os comes at once each `every_s` and is served one after the other. Looks find
    what a steady load has in flight by Poisson, and what the burst has left at a random moment.
    """
    random = np.random.default_rng(seed)
    service_s = io_ms / 1000
    lasts_s = burst * service_s
    left = np.maximum(burst - random.uniform(0, every_s, count + 1) / service_s, 0.0)
    steady = steady_iops * service_s
    iops = steady_iops + burst / every_s
    # A burst that empties is half as deep on average, for as long as it lasts.
    outstanding = steady + burst / 2 * lasts_s / every_s
    return DeviceWindows(
        window_s=10.0,
        in_flight=np.round(random.poisson(steady, count + 1) + left),
        outstanding_io=np.full(count, outstanding),
        latency_ms=np.full(count, 1000 * outstanding / iops),
        iops=np.full(count, iops),
        busy_ratio=np.full(count, min(1.0, iops * service_s)),
    )


@given(seeds, st.floats(200, 400), st.floats(1.0, 2.0))
def test_queue_that_fills_once_a_minute_is_found(seed, steady_iops, io_ms) -> None:
    # 250 I/Os of 1 to 2 ms at once take 250 to 500 ms, in each minute.
    seen = device(seed, steady_iops=steady_iops, io_ms=io_ms, burst=250)

    found = find_queue_burst(seen, threshold_ms=15.0)

    assert isinstance(found, QueueBurst)
    # A look sees what is left of the burst, on average half of it.
    assert 15.0 < found.wait_ms <= 250 * io_ms * 1.01
    assert found.mean_ms <= 15.0
    assert found.low_depth >= LEAST_DEPTH
    assert found.ratio <= 250 * io_ms / 60_000 * 1.3


@given(seeds, st.floats(1, 2000), st.floats(0.05, 20.0))
def test_steady_load_has_no_burst(seed, steady_iops, io_ms) -> None:
    seen = device(seed, steady_iops=steady_iops, io_ms=io_ms)

    assert isinstance(find_queue_burst(seen, threshold_ms=1.0), NoQueueBurst)


@given(seeds)
def test_burst_that_means_show_is_not_told(seed) -> None:
    # Hardly any other I/O: by far the most wait in the burst, 125 ms on average.
    seen = device(seed, steady_iops=0.1, io_ms=1.0, burst=250)

    assert isinstance(find_queue_burst(seen, threshold_ms=15.0), NoQueueBurst)


@given(seeds)
def test_deep_queue_of_a_fast_device_is_no_burst(seed) -> None:
    # 128 I/Os of 0.02 ms take 2.6 ms.
    seen = device(seed, steady_iops=2000, io_ms=0.02, burst=128, every_s=0.1)

    assert isinstance(find_queue_burst(seen, threshold_ms=5.0), NoQueueBurst)


@given(seeds, st.floats(1.0, 200.0))
def test_higher_threshold_finds_no_more(seed, threshold_ms) -> None:
    seen = device(seed, steady_iops=200, io_ms=1.0, burst=200, every_s=30.0)

    low = find_queue_burst(seen, threshold_ms=threshold_ms)
    high = find_queue_burst(seen, threshold_ms=threshold_ms * 1.5)

    hits = [one.hits if isinstance(one, QueueBurst) else 0 for one in (low, high)]
    # Below 4.3 ms, the mean latency, the means show it.
    assert threshold_ms < 4.3 or hits[1] <= hits[0]


def planted(depths: list[float], *, count: int = 100, **change: object) -> DeviceWindows:
    """Looks that find one I/O in flight, but these at every sixth edge from the tenth on."""
    in_flight = np.ones(count + 1)
    for place, depth in enumerate(depths):
        in_flight[10 + 6 * place] = depth
    whole = DeviceWindows(
        window_s=10.0,
        in_flight=in_flight,
        outstanding_io=np.full(count, 1.0),
        latency_ms=np.full(count, 2.0),
        iops=np.full(count, 500.0),
        busy_ratio=np.full(count, 0.5),
    )
    return replace(whole, **change)


def test_burst_is_told_with_its_depth_and_wait() -> None:
    found = find_queue_burst(planted([40.0] * 6), threshold_ms=15.0)

    assert isinstance(found, QueueBurst)
    # One takes 0.5 s / 500 = 1 ms, so 40 take 40 ms; twice 1 I/O in 30 s allows 1.5 s.
    assert (found.hits, found.looks, found.wait_ms) == (6, 98, 40.0)
    # Wilson's lower bound (5 %) of 6 of 98 is 3.2 %: 1.9 s of each minute.
    assert found.text == (
        "has a queue that fills in bursts which means of ten seconds do not show: 6 of 98 looks "
        "found 40 I/Os in flight, while the mean around them was 1.0; what comes then waits for "
        "40.0 ms, while the mean latency was 2.00 ms; so deep it is for at least 1.9 s of each "
        "minute"
    )


def test_wait_is_no_longer_than_what_was_in_flight_allows() -> None:
    # 100 I/Os of 100 ms were 10 s; but 30 s · 1 in flight empty 100 in 0.6 s at most.
    seen = planted([100.0] * 6, iops=np.full(100, 5.0), latency_ms=np.full(100, 10.0))

    found = find_queue_burst(seen, threshold_ms=15.0)

    assert isinstance(found, QueueBurst)
    assert found.wait_ms == pytest.approx(600.0)


@pytest.mark.parametrize(
    ("seen", "reason"),
    [
        (
            planted([40.0] * 5),
            (
                "5 of 98 looks found a queue that means do not show and that takes longer than "
                "15.0 ms"
            ),
        ),
        (planted([7.0] * 6), "0 of 98 looks"),
        (planted([15.0] * 6, outstanding_io=np.full(100, 2.0)), "0 of 98 looks"),
        (planted([16.0] * 6), "6 of 98 looks"),
        (planted([15.0] * 6), "0 of 98 looks"),
        (planted([40.0] * 6, latency_ms=np.full(100, 15.1)), "0 of 98 looks"),
        (planted([40.0] * 2, count=60), "58 looks at its queue, 60 are needed"),
        (planted([], count=2), "0 looks at its queue, 60 are needed"),
        (planted([40.0] * 6, in_flight=np.full(101, np.nan)), "0 looks at its queue"),
    ],
    ids=[
        "too few", "too shallow", "not many times the mean", "long enough", "too short a wait",
        "means show it", "too few looks", "hardly any window", "never looked",
    ],
)  # fmt: skip
def test_what_is_no_hidden_burst_is_told_with_its_reason(seen, reason) -> None:
    found = find_queue_burst(seen, threshold_ms=15.0)

    if isinstance(found, QueueBurst):
        assert f"{found.hits} of {found.looks} looks" == reason
    else:
        assert found.reason.startswith(reason)


def test_reading_that_stands_at_several_edges_is_one_look() -> None:
    # A collector that sends once a minute: each reading stands at six edges.
    in_flight = np.ones(601)
    for place in range(7):
        in_flight[60 * place + 12 : 60 * place + 18] = 40.0

    found = find_queue_burst(planted([], count=600, in_flight=in_flight), threshold_ms=15.0)

    assert isinstance(found, QueueBurst)
    assert found.hits == 7
