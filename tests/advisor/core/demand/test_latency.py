"""Latency under a policy, told from latency and rates before it."""

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.core.demand.forecast import forecast
from advisor.core.demand.kind import SeenRates, demands_of
from advisor.core.demand.latency import LatencyForecast, SeenLatency, latencies, with_clients
from tests.advisor.core.demand.test_forecast import equally
from tests.advisor.core.demand.test_kind import seen, workloads

GREEDY = seen([50.0] * 30, [450.0] * 30)


def under(
    found: list[SeenRates], latency: SeenLatency, capacity: float
) -> list[LatencyForecast | None]:
    demands = with_clients(demands_of(found), found, latency, capacity=capacity)
    rates = forecast(demands, partial(equally, capacity=capacity))
    return latencies(demands, found, rates, latency, capacity=capacity)


@given(
    st.lists(workloads, max_size=5),
    st.floats(0.1, 1e3),
    st.floats(0.1, 1e3),
    st.floats(1, 1e6),
)
def test_expected_latency_lies_within_its_bounds(
    found: list[SeenRates], calm_ms: float, more_ms: float, capacity: float
) -> None:
    latency = SeenLatency(calm_ms=calm_ms, congested_ms=calm_ms + more_ms)

    for one in under(found, latency, capacity):
        assert one is None or 0 < one.interval.low <= one.ms <= one.interval.high


def test_nothing_is_said_of_who_does_nothing_or_was_hardly_seen() -> None:
    latency = SeenLatency(calm_ms=5.0, congested_ms=50.0)

    idle, new, _ = under([seen([9.0] * 30, []), seen([9.0] * 3, [9.0] * 30), GREEDY], latency, 500)

    assert (idle, new) == (None, None)


def test_served_workloads_wait_behind_six_ios_of_a_busy_disk() -> None:
    latency = SeenLatency(calm_ms=5.0, congested_ms=50.0)

    steady, _ = under([seen([50.0] * 30, [50.0] * 30), GREEDY], latency, 500.0)

    assert steady is not None
    # 6 of 500 a second
    assert steady.ms == pytest.approx(5 + 12)


def test_one_client_that_thinks_gets_what_its_longer_rounds_leave_it() -> None:
    # A client that thinks for 15 ms: 50 a second at 5 ms, 15.4 at 50 ms.
    latency = SeenLatency(calm_ms=5.0, congested_ms=50.0)
    client = seen([50.0] * 30, [1000 / 65] * 30)

    (demand, _) = with_clients(
        demands_of([client, GREEDY]), [client, GREEDY], latency, capacity=500.0
    )

    # Behind 18 I/Os, of 2 ms each, a round takes 15 + 5 + 36 ms; behind 3 of them 26.
    assert demand.parts == pytest.approx((20 / 56, 20 / 26))


def test_who_is_held_back_has_the_ios_in_flight_that_it_had() -> None:
    # 250 a second are due to each, and the first wants all it had.
    held = seen([400.0] * 30, [200.0] * 30)
    latency = SeenLatency(calm_ms=5.0, congested_ms=50.0)

    first, second = under([held, GREEDY], latency, 500.0)

    # 10 in flight at 200, 2 at 400: a round thinks for 40 ms, and 18 clients take 32 ms at 250.
    assert first is not None
    assert first.ms == pytest.approx(18000 / 250 - 40)
    # 450 · 50 ms were in flight of the greedy one, of which iocost lets three quarters in.
    assert second is not None
    assert second.ms == pytest.approx(0.75 * 450 * 50 / 250)
    assert second.interval.low <= 0.5 * 450 * 50 / 250
    assert second.interval.high >= 2 * 450 * 50 / 250


def test_wait_behind_a_busy_disk_comes_on_top_of_what_an_io_takes_that_hardly_waits() -> None:
    calm_waits = SeenLatency(calm_ms=9.0, congested_ms=50.0, least_ms=5.0)
    steady_load = seen([50.0] * 30, [50.0] * 30)

    busy, _ = under([steady_load, GREEDY], calm_waits, 500.0)
    (idle,) = under([steady_load], calm_waits, 500.0)

    assert busy is not None
    assert busy.ms == pytest.approx(5 + 12)
    # Where nothing is congested all is as it was.
    assert idle is not None
    assert idle.ms == pytest.approx(9)
