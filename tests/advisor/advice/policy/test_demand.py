"""What is predicted is bounded by what a workload ever wanted, and I/Os count by their size."""

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from advisor.advice.policy.decide.policy_advice import advise
from advisor.advice.policy.decide.policy_inputs import AdviceInputs, summarize_rates
from advisor.core.canonical import dumps, loads
from advisor.core.explanation.answer import AdviceOutcome
from advisor.core.iosize import size_cost
from tests.advisor.advice.policy.contended_resources import MBIT, datastore, steady, uplink
from tests.advisor.advice.policy.test_policy_properties import contended_inputs

KIB = 1024


def with_usual(inputs, *rates, **fields):
    """The allocations with these calm rates, unchanging."""
    allocations = [
        replace(allocation, usual=steady(rate), **fields)
        for allocation, rate in zip(inputs.allocations, rates, strict=True)
    ]
    return replace(inputs, allocations=tuple(allocations))


def after(advice):
    return [row.predicted_after for row in advice.allocations]


def test_a_victim_is_predicted_what_it_takes_when_all_is_calm():
    advice = advise(with_usual(datastore(), 300.0, 100.0, 200.0))

    # db took 300 of the 571 due; app lacks nothing; batch keeps the other 600 of 1,000
    assert after(advice) == pytest.approx([300, 100, 600])
    assert "db gets 200 IOPS now, 300 IOPS predicted" in advice.summary


def test_a_victim_of_latency_that_lacks_no_iops_still_gets_advice():
    advice = advise(with_usual(datastore(), 200.0, 100.0, 200.0))

    assert advice.outcome is AdviceOutcome.RECOMMENDATION
    # 2000 of 3500 shares of 1,000
    assert advice.summary.endswith(
        "db gets 200 IOPS now, 200 IOPS predicted, 571 IOPS due when it asks for more"
    )


def test_a_workload_that_grew_under_contention_is_predicted_a_twentieth_more():
    advice = advise(with_usual(datastore(), 150.0, 100.0, 200.0))

    assert after(advice) == pytest.approx([1.05 * 200, 100, 1000 - 310])


@pytest.mark.parametrize(
    ("backlogged", "predicted"),
    [(True, 75 + 19 / 3), (None, 1.05 * 31.2), (False, 31.2)],
    ids=["a queue of its own", "nobody looked", "its queue is empty"],
)
def test_only_a_measured_queue_shows_that_more_is_wanted(backlogged, predicted):
    inputs = with_usual(uplink(), 31.2 * MBIT, 20 * MBIT, 20 * MBIT)
    usual = steady(20 * MBIT if backlogged is None else 31.2 * MBIT)
    first = replace(inputs.allocations[0], backlogged=backlogged, usual=usual)

    advice = advise(replace(inputs, allocations=(first, *inputs.allocations[1:])))

    assert advice.allocations[0].predicted_after / MBIT == pytest.approx(predicted)


def test_a_bursty_workload_is_predicted_its_mean_not_its_peak():
    inputs = with_usual(datastore(), 200.0, 100.0, 200.0)
    # 600 in every third window: 200 on the mean, 600 at the 95th percentile
    bursts = summarize_rates([600.0, 0.0, 0.0] * 20, span_days=1.0)
    db = replace(inputs.allocations[0], usual=bursts)

    advice = advise(replace(inputs, allocations=(db, *inputs.allocations[1:])))

    assert advice.allocations[0].predicted_after == pytest.approx(200)


def test_unknown_demand_says_why():
    inputs = with_usual(datastore(), 300.0, 100.0, 200.0)
    db = replace(inputs.allocations[0], usual=steady(300.0, samples=9))

    row = advise(replace(inputs, allocations=(db, *inputs.allocations[1:]))).allocations[0]

    assert (row.demand, row.demand_gap) == (None, "9 of 30 calm windows")


def test_rates_are_of_each_workloads_own_io_size():
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
    assert after(advice) == pytest.approx(
        [time * 4 / 7 / small, time * 2 / 7 / small, time / 7 / large]
    )
    assert "each I/O by its device time: batch 1." in advice.evidence.formula


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
def test_dues_and_predictions_add_up_to_no_more_than_the_capacity_in_device_time(inputs):
    advice = advise(inputs)

    assume(advice.outcome is AdviceOutcome.RECOMMENDATION)
    most = advice.evidence.capacity * (1 + 1e-6)
    for name in ("entitlement", "predicted_before", "predicted_after"):
        assert sum(getattr(row, name) * row.io_cost for row in advice.allocations) <= most


@given(sized_inputs())
def test_nothing_predicted_exceeds_what_was_ever_wanted_unless_a_queue_was_measured(inputs):
    advice = advise(inputs)

    assume(advice.outcome is AdviceOutcome.RECOMMENDATION)
    for row, allocation in zip(advice.allocations, inputs.allocations, strict=True):
        known = (
            allocation.usual is not None and allocation.usual.sample_count >= inputs.samples_needed
        )
        if known and not (inputs.kind == "uplink" and allocation.backlogged):
            most = 1.05 * max(allocation.usual.p95, allocation.congested.p95)
            assert row.predicted_after <= most * (1 + 1e-6)


def test_inputs_stored_without_sizes_can_still_be_read():
    text = dumps(datastore()).replace('"mean_io_bytes":null,', "")

    assert "mean_io_bytes" not in text
    assert loads(AdviceInputs, text) == datastore()
