"""What part of a capacity comes through, on the card of a policy and in its what-if alike."""

from dataclasses import replace
from datetime import timedelta

import pytest

from advisor.advice.policy.decide.policy_advice import advise
from advisor.core.forecast.past import HistoryWindow
from advisor.core.forecast.what_if import (
    CandidateAllocation,
    StoredWhatIfInputs,
    WhatIfInputs,
    what_if,
)
from advisor.core.grant import Grant
from advisor.core.let_through import delivered_parts
from advisor.core.resource import Unit
from tests.advisor.advice.policy.contended_resources import BEGAN, datastore


def test_what_was_let_through_under_a_policy_is_let_through_again():
    assert delivered_parts(Unit.IOPS, is_enforced=False) == (0.91, 1.0)
    assert delivered_parts(Unit.IOPS, is_enforced=True) == (1.0, 1.0)
    assert delivered_parts(Unit.BITS_PER_S, is_enforced=False) == (1.0, 1.0)


@pytest.mark.parametrize(
    "sizes", [(None, None, None), (4096.0, 4096.0, 1048576.0)], ids=["unknown sizes", "large"]
)
def test_what_if_of_the_advised_policy_tells_the_rates_of_its_card(sizes):
    plain = datastore()
    sized = tuple(
        replace(one, mean_io_bytes=size)
        for one, size in zip(plain.allocations, sizes, strict=True)
    )
    card = advise(replace(plain, allocations=sized))

    found = what_if(what_if_of(card, plain))

    assert [row.then for row in found.rows] == [
        pytest.approx(row.predicted_after, rel=1e-6) for row in card.allocations
    ]


def what_if_of(card, contended):
    """The advised policy on the windows of its incident, in which nobody knows who wanted what."""
    allocations = tuple(
        CandidateAllocation(
            allocation=row.allocation,
            workload=row.workload,
            host=row.host,
            before=Grant(allocation=row.allocation, reservation=0.0, limit=None, shares=1000),
            after=Grant(
                allocation=row.allocation,
                reservation=row.reservation,
                limit=row.limit,
                shares=row.shares,
            ),
            measured=row.measured,
        )
        for row in card.allocations
    )
    windows = tuple(
        HistoryWindow(
            at=BEGAN + timedelta(minutes=minute),
            window_s=60.0,
            capacity=card.evidence.capacity,
            demands=(None,) * len(allocations),
        )
        for minute in range(1, 11)
    )
    return WhatIfInputs.of(
        StoredWhatIfInputs(
            resource=contended.resource,
            kind=contended.kind,
            unit=contended.unit,
            mode=contended.mode,
            capacity=card.evidence.capacity,
            capacity_source="stated",
            capacity_after=card.evidence.capacity,
            reservable=None,
            enforced=False,
            began_at=contended.began_at,
            ended_at=contended.ended_at,
            allocations=allocations,
            windows=windows,
            congested=(True,) * len(windows),
        )
    )
