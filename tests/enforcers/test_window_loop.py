"""The loop of a host: with the service, without it, and back."""

import pytest

from enforcers.exchange import KEPT_PERIODS, DatastoreLoad
from enforcers.window import WindowState
from enforcers.window_loop import LoopState, Period, after_period, part_of
from tests.enforcers.fluid_datastore import (
    BACKLOG,
    LAW,
    FluidDatastore,
    FluidHost,
    everybody,
    nobody,
)

NOTHING = Period(ios=0, mean_device_latency_ms=None, outstanding_io=0.0, demands=())


def uneven():
    """At rest: 40 slots, 10 and 30."""
    hosts = [FluidHost([(1000, BACKLOG)]), FluidHost([(3000, BACKLOG)])]
    datastore = FluidDatastore(hosts=hosts)
    datastore.run(20)
    return datastore, *hosts


def test_host_tells_what_it_counted_and_what_it_wants():
    period = Period(
        ios=4000,
        mean_device_latency_ms=20.0,
        outstanding_io=18.0,
        demands=FluidHost([(1000, BACKLOG), (2000, 3.0), (500, 0.0)]).demands,
    )
    state = LoopState(window=WindowState(window=20, slots_per_share=0.01))

    part = part_of(state, period, law=LAW)

    # At 0.01 slots for each share the first wants more than 10, and the second less than 20.
    assert (part.active_shares, part.met_io) == (1000, 3)
    assert (part.ios, part.mean_device_latency_ms, part.outstanding_io) == (4000, 20, 18)


def test_last_answer_counts_for_three_periods():
    datastore, one, _ = uneven()
    heard = one.state.heard

    seen = []
    for _ in range(KEPT_PERIODS + 1):
        datastore.period(nobody)
        seen.append((one.state.heard, one.state.periods_since))

    assert seen == [(heard, 1), (heard, 2), (heard, 3), (None, 4)]
    assert one.slots == pytest.approx(10, rel=0.05)


def test_hosts_alone_keep_the_threshold_and_their_split():
    datastore, one, other = uneven()

    datastore.run(30, nobody)
    assert (one.slots, other.slots) == pytest.approx((10, 30), rel=0.05)

    datastore.capacity_iops = 3000
    pressures = datastore.run(10, nobody)
    assert pressures[-1] == pytest.approx(1, rel=0.05)
    assert other.slots / one.slots == pytest.approx(3, rel=0.05)


def test_host_cut_off_from_the_others_holds_the_threshold_by_its_own_latency():
    datastore, one, other = uneven()

    def half(told):
        (whole,) = {id(load): load for load in everybody(told)}.values()
        return [None, whole]

    pressures = datastore.run(30, half)

    assert pressures[-1] == pytest.approx(1, rel=0.05)
    assert one.slots + other.slots == pytest.approx(40, rel=0.05)


def test_service_that_comes_back_settles_shares_again():
    datastore, one, other = uneven()
    datastore.run(10, nobody)
    one.workloads, other.workloads = other.workloads, one.workloads
    datastore.run(10, nobody)

    datastore.run(5)

    assert (one.slots, other.slots) == pytest.approx((30, 10), rel=0.05)


def test_host_that_knows_no_latency_takes_its_part_by_the_policy():
    state = LoopState(window=WindowState(window=200.0))

    after = after_period(state, NOTHING, None, law=LAW, split_window=12.5)

    assert after.window == WindowState(window=12.5)


@pytest.mark.parametrize(("split", "window"), [(0.5, 4), (1e6, 256)])
def test_part_by_the_policy_is_bounded(split, window):
    state = LoopState(window=WindowState(window=20.0))

    after = after_period(state, NOTHING, None, law=LAW, split_window=split)

    assert after.window.window == window


def test_last_answer_goes_before_own_latency():
    # By the last answer the datastore is at twice the threshold, by what the host sees at half.
    load = DatastoreLoad(
        latency_ms=40, outstanding_io=80, total_active_shares=4000, met_io=0, hosts=2
    )
    period = Period(
        ios=4000,
        mean_device_latency_ms=10.0,
        outstanding_io=10.0,
        demands=FluidHost([(1000, BACKLOG)]).demands,
    )
    state = LoopState(window=WindowState(window=10.0, slots_per_share=0.01))
    heard = LoopState(window=state.window, heard=load, periods_since=KEPT_PERIODS - 1)
    expired = LoopState(window=state.window, heard=load, periods_since=KEPT_PERIODS)

    by_answer = after_period(heard, period, None, law=LAW, split_window=5)
    by_itself = after_period(expired, period, None, law=LAW, split_window=5)

    # 40 slots for 4,000 shares leave it at 10; alone it may have the 20 that 10 ms leave room for.
    assert by_answer.window.window == pytest.approx(10)
    assert by_itself.window.window == pytest.approx(10 + 0.8 * 10)


def test_answer_of_the_service_ends_the_time_alone():
    datastore, one, _ = uneven()
    datastore.run(10, nobody)

    datastore.period()

    assert one.state.periods_since == 0
    assert one.state.heard is not None
