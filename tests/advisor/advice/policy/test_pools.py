"""Policy advice on an uplink whose workloads are in pools: what each gets counts them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from advisor.advice.policy.decide.policy_advice import advise
from advisor.advice.policy.decide.policy_answer import Recommendation
from advisor.core.explanation.answer import NoChange
from advisor.core.grant import Grant
from advisor.core.pools import PoolTerms
from tests.advisor.advice.policy.contended_resources import MBIT, allocation, incident, uplink

THIRD = 31.2 * MBIT
BATCH = PoolTerms(
    pool=1, name="batch", reservation=0.0, limit=40 * MBIT, shares=None, members=(2, 3)
)
EVEN = tuple(Grant(allocation=key, reservation=0.0, limit=None, shares=1000) for key in (1, 2, 3))


def even_uplink(*, promised: float = 0.0, **fields: Any) -> Any:
    """Three workloads of equal shares take a third of 94 Mbit/s each; web-1 wants more."""
    inputs = uplink(
        allocations=(
            allocation(1, "web-1", THIRD, reservation=promised, backlogged=True),
            allocation(2, "web-2", THIRD, backlogged=True),
            allocation(3, "web-3", THIRD, backlogged=True),
        ),
        incident=incident(
            {"web-1": (THIRD, 54 * MBIT)},
            {"web-2": (THIRD, 20 * MBIT), "web-3": (THIRD, 20 * MBIT)},
        ),
    )
    return replace(inputs, **fields)


def entitlements(advice: object) -> dict[str, float]:
    assert isinstance(advice, Recommendation)
    return {one.workload: one.entitlement for one in advice.allocations}


def test_limit_of_a_pool_leaves_the_rest_to_the_others() -> None:
    # 94 - 40 for who is in no pool, and a half of 40 for each member.
    found = entitlements(advise(even_uplink(pools_after=(BATCH,))))

    assert found == pytest.approx({"web-1": 54 * MBIT, "web-2": 20 * MBIT, "web-3": 20 * MBIT})


def test_prediction_under_the_pools_in_force_counts_them() -> None:
    pooled = even_uplink(in_force=EVEN, pools_before=(BATCH,), promised=60 * MBIT)

    found = advise(replace(pooled, pools_after=(BATCH,)))

    assert isinstance(found, Recommendation)
    before = {one.workload: one.predicted_before for one in found.allocations}
    # Under a policy in force some of the capacity does not come through, which the pool does not
    # feel: its limit is what it gets.
    assert before["web-2"] == pytest.approx(20 * MBIT)
    assert before["web-1"] is not None
    assert before["web-1"] > 48 * MBIT


def test_reservation_that_does_not_fit_beside_that_of_a_pool_is_refused() -> None:
    reserved = replace(BATCH, reservation=30 * MBIT)

    found = advise(even_uplink(promised=75 * MBIT, pools_after=(reserved,)))

    assert isinstance(found, Recommendation)
    (reason,) = [
        one.reason for one in found.alternatives if one.name.startswith("reserve everything")
    ]
    # 75 may be reserved, 30 of it are the pool's.
    assert reason == (
        "web-1 asks for 75.0 Mbit/s; 45.0 Mbit/s of 75.0 Mbit/s that may be reserved is free"
    )


def test_reservation_of_a_member_is_in_that_of_its_pool() -> None:
    pool = replace(BATCH, reservation=70 * MBIT, limit=None, members=(1, 2))

    found = advise(even_uplink(promised=60 * MBIT, pools_after=(pool,)))

    assert isinstance(found, Recommendation)
    assert found.allocations[0].reservation == 60 * MBIT
    assert not [one for one in found.alternatives if one.name.startswith("reserve everything")]


def test_other_pools_than_those_in_force_are_news() -> None:
    inputs = even_uplink(in_force=EVEN, pools_after=(BATCH,))

    found = advise(inputs)
    same = advise(replace(inputs, pools_before=(BATCH,)))

    assert isinstance(found, Recommendation)
    assert "pool batch: at most 40.0 Mbit/s" in found.evidence.formula
    assert isinstance(same, NoChange)


def test_member_that_its_pool_holds_back_is_no_victim() -> None:
    """Whoever judges incidents knows no pools: web-1 has all that its pool may have."""
    own = replace(BATCH, limit=THIRD, members=(1,))

    found = advise(even_uplink(in_force=EVEN, pools_before=(own,), pools_after=(own,)))

    assert isinstance(found, NoChange)
    assert found.summary == (
        "uplink h1/eth0 was congested, yet with its pools everybody got what they are entitled "
        "to: it is too small for what is asked of it"
    )
