"""Inputs of policy advice: how much has to be known, and which are refused."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.advice.policy.decide.policy_advice import advise
from advisor.advice.policy.decide.policy_inputs import summarize_columns
from advisor.advice.registry import answer
from advisor.core.canonical import CanonicalError, dumps
from advisor.core.explanation.answer import AdviceOutcome
from tests.advisor.advice.policy.contended_resources import allocation, uplink


@pytest.mark.parametrize(
    ("inputs", "missing"),
    [
        (uplink(allocations=()), [("allocations", 0, 1)]),
        (uplink(capacity=None), [("stated capacity", 0, 1)]),
        (
            uplink(
                allocations=(allocation(1, "web-1", 1.0, samples=4), allocation(2, "web-2", 1.0))
            ),
            [("congested samples of web-1", 4, 30)],
        ),
        (
            uplink(allocations=(allocation(1, "web-1", 1.0, samples=0),)),
            [("congested samples of web-1", 0, 30)],
        ),
        (uplink(allocations=(allocation(1, "web-1", 0.0),)), [("active workloads", 0, 1)]),
    ],
    ids=["no allocations", "no capacity", "few samples", "no samples", "nobody active"],
)
def test_too_little_data_is_said_with_what_is_missing(inputs, missing):
    advice = advise(inputs)

    assert advice.outcome is AdviceOutcome.INSUFFICIENT_DATA
    assert [(one.what, one.have, one.need) for one in advice.missing] == missing


def test_a_damaged_input_text_is_refused_with_its_path():
    text = dumps(uplink()).replace('"mode":"additive"', '"mode":"both"')

    with pytest.raises(CanonicalError, match=r"^\$\.mode: expected one of"):
        answer("policy", text)


def test_two_allocations_of_the_same_number_are_refused():
    with pytest.raises(ValueError, match="same number"):
        uplink(allocations=(allocation(1, "a", 1.0), allocation(1, "b", 1.0)))


@given(
    st.integers(1, 5).flatmap(
        lambda count: st.lists(
            st.lists(st.floats(0, 1e6) | st.just(math.nan), min_size=count, max_size=count),
            max_size=40,
        )
    )
)
def test_columns_are_summarised_as_each_would_be_alone(rows):
    table = np.array(rows, dtype=np.float64).reshape(len(rows), -1 if rows else 1)

    found = summarize_columns(table, span_days=1.0)

    for column, summary in zip(table.T, found, strict=True):
        known = column[~np.isnan(column)]
        if not len(known):
            assert summary is None
            continue
        assert summary.sample_count == len(known)
        assert summary.mean == float(np.mean(known))
        percentiles = [float(np.percentile(known, part)) for part in (50, 90, 95, 99)]
        assert [summary.p50, summary.p90, summary.p95, summary.p99] == percentiles
