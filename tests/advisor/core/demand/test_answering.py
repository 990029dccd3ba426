"""The least part of a demand that is left where clients wait longer for their answers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.core.demand.answering import MOST_ROWS, parts_wanted
from advisor.core.demand.kind import Demand, DemandKind
from tests.advisor.core.demand.test_forecast import equally


def paced(rate: float, *, answers: bool) -> Demand:
    return Demand(kind=DemandKind.PACED, windows=np.full(4, rate), answers=answers)


def parts(rates: list[float], answers: list[bool], capacity: float) -> list[float]:
    demands = [paced(rate, answers=one) for rate, one in zip(rates, answers, strict=True)]
    found, most = parts_wanted(
        demands, np.array(rates), lambda asked: equally(asked, capacity=capacity)
    ).tolist()
    assert set(most) == {1}
    least: list[float] = found
    return least


@given(
    st.lists(st.tuples(st.floats(0, 1e6), st.booleans()), min_size=1, max_size=8),
    st.floats(1, 1e6),
)
def test_part_is_above_none_and_at_most_the_whole(
    workloads: list[tuple[float, bool]], capacity: float
) -> None:
    found = parts([rate for rate, _ in workloads], [answers for _, answers in workloads], capacity)

    for (_, answers), part in zip(workloads, found, strict=True):
        assert 0 <= part <= 1
        assert answers or part == 1


def test_client_alone_on_the_whole_resource_wants_what_it_wanted() -> None:
    assert parts([100.0, 0.0], [True, False], 500.0) == [1, 1]


def test_client_thinks_as_long_and_waits_by_its_due() -> None:
    # 1 / X = 1 / 100 - 1 / 500 + 1 / 250 with a greedy one beside it: X = 83.3.
    assert parts([100.0, np.inf], [True, False], 500.0) == pytest.approx([1 / 1.2, 1])


def test_more_workloads_than_rows_are_judged_together() -> None:
    count = MOST_ROWS + 1
    found = parts([1.0] * count, [True] * count, 50.0)

    assert len(set(found[1:-1])) == 1
    # Two that always ask leave each other less.
    assert found[0] == found[-1] <= found[1]
