"""Limits in force stay while shares or reservations change: nobody asked to lift them."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.advice.policy.decide.policy_advice import advise
from advisor.advice.policy.decide.policy_answer import RecommendationKind
from advisor.core.explanation.answer import AdviceOutcome
from advisor.core.grant import Grant
from tests.advisor.advice.policy.contended_resources import datastore, in_force


def limited(inputs, *, allocation, limit):
    return tuple(
        replace(grant, limit=limit) if grant.allocation == allocation else grant
        for grant in in_force(inputs)
    )


def promised(reservation):
    """The datastore on which db was promised this, after batch was limited to 242."""
    inputs = datastore()
    db = replace(inputs.allocations[0], reservation=reservation)
    inputs = replace(inputs, allocations=(db, *inputs.allocations[1:]))
    return replace(inputs, in_force=limited(inputs, allocation=3, limit=242.0))


def test_a_new_reservation_lifts_no_limit():
    advice = advise(promised(600.0))

    rows = {row.workload: row for row in advice.allocations}
    assert advice.kind is RecommendationKind.RESERVATION
    assert rows["db"].reservation == 600.0
    assert rows["batch"].limit == 242.0
    assert rows["batch"].predicted_after <= 242.0


def test_a_reservation_above_a_limit_that_nobody_stated_lifts_it():
    inputs = promised(600.0)
    held = limited(inputs, allocation=1, limit=500.0)

    advice = advise(replace(inputs, in_force=held))

    db = advice.allocations[0]
    assert (db.reservation, db.limit) == (600.0, None)


@given(st.floats(1, 740), st.floats(1, 2000), st.integers(1, 3))
def test_what_was_advised_is_advised_no_more_once_it_is_in_force(reservation, limit, which):
    inputs = promised(reservation)
    inputs = replace(inputs, in_force=limited(inputs, allocation=which, limit=limit))

    first = advise(inputs)

    assert first.outcome is AdviceOutcome.RECOMMENDATION
    policy = tuple(
        Grant(
            allocation=row.allocation,
            reservation=row.reservation,
            limit=row.limit,
            shares=row.shares,
        )
        for row in first.allocations
    )
    assert all(one.limit is None or one.limit >= one.reservation for one in policy)
    assert advise(replace(inputs, in_force=policy)).outcome is AdviceOutcome.NO_CHANGE
    kept = {grant.allocation: grant.limit for grant in inputs.in_force if grant.limit is not None}
    for grant in policy:
        if grant.allocation in kept and grant.reservation <= kept[grant.allocation]:
            assert grant.limit == pytest.approx(kept[grant.allocation])
