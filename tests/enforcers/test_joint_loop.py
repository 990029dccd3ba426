"""Hosts of a shared datastore that hold rates: their parts, what they do alone, and coming back.

A datastore of 2,000 IOPS with a threshold of 20 ms, and 128 I/Os outstanding at most.
"""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from enforcers.exchange import KEPT_PERIODS, PERIOD_S, DatastoreLoad
from enforcers.joint_capacity import Capacity
from enforcers.joint_loop import (
    JointState,
    RateDemand,
    RatePeriod,
    after_period,
    is_in_vain,
    part_of,
)
from tests.enforcers.fluid_rates import RateHost, SharedDatastore, Workload

SETTLED_S = 20.0
THRESHOLD_MS = 20.0


def uneven(*, stated: float = 2000.0) -> SharedDatastore:
    """Four workloads on one host and twelve on another, all alike."""
    few = RateHost("few", [Workload(100, 8) for _ in range(4)], stated)
    many = RateHost("many", [Workload(100, 8) for _ in range(12)], stated, phase_s=1.7)
    return SharedDatastore([few, many])


def tiers(*, stated: float = 2000.0) -> SharedDatastore:
    """Shares 4:2:1, one on each host, and one more of the lowest."""
    return SharedDatastore(
        [
            RateHost("high", [Workload(400, 32)], stated),
            RateHost("medium", [Workload(200, 32)], stated, phase_s=1.1),
            RateHost("low", [Workload(100, 32), Workload(100, 32)], stated, phase_s=3.2),
        ]
    )


def per_workload(datastore: SharedDatastore, over_s: float = 20.0) -> list[float]:
    return [rate for rates in datastore.rates(over_s).values() for rate in rates]


@pytest.mark.parametrize("stated", [1700.0, 2000.0, 2600.0])
def test_equal_workloads_get_the_same_on_whatever_host(stated: float) -> None:
    datastore = uneven(stated=stated)
    datastore.run(SETTLED_S)

    rates = per_workload(datastore)

    assert rates == pytest.approx([sum(rates) / 16] * 16, rel=0.02)


@pytest.mark.parametrize("stated", [2000.0, 2600.0])
def test_tiers_hold_over_hosts(stated: float) -> None:
    datastore = tiers(stated=stated)
    datastore.run(SETTLED_S)

    high, medium, *low = per_workload(datastore)

    assert [high / 4, medium / 2, *low] == pytest.approx([(high + medium) / 6] * 4, rel=0.02)


def test_it_is_settled_after_twenty_seconds_and_stays_so() -> None:
    datastore = uneven()
    datastore.run(SETTLED_S)

    for _ in range(20):
        rates = per_workload(datastore, over_s=PERIOD_S)
        assert rates == pytest.approx([sum(rates) / 16] * 16, rel=0.05)


@pytest.mark.parametrize("stated", [2000.0, 2600.0])
def test_latency_is_held_and_the_datastore_is_used(stated: float) -> None:
    datastore = uneven(stated=stated)
    datastore.run(SETTLED_S)
    settled_s = datastore.now_s
    datastore.run(60)
    rest_s = datastore.now_s
    datastore.run(120)

    assert max(datastore.latency_since(settled_s)) <= 1.25 * THRESHOLD_MS
    assert datastore.throughput_since(settled_s) >= 0.9 * 2000
    assert max(datastore.latency_since(rest_s)) <= THRESHOLD_MS
    assert datastore.throughput_since(rest_s) >= 0.97 * 2000


def test_without_the_loop_uneven_hosts_leave_the_threshold_behind() -> None:
    datastore = uneven()
    datastore.is_service_away = True
    datastore.run(SETTLED_S)

    # All 128 outstanding at 2,000 IOPS are 64 ms.
    assert min(datastore.latency_since(10)) == pytest.approx(64, rel=0.01)


def test_reservation_beyond_the_part_by_shares_is_held() -> None:
    reserved = Workload(100, 32, reserved=800.0)
    datastore = SharedDatastore(
        [
            RateHost("one", [reserved, Workload(100, 32)]),
            RateHost("other", [Workload(100, 16) for _ in range(6)], phase_s=2.5),
        ]
    )
    datastore.run(SETTLED_S)

    first, *others = per_workload(datastore)

    assert first >= 0.95 * 800
    assert others == pytest.approx([sum(others) / 7] * 7, rel=0.05)


def test_modest_workload_has_what_it_asks_for_and_leaves_the_rest() -> None:
    datastore = uneven()
    datastore.hosts[0].workloads[0].most_iops = 40.0
    datastore.run(SETTLED_S)

    modest, *others = per_workload(datastore)

    assert modest == pytest.approx(40, rel=0.02)
    assert others == pytest.approx([sum(others) / 15] * 15, rel=0.02)


def test_idle_hosts_part_goes_to_the_other_and_comes_back() -> None:
    datastore = uneven()
    few, _ = datastore.hosts
    datastore.run(60)
    for each in few.workloads:
        each.most_iops = 0.0
    datastore.run(SETTLED_S)
    alone = datastore.rates(8)["many"]

    back_s = datastore.now_s
    for each in few.workloads:
        each.most_iops = math.inf
    datastore.run(SETTLED_S)
    rates = per_workload(datastore)

    assert sum(alone) >= 0.95 * 2000
    assert rates == pytest.approx([sum(rates) / 16] * 16, rel=0.05)
    assert max(datastore.latency_since(back_s)) <= 1.25 * THRESHOLD_MS


def test_killed_hosts_part_goes_to_the_others_once_it_is_silent_for_three_periods() -> None:
    datastore = uneven()
    few, many = datastore.hosts
    datastore.run(60)
    many.is_alive = False
    for each in many.workloads:
        each.most_iops = 0.0
    for each in few.workloads:
        each.outstanding = 32.0
    datastore.run(KEPT_PERIODS * PERIOD_S - 2)
    until = sum(datastore.rates(1)["few"])

    datastore.run(SETTLED_S)

    # A quarter of 2,000 until then.
    assert until == pytest.approx(500, rel=0.05)
    assert sum(datastore.rates(8)["few"]) >= 0.95 * 2000


def test_host_whose_agent_is_gone_while_its_workloads_go_on_is_made_room_for() -> None:
    datastore = uneven()
    datastore.run(60)
    datastore.hosts[1].is_alive = False
    datastore.run(60)
    calm_s = datastore.now_s
    datastore.run(60)

    # It keeps the model that it had; the other takes what is left, by the latency.
    rates = {name: sum(ones) for name, ones in datastore.rates(20).items()}
    assert rates["many"] == pytest.approx(1500, rel=0.1)
    assert sum(datastore.latency_since(calm_s)) / len(datastore.latency_since(calm_s)) <= 25


@pytest.mark.parametrize("capacity", [1200.0, 3000.0])
def test_datastore_that_changes_its_speed_is_followed(capacity: float) -> None:
    datastore = uneven()
    for host in datastore.hosts:
        for each in host.workloads:
            each.outstanding = 16.0
    datastore.run(60)
    datastore.capacity_iops = capacity
    datastore.run(300)
    rest_s = datastore.now_s
    rates = per_workload(datastore)

    assert datastore.throughput_since(rest_s) >= 0.95 * capacity
    assert max(datastore.latency_since(rest_s)) <= 1.25 * THRESHOLD_MS
    assert rates == pytest.approx([sum(rates) / 16] * 16, rel=0.02)


def test_without_the_service_hosts_keep_the_latency_and_their_ratio() -> None:
    datastore = uneven()
    datastore.run(60)
    datastore.is_service_away = True
    datastore.run(120)
    late_s = datastore.now_s
    rates = per_workload(datastore, over_s=60)

    assert max(datastore.latency_since(late_s)) <= 1.25 * THRESHOLD_MS
    assert sum(rates) >= 0.9 * 2000
    assert rates == pytest.approx([sum(rates) / 16] * 16, rel=0.1)

    datastore.is_service_away = False
    datastore.run(SETTLED_S)
    again = per_workload(datastore)
    assert again == pytest.approx([sum(again) / 16] * 16, rel=0.05)


def test_host_cut_off_from_the_others_neither_starves_nor_floods_them() -> None:
    datastore = uneven()
    datastore.run(60)
    datastore.hosts[0].is_cut_off = True
    datastore.run(60)
    late_s = datastore.now_s
    rates = datastore.rates(60)
    latency = datastore.latency_since(late_s)

    # Its part was 500.
    assert 250 <= sum(rates["few"]) <= 750
    assert sum(latency) / len(latency) <= 1.25 * THRESHOLD_MS

    datastore.hosts[0].is_cut_off = False
    datastore.run(SETTLED_S)
    again = per_workload(datastore)
    assert again == pytest.approx([sum(again) / 16] * 16, rel=0.05)


def test_host_that_was_cut_off_takes_nothing_from_the_others_by_coming_back() -> None:
    datastore = uneven()
    few, _ = datastore.hosts
    datastore.run(60)
    few.is_cut_off = True
    datastore.run(60)
    before = sum(per_workload(datastore))
    few.is_cut_off = False

    datastore.run(2 * PERIOD_S)
    datastore.run(2 * PERIOD_S)

    assert sum(per_workload(datastore, 2 * PERIOD_S)) >= 0.95 * before


def test_agent_that_starts_again_takes_the_others_capacity() -> None:
    datastore = uneven(stated=2600.0)
    datastore.run(60)
    few, many = datastore.hosts
    assert many.state.capacity is not None
    few.state = JointState()

    datastore.run(2 * PERIOD_S + 1)

    assert few.state.capacity is not None
    assert few.state.capacity.iops == pytest.approx(many.state.capacity.iops, rel=0.03)


def test_host_that_is_alone_on_a_datastore_has_no_budget() -> None:
    datastore = uneven()
    datastore.hosts.pop()
    datastore.run(60)

    assert datastore.hosts[0].state.budget_iops is None
    assert datastore.hosts[0].state.capacity is None


def period(*demands: RateDemand, latency_ms: float | None = 5.0) -> RatePeriod:
    done = sum(each.asked for each in demands if math.isfinite(each.asked))
    return RatePeriod(
        ios=round(4 * done),
        done_iops=done,
        mean_device_latency_ms=latency_ms,
        outstanding_io=done * (latency_ms or 0.0) / 1000,
        shares=sum(each.shares for each in demands),
        reserved_iops=sum(each.reserved for each in demands),
        demands=demands,
    )


def load(**change: float | None) -> DatastoreLoad:
    values = {
        "latency_ms": 5.0,
        "outstanding_io": 10.0,
        "total_active_shares": 1600.0,
        "met_io": 0.0,
        "hosts": 2,
        "done_iops": 1990.0,
        "total_shares": 1600.0,
        "threshold_ms": 20.0,
        **change,
    }
    return DatastoreLoad(**values)  # type: ignore[arg-type]  # (values of a test)


WAITING = RateDemand(shares=400.0, asked=math.inf)


def test_host_tells_what_it_did_and_what_it_wants() -> None:
    state = JointState(iops_per_share=1.0, capacity=Capacity(iops=1900.0))
    demands = (
        WAITING,
        RateDemand(shares=200.0, asked=60.0),
        RateDemand(shares=100.0, asked=math.inf, reserved=300.0),
        RateDemand(shares=0.0, asked=25.0),
        RateDemand(shares=100.0, asked=0.0),
    )

    part = part_of(state, period(*demands))

    # At one for each share: the first wants more than 400; 60, 300 and 25 are content.
    assert (part.active_shares, part.met_iops) == (400, 385)
    assert (part.shares, part.reserved_iops, part.capacity_iops) == (800, 300, 1900)


@pytest.mark.parametrize(
    "change", [{"hosts": 1}, {"threshold_ms": None}], ids=["alone", "no threshold"]
)
def test_datastore_stays_as_it_is_where_nothing_is_to_be_divided(
    change: dict[str, float | None],
) -> None:
    after = after_period(JointState(), period(WAITING), load(**change), stated_iops=2000)

    assert after.budget_iops is None


def test_first_answer_that_names_another_host_gives_the_part_by_shares() -> None:
    after = after_period(JointState(), period(WAITING), load(), stated_iops=2000)

    # 400 of 1,600 shares.
    assert after.budget_iops == pytest.approx(500)


def test_host_takes_more_once_two_answers_give_it() -> None:
    state = after_period(JointState(), period(WAITING), load(), stated_iops=2000)
    more = load(total_active_shares=800.0)

    once = after_period(state, period(WAITING), more, stated_iops=2000)
    twice = after_period(once, period(WAITING), more, stated_iops=2000)
    less = after_period(twice, period(WAITING), load(), stated_iops=2000)

    assert once.budget_iops == pytest.approx(500)
    assert twice.budget_iops == pytest.approx(1010, rel=0.03)
    assert less.budget_iops == pytest.approx(510, rel=0.03)


def test_free_capacity_is_given_by_all_shares_while_nobody_wants_more() -> None:
    quiet = RateDemand(shares=400.0, asked=100.0)
    seen = load(total_active_shares=0.0, done_iops=400.0, met_iops=400.0)

    after = after_period(JointState(), period(quiet), seen, stated_iops=2000)

    # Its own 100, and 400 of 1,600 shares of the 1,600 that are free.
    assert after.budget_iops == pytest.approx(500)


@pytest.mark.parametrize(
    ("stated", "left"),
    # 3 % of a quarter, and never less than ten.
    [(2000.0, 15.0), (200.0, 10.0)],
)
def test_idle_host_keeps_a_little_to_come_back_with(stated: float, left: float) -> None:
    idle = RateDemand(shares=400.0, asked=0.0)

    after = after_period(
        JointState(), period(idle), load(total_active_shares=1200.0), stated_iops=stated
    )

    assert after.budget_iops == pytest.approx(left)


figures = st.floats(0, 1e12) | st.sampled_from([0.0, 1e-9, 1e-300, 1e12])
some_figures = st.floats(1e-9, 1e12)
answers = st.builds(
    DatastoreLoad,
    latency_ms=st.none() | figures,
    outstanding_io=figures,
    total_active_shares=figures,
    met_io=figures,
    hosts=st.integers(0, 1000),
    done_iops=figures,
    met_iops=figures,
    total_shares=figures,
    reserved_iops=figures,
    capacity_iops=st.none() | some_figures,
    threshold_ms=st.none() | some_figures,
    is_shared=st.booleans(),
)


@given(st.lists(answers, min_size=1, max_size=6), st.sampled_from([0.0, 300.0]))
@example([load(total_active_shares=1e-9)] * 3, 0.0)
@example([load(total_shares=1e-9, total_active_shares=0.0)] * 3, 0.0)
@example([load(total_active_shares=1e12, met_iops=1e12)] * 3, 300.0)
@example([load(), load(hosts=0, total_shares=0.0)], 0.0)
def test_whatever_is_answered_moves_the_part_within_bounds(
    loads: list[DatastoreLoad], reserved: float
) -> None:
    """The answers are not signed."""
    waiting = RateDemand(shares=400.0, asked=math.inf, reserved=reserved)
    state = JointState()
    for answer in loads:
        state = after_period(state, period(waiting), answer, stated_iops=2000)

        if state.budget_iops is not None:
            # Up to twice of what is stated.
            assert max(10.0, reserved) <= state.budget_iops <= 4000.0


def test_last_answer_counts_for_three_periods() -> None:
    state = after_period(JointState(), period(WAITING), load(), stated_iops=2000)

    budgets = []
    for _ in range(KEPT_PERIODS + 1):
        late = period(WAITING, RateDemand(shares=0.0, asked=500.0), latency_ms=40.0)
        state = after_period(state, late, None, stated_iops=2000)
        budgets.append(state.budget_iops)

    # Then its own latency: 5 % below the 500 that it did.
    assert budgets == pytest.approx([500, 500, 500, 475])


def test_host_that_sees_no_latency_either_takes_its_part_by_the_policy() -> None:
    state = after_period(
        JointState(), period(WAITING), load(total_active_shares=800.0), stated_iops=2000
    )
    nothing = period(RateDemand(shares=400.0, asked=0.0), latency_ms=None)

    for _ in range(KEPT_PERIODS + 1):
        state = after_period(state, nothing, None, stated_iops=2000)

    assert state.budget_iops == pytest.approx(500)


@pytest.mark.parametrize(
    ("latency_ms", "capacity", "expected"),
    [(30.0, 500.0, True), (30.0, 510.0, False), (20.0, 500.0, False), (None, 500.0, False)],
)
def test_holding_back_is_in_vain_where_the_lowest_capacity_is_still_late(
    latency_ms: float | None, capacity: float, expected: bool
) -> None:
    state = JointState(heard=load(latency_ms=latency_ms), capacity=Capacity(iops=capacity))

    # A quarter of 2,000.
    assert is_in_vain(state, stated_iops=2000) is expected
    assert not is_in_vain(JointState(), stated_iops=2000)


def test_loss_of_one_host_without_the_gain_of_the_other_is_no_lower_capacity() -> None:
    state = JointState(
        budget_iops=500.0,
        capacity=Capacity(iops=2000.0),
        heard=load(done_iops=1990.0, capacity_iops=2000.0),
    )
    late = load(latency_ms=60.0, done_iops=1400.0, capacity_iops=2000.0)

    once = after_period(state, period(WAITING), late, stated_iops=2000)
    again = after_period(replace(state, heard=late), period(WAITING), late, stated_iops=2000)

    assert once.capacity is not None
    assert once.capacity.iops == pytest.approx(0.95 * 1990)
    # Twice in a row it is what the datastore does.
    assert again.capacity is not None
    assert again.capacity.iops == pytest.approx(0.95 * 1400)


def test_host_that_was_cut_off_comes_back_with_the_others_capacity() -> None:
    state = JointState(
        budget_iops=300.0,
        capacity=Capacity(iops=900.0),
        heard=load(done_iops=890.0, capacity_iops=900.0),
    )
    for _ in range(KEPT_PERIODS + 1):
        told = part_of(state, period(WAITING))
        state = after_period(state, period(WAITING), None, stated_iops=2000)

    silent = part_of(state, period(WAITING))
    back = after_period(
        state, period(WAITING), load(done_iops=1900.0, capacity_iops=1950.0), stated_iops=2000
    )
    nobody_knows = after_period(state, period(WAITING), load(done_iops=850.0), stated_iops=2000)

    assert told.capacity_iops == 900.0
    assert silent.capacity_iops is None
    assert back.capacity is not None
    assert back.capacity.iops == 1950.0
    assert nobody_knows.capacity is not None
    assert nobody_knows.capacity.iops == 900.0


def test_service_that_was_never_heard_changes_nothing() -> None:
    state = JointState()
    for _ in range(10):
        state = after_period(state, period(WAITING, latency_ms=64.0), None, stated_iops=2000)

    assert state.budget_iops is None
