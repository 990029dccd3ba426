"""The window law: where it rests, how fast it gets there, who gets what, bad input."""

import math

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from enforcers.exchange import DatastoreLoad
from enforcers.window import (
    Demand,
    WindowLaw,
    WindowState,
    claim_of,
    next_state,
    places,
)
from tests.enforcers.fluid_datastore import BACKLOG, LAW, FluidDatastore, FluidHost

SETTLED = 5
"""Periods of 4 s: 20 s."""
TOLERANCE = 0.05

windows = st.floats(4, 256)
shares = st.sampled_from([500.0, 1000.0, 2000.0, 4000.0])


def fleet(*hosts, **datastore):
    return FluidDatastore(hosts=list(hosts), **datastore)


def busy(*shares, window=256.0):
    """A host whose workloads, with these shares, take all they can get."""
    return FluidHost([(each, BACKLOG) for each in shares], window=window)


@given(st.lists(st.lists(shares, min_size=1, max_size=6), min_size=2, max_size=5), st.data())
@settings(deadline=None)
def test_windows_settle_by_shares_at_the_threshold_within_20_s(by_host, data):
    hosts = [busy(*each, window=data.draw(windows)) for each in by_host]
    total = sum(map(sum, by_host))
    # 60 slots at least, so that no host's part of them is below the smallest window of 4.
    smallest = min(map(sum, by_host)) / total
    slots = data.draw(st.floats(60, 120))
    assume(smallest * slots > 4.2)
    datastore = fleet(*hosts, capacity_iops=slots / 0.020)

    datastore.run(SETTLED)

    assert datastore.pressure == pytest.approx(1, rel=TOLERANCE)
    assert [host.slots for host in hosts] == pytest.approx(
        [slots * sum(each) / total for each in by_host], rel=TOLERANCE
    )


@pytest.mark.parametrize("window", [4.0, 32.0, 256.0])
def test_equal_workloads_get_the_same_however_hosts_have_them(window):
    few, many = busy(*[1000] * 4, window=window), busy(*[1000] * 12, window=window)

    fleet(few, many).run(SETTLED)

    # 20 ms at 2,000 IOPS are 40 slots: 2.5 for each of 16.
    assert few.slots / 4 == pytest.approx(2.5, rel=TOLERANCE)
    assert many.slots / 12 == pytest.approx(2.5, rel=TOLERANCE)


def test_tiers_of_4_2_1_hold_across_uneven_hosts():
    first, second = busy(4000, 1000, 1000), busy(4000, 2000, 2000, 1000, 1000)

    fleet(first, second, capacity_iops=4000).run(SETTLED)

    # 80 slots for 16,000 shares: 0.005 for each.
    assert first.slots == pytest.approx(30, rel=TOLERANCE)
    assert second.slots == pytest.approx(50, rel=TOLERANCE)


def test_errors_fade_to_a_fifth_in_each_period():
    # 40 slots, half each; what is known of the other is exact, so 1 - γ is left.
    one, other = busy(1000, window=28.0), busy(1000, window=16.0)
    datastore = fleet(one, other)

    errors = []
    for _ in range(3):
        datastore.period()
        errors.append(one.slots - 20)

    assert errors == pytest.approx([8 * 0.2, 8 * 0.04, 8 * 0.008])


def test_it_rests_at_the_threshold_and_stays():
    datastore = fleet(busy(1000), busy(3000))

    pressures = datastore.run(200)

    assert pressures[SETTLED:] == pytest.approx([1.0] * (200 - SETTLED), rel=0.01)


@given(st.floats(20, 200), st.floats(0.5, 2), shares, shares)
@settings(deadline=None)
def test_change_of_capacity_is_met_within_20_s_and_without_overshoot(slots, factor, one, other):
    datastore = fleet(busy(one), busy(other), capacity_iops=slots / 0.020)
    assume(slots * min(1, factor) * min(one, other) / (one + other) > 4.2)
    # Neither host asks for more than its backlog.
    assume(slots * max(1, factor) * max(one, other) / (one + other) < BACKLOG)
    datastore.run(20)

    datastore.capacity_iops *= factor
    pressures = [datastore.pressure, *datastore.run(SETTLED)]

    assert pressures[-1] == pytest.approx(1, rel=TOLERANCE)
    assert max(pressures) <= max(pressures[0], 1.25)


def test_idle_host_leaves_its_slots_and_has_them_back_within_20_s():
    steady, pausing = busy(1000), busy(3000)
    datastore = fleet(steady, pausing)
    datastore.run(10)

    pausing.workloads = [(3000, 0.0)]
    without = datastore.run(SETTLED)
    assert (steady.slots, pausing.slots) == pytest.approx((40, 4), rel=TOLERANCE)
    datastore.run(20)

    pausing.workloads = [(3000, BACKLOG)]
    again = datastore.run(SETTLED)
    assert (steady.slots, pausing.slots) == pytest.approx((10, 30), rel=TOLERANCE)
    assert max(without) <= 1.05
    assert max(again) <= 1.25


def test_hosts_that_ask_for_little_are_never_held_below_it():
    # 9 hosts want 3 slots each beside one that takes all it gets: 40 - 27 are left to that one.
    hog, modest = busy(1000), [FluidHost([(1000, 0.0)]) for _ in range(9)]
    datastore = fleet(hog, *modest)
    datastore.run(10)

    for host in modest:
        host.workloads = [(1000, 3.0)]
    pressures = datastore.run(SETTLED)

    assert hog.slots == pytest.approx(13, rel=TOLERANCE)
    assert [host.outstanding_io for host in modest] == [3.0] * 9
    assert pressures[-1] == pytest.approx(1, rel=TOLERANCE)


def test_host_that_dies_leaves_its_slots_to_the_others():
    datastore = fleet(busy(1000), busy(1000), busy(2000))
    datastore.run(10)

    del datastore.hosts[2]
    datastore.run(SETTLED)

    assert [host.slots for host in datastore.hosts] == pytest.approx([20, 20], rel=TOLERANCE)


def test_without_congestion_windows_open_and_shares_change_nothing():
    # 16 outstanding in each host take 8 ms of the 20.
    one, other = FluidHost([(1000, 8.0)], window=8), FluidHost([(4000, 8.0)], window=4)

    fleet(one, other).run(10)

    assert (one.slots, other.slots) == (256, 256)


def test_full_windows_leave_the_rest_to_the_others():
    # 20 ms at 20,000 IOPS are 400 slots: 9 in 10 would be 360, and no window is above 256.
    large, small = FluidHost([(9000, 900.0)]), FluidHost([(1000, 900.0)])

    datastore = fleet(large, small, capacity_iops=20_000)
    datastore.run(SETTLED)

    assert (large.slots, small.slots) == pytest.approx((256, 144), rel=TOLERANCE)
    assert datastore.pressure == pytest.approx(1, rel=TOLERANCE)


def test_smallest_windows_are_taken_from_the_others():
    small, large = busy(10), busy(9000)

    datastore = fleet(small, large)
    datastore.run(SETTLED)

    assert (small.slots, large.slots) == pytest.approx((4, 36), rel=TOLERANCE)
    assert datastore.pressure == pytest.approx(1, rel=TOLERANCE)


def test_reservation_keeps_its_slots_beyond_its_shares():
    # 1,000 IOPS at 20 ms need 20 slots of the 40; shares alone would give 10.
    state = WindowState(window=20.0, slots_per_share=0.01)
    demands = [Demand(shares=1000, outstanding_io=64, reserved_io=20)]
    load = DatastoreLoad(
        latency_ms=20, outstanding_io=40, total_active_shares=2000, met_io=20, hosts=2
    )

    assert claim_of(state, demands, law=LAW).met_io == 20
    assert next_state(state, demands, load, law=LAW).window == pytest.approx(20)


@given(windows, st.none() | st.floats(0, 1e3), st.lists(shares, max_size=4), st.floats(0, 1e9))
def test_window_stays_within_its_bounds(window, per_share, shares, latency_ms):
    state = WindowState(window=window, slots_per_share=per_share)
    demands = [Demand(shares=each, outstanding_io=BACKLOG) for each in shares]
    load = DatastoreLoad(
        latency_ms=latency_ms, outstanding_io=40, total_active_shares=3000, met_io=5, hosts=2
    )

    assert 4 <= next_state(state, demands, load, law=LAW).window <= 256


@given(windows, st.floats(1e-4, 1), st.floats(0.01, 1e3), st.floats(0.01, 1e3), st.floats(0, 99))
def test_higher_latency_never_gives_a_larger_window(window, per_share, one_ms, other_ms, asked):
    state = WindowState(window=window, slots_per_share=per_share)
    demands = [Demand(shares=1000, outstanding_io=asked)]

    def window_at(latency_ms):
        load = DatastoreLoad(
            latency_ms=latency_ms, outstanding_io=40, total_active_shares=3000, met_io=5, hosts=2
        )
        return next_state(state, demands, load, law=LAW).window

    low_ms, high_ms = sorted((one_ms, other_ms))

    assert window_at(high_ms) <= window_at(low_ms)


@given(st.lists(shares, min_size=2, max_size=4), st.sampled_from([0.01, 10, 1000]))
def test_split_does_not_depend_on_the_scale_of_shares(by_host, factor):
    plain = [busy(each) for each in by_host]
    scaled = [busy(each * factor) for each in by_host]

    fleet(*plain).run(SETTLED)
    fleet(*scaled).run(SETTLED)

    assert [host.slots for host in scaled] == pytest.approx([host.slots for host in plain])


def test_window_is_kept_when_no_host_did_any_io():
    load = DatastoreLoad(
        latency_ms=None, outstanding_io=0, total_active_shares=0, met_io=0, hosts=2
    )
    state = WindowState(window=17.0, slots_per_share=0.01)

    assert next_state(state, [], load, law=LAW) == state


@given(st.floats(4, 256), st.integers(0, 2**32))
def test_places_are_the_window_on_average(window, turn):
    counts = [places(window, turn + step) for step in range(100)]

    assert set(counts) <= {math.floor(window), math.floor(window) + 1}
    # Multiples of the golden ratio leave gaps of at most 2.2 / 100 between them.
    assert sum(counts) / 100 == pytest.approx(window, abs=0.04)


def test_whole_window_needs_no_larger_number():
    assert {places(9.0, turn) for turn in range(50)} == {9}


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -1.0])
def test_numbers_no_measurement_can_have_are_refused(wrong):
    for name in ("shares", "outstanding_io", "reserved_io"):
        with pytest.raises(ValueError, match=name):
            Demand(**{"shares": 1.0, "outstanding_io": 1.0, name: wrong})
    with pytest.raises(ValueError, match="window"):
        WindowState(window=wrong)
    with pytest.raises(ValueError, match="slots_per_share"):
        WindowState(window=8, slots_per_share=wrong)
    with pytest.raises(ValueError, match="threshold_ms"):
        WindowLaw(threshold_ms=wrong)


def test_contradictory_law_is_refused():
    with pytest.raises(ValueError, match="lowest is 300"):
        WindowLaw(threshold_ms=12, lowest=300)
    with pytest.raises(ValueError, match=r"gain is 1\.5"):
        WindowLaw(threshold_ms=12, gain=1.5)
    with pytest.raises(ValueError, match="gain"):
        WindowLaw(threshold_ms=12, gain=0)
