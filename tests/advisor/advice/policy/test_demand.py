"""What is predicted is bounded by what a workload ever wanted, and I/Os count by their size."""

import json
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from advisor.advice.policy.decide.demand import TOO_WIDE
from advisor.advice.policy.decide.policy_advice import advise
from advisor.advice.policy.decide.policy_inputs import AdviceInputs
from advisor.core.canonical import dumps, loads
from advisor.core.demand.latency import SeenLatency
from advisor.core.entitlement_checks import check_stored_entitlements
from advisor.core.explanation.answer import AdviceOutcome
from advisor.core.grant import Grant
from advisor.core.iosize import size_cost
from tests.advisor.advice.policy.contended_resources import (
    MBIT,
    datastore,
    seen_calm,
    steady,
    uplink,
)
from tests.advisor.advice.policy.test_policy_properties import contended_inputs

KIB = 1024
# Of 1,000 IOPS that a disk did while congested, iocost lets 91 to 100 % through.
LET_THROUGH = 955


def with_usual(inputs, *rates, **fields):
    """The allocations with these calm rates, unchanging."""
    allocations = [
        replace(allocation, **seen_calm(rate), **fields)
        for allocation, rate in zip(inputs.allocations, rates, strict=True)
    ]
    return replace(inputs, allocations=tuple(allocations))


def after(advice):
    return [row.predicted_after for row in advice.allocations]


def test_a_victim_is_predicted_what_it_takes_when_all_is_calm():
    advice = advise(with_usual(datastore(), 300.0, 100.0, 200.0))

    # db took 300 of the 571 due; app lacks nothing; batch keeps the rest of what iocost lets
    # through of 1,000
    assert after(advice) == pytest.approx([300, 100, LET_THROUGH - 400])
    db = advice.allocations[0]
    assert db.unsure == ""
    assert db.interval.low < 300 < db.interval.high
    low, high = (f"{one:.0f}" for one in (db.interval.low, db.interval.high))
    assert f"db gets 200 IOPS now, {low} IOPS to {high} IOPS predicted" in advice.summary


def test_a_victim_of_latency_that_lacks_no_iops_still_gets_advice():
    advice = advise(with_usual(datastore(), 200.0, 100.0, 200.0))

    assert advice.outcome is AdviceOutcome.RECOMMENDATION
    # 2000 of 3500 shares of 1,000
    assert "db gets 200 IOPS now, " in advice.summary
    assert advice.summary.endswith("predicted, its share is 571 IOPS if it needs more")


def test_who_grew_but_not_most_is_not_predicted_much_more_than_it_got():
    advice = advise(with_usual(datastore(), 150.0, 100.0, 200.0))

    # db grew by 50 where batch grew by 500: a quarter more is expected, and twice is the most
    assert after(advice) == pytest.approx([250, 100, LET_THROUGH - 350])
    assert advice.allocations[0].interval.high <= 2 * 200 * 1.2


def test_the_headline_tells_the_gain_that_is_sure_not_the_largest():
    inputs = with_usual(datastore(), 210.0, 150.0, 200.0)
    # db may gain most, but in which third of the windows it comes, nobody knows
    bursts = (630.0, 0.0, 0.0) * 13
    db = replace(inputs.allocations[0], calm_rates=bursts)

    advice = advise(replace(inputs, allocations=(db, *inputs.allocations[1:])))

    assert advice.allocations[0].unsure == TOO_WIDE
    assert "app gets 100 IOPS now, " in advice.summary


@pytest.mark.parametrize(
    ("backlogged", "usual", "predicted"),
    [
        # 75 are reserved, and it takes a third of the rest beside
        (True, 20, 75 + 19 / 3),
        (None, 20, 75 + 19 / 3),
        (True, 31.2, 31.2),
        (False, 20, 31.2),
    ],
    ids=[
        "grew, with a queue of its own",
        "grew, and nobody looked",
        "no more than usual, for all its queue",
        "grew, and its queue is empty",
    ],
)
def test_who_grew_wants_more_unless_its_queue_is_empty(backlogged, usual, predicted):
    inputs = with_usual(uplink(), 31.2 * MBIT, 20 * MBIT, 20 * MBIT)
    first = replace(inputs.allocations[0], backlogged=backlogged, **seen_calm(usual * MBIT))

    advice = advise(replace(inputs, allocations=(first, *inputs.allocations[1:])))

    assert advice.allocations[0].predicted_after / MBIT == pytest.approx(predicted)


def test_a_bursty_workload_is_predicted_its_mean_not_its_peak():
    inputs = with_usual(datastore(), 200.0, 100.0, 200.0)
    # 600 in every third window: 200 on the mean, 600 at the 95th percentile
    db = replace(inputs.allocations[0], calm_rates=(600.0, 0.0, 0.0) * 13)

    row = advise(replace(inputs, allocations=(db, *inputs.allocations[1:]))).allocations[0]

    assert row.predicted_after == pytest.approx(200, rel=0.2)
    assert row.interval.low < 200 < row.interval.high


def test_latency_is_predicted_of_who_waits_behind_the_aggressor():
    inputs = with_usual(datastore(), 200.0, 100.0, 200.0)
    seen = SeenLatency(calm_ms=5.0, congested_ms=60.0)

    advice = advise(replace(inputs, latency=seen))

    db, app, batch = advice.allocations
    # 3, 6 and 18 I/Os of a disk of 1,000 a second are in front of it, and 15 % is spread.
    assert db.latency_now_ms == 60
    assert db.latency_ms == pytest.approx(5 + 6)
    assert db.latency_interval.low == pytest.approx((5 + 3) / 1.15)
    assert db.latency_interval.high == pytest.approx((5 + 18) * 1.15)
    assert app.latency_ms == db.latency_ms
    assert batch.latency_ms > 40
    assert "its I/O time falls from 60 ms to 7.0 to 26 ms" in advice.summary


@pytest.mark.parametrize("why", ["a policy holds", "not measured"])
def test_latency_is_not_predicted_without_one_queue_that_was_measured(why):
    inputs = with_usual(datastore(), 200.0, 100.0, 200.0)
    if why == "a policy holds":
        held = Grant(allocation=1, reservation=0.0, limit=None, shares=7)
        seen = SeenLatency(calm_ms=5.0, congested_ms=60.0)
        inputs = replace(inputs, latency=seen, in_force=(held,))

    advice = advise(inputs)

    assert all(row.latency_ms is None for row in advice.allocations)
    assert " ms" not in advice.summary


def test_unknown_demand_says_why():
    inputs = with_usual(datastore(), 300.0, 100.0, 200.0)
    db = replace(inputs.allocations[0], **seen_calm(300.0, samples=3))

    advice = advise(replace(inputs, allocations=(db, *inputs.allocations[1:])))

    row = advice.allocations[0]
    assert (row.demand, row.demand_gap) == (None, "3 of 4 calm windows seen")
    assert row.unsure == row.demand_gap


def test_dues_are_of_each_workloads_own_io_size_and_predictions_count_ios_alike():
    sizes = (8 * KIB, 8 * KIB, 64 * KIB)
    inputs = datastore()
    allocations = [
        replace(allocation, mean_io_bytes=float(size))
        for allocation, size in zip(inputs.allocations, sizes, strict=True)
    ]

    advice = advise(replace(inputs, allocations=tuple(allocations)))

    # All want all they can get: device time is divided 2000:1000:500, and was spent as measured.
    small, large = size_cost(8 * KIB), size_cost(64 * KIB)
    time = 300 * small + 700 * large
    dues = [row.entitlement for row in advice.allocations]
    assert dues == pytest.approx([time * 4 / 7 / small, time * 2 / 7 / small, time / 7 / large])
    # Hosts are told the capacity alone.
    assert after(advice) == pytest.approx([LET_THROUGH * part / 7 for part in (4, 2, 1)])
    assert "each I/O by its device time: batch 1." in advice.evidence.formula
    assert (
        "predictions count all I/Os alike, as hosts do without a model of their own "
        "(cgroup_io.models)"
    ) in advice.evidence.formula
    assert "of the capacity hosts let 91 % to 100 % through" in advice.evidence.formula


def test_what_is_due_on_the_card_is_what_the_solver_divides():
    sizes = (8 * KIB, 8 * KIB, 64 * KIB)
    inputs = datastore()
    allocations = [
        replace(allocation, mean_io_bytes=float(size))
        for allocation, size in zip(inputs.allocations, sizes, strict=True)
    ]

    advice = advise(replace(inputs, allocations=tuple(allocations)))

    due = advice.allocations[0].entitlement
    assert advice.evidence.victims[0] == f"db got 200 IOPS of {due:,.0f} IOPS due"


sizes = st.none() | st.floats(512.0, 1e6)


@st.composite
def sized_inputs(draw):
    """Contended inputs with I/Os of any size."""
    inputs = draw(contended_inputs)
    allocations = tuple(
        replace(allocation, mean_io_bytes=draw(sizes)) for allocation in inputs.allocations
    )
    return replace(inputs, allocations=allocations)


@given(sized_inputs())
def test_dues_add_up_to_the_capacity_in_device_time_and_predictions_as_hosts_count(inputs):
    advice = advise(inputs)

    assume(advice.outcome is AdviceOutcome.RECOMMENDATION)
    most = advice.evidence.capacity * (1 + 1e-6)
    assert sum(row.entitlement * row.io_cost for row in advice.allocations) <= most
    assert sum(row.predicted_after for row in advice.allocations) <= most
    # So does who approves it.
    stored = json.loads(dumps(advice))["allocations"]
    check_stored_entitlements(stored, capacity=advice.evidence.capacity)
    # Without a policy the device divides its time; under one hosts count I/Os alike.
    assert (
        sum(
            row.predicted_before * (1.0 if inputs.in_force else row.io_cost)
            for row in advice.allocations
        )
        <= most
    )


@given(sized_inputs())
def test_nothing_that_is_sure_exceeds_twice_of_what_was_ever_seen(inputs):
    advice = advise(inputs)

    assume(advice.outcome is AdviceOutcome.RECOMMENDATION)
    for row, allocation in zip(advice.allocations, inputs.allocations, strict=True):
        if not row.unsure:
            seen = (*allocation.calm_rates, *allocation.congested_rates, 0.0)
            assert row.predicted_after <= 2 * max(seen) * (1 + 1e-6)
            assert row.interval.high - row.interval.low <= 0.5 * row.predicted_after + 1e-9


@given(sized_inputs())
def test_a_prediction_lies_between_its_bounds(inputs):
    advice = advise(inputs)

    assume(advice.outcome is AdviceOutcome.RECOMMENDATION)
    for row in advice.allocations:
        assert row.interval.low <= row.predicted_after * (1 + 1e-6)
        assert row.predicted_after <= row.interval.high * (1 + 1e-6)


def test_inputs_stored_without_sizes_can_still_be_read():
    text = dumps(datastore()).replace('"mean_io_bytes":null,', "")

    assert "mean_io_bytes" not in text
    assert loads(AdviceInputs, text) == datastore()


def test_rates_under_a_policy_in_force_count_ios_alike_as_hosts_do():
    """Both columns of a card are by one measure."""
    inputs = datastore()
    sized = tuple(
        replace(one, mean_io_bytes=size)
        for one, size in zip(inputs.allocations, (4096.0, 4096.0, 1048576.0), strict=True)
    )
    shares = (1000, 1000, 1000)
    held = tuple(
        Grant(allocation=one.allocation, reservation=0.0, limit=None, shares=own)
        for one, own in zip(sized, shares, strict=True)
    )

    advice = advise(replace(inputs, allocations=sized, in_force=held))

    # A third each of the 1,000 IOPS that came through, whatever their size.
    assert [row.predicted_before for row in advice.allocations] == pytest.approx([1000 / 3] * 3)


def test_usual_rate_is_reserved_where_ios_counted_alike_leave_less():
    """In device time the small I/Os of db would have thousands a second; hosts give it 546."""
    inputs = datastore()
    sized = tuple(
        replace(one, mean_io_bytes=size)
        for one, size in zip(inputs.allocations, (4096.0, 4096.0, 1048576.0), strict=True)
    )
    db = replace(sized[0], usual=steady(700.0))

    advice = advise(replace(inputs, allocations=(db, *sized[1:])))

    assert [row.reservation for row in advice.allocations] == [700.0, 0.0, 0.0]
