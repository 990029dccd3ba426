"""Turns go round over organisations, to whoever waits longest in each."""

from __future__ import annotations

from collections import Counter
from itertools import count

from hypothesis import given
from hypothesis import strategies as st

from advisor.core.turns import fair_turns

candidates = st.dictionaries(st.integers(1, 60), st.integers(1, 5), max_size=60).map(
    lambda owners: [(organisation, subject) for subject, organisation in owners.items()]
)


def test_three_beside_five_thousand_are_among_the_first_six() -> None:
    idle = [(1, number) for number in range(1, 5001)]
    busy = [(2, number) for number in (6001, 6002, 6003)]

    turns = fair_turns(idle + busy, last={}, most=500)

    assert turns[:6] == [1, 6001, 2, 6002, 3, 6003]
    assert len(turns) == 500


def test_who_waits_longest_comes_first() -> None:
    last = {1: 30.0, 2: 10.0, 3: 20.0}

    # The fourth has had no turn yet.
    turns = fair_turns([(1, 1), (1, 2), (1, 3), (1, 4)], last=last, most=10)

    assert turns == [4, 2, 3, 1]


def test_no_room_is_no_turn() -> None:
    assert fair_turns([(1, 1)], last={}, most=0) == []
    assert fair_turns([(1, 1)], last={}, most=-3) == []


@given(candidates, st.integers(0, 70))
def test_each_organisation_gets_its_part_or_all_it_asks_for(
    asking: list[tuple[int, int]], most: int
) -> None:
    owner = {subject: organisation for organisation, subject in asking}
    asked = Counter(owner.values())

    turns = fair_turns(asking, last={}, most=most)

    got = Counter(owner[subject] for subject in turns)
    assert len(turns) == len(set(turns)) == min(most, len(asking))
    assert all(got[one] >= min(asked[one], most // len(asked)) for one in asked)


@given(candidates, st.integers(1, 70))
def test_everybody_has_a_turn_before_anybody_of_the_organisation_has_a_second(
    asking: list[tuple[int, int]], most: int
) -> None:
    last: dict[int, float] = {}
    turns: Counter[int] = Counter()
    clock = count()
    for _ in range(100):
        for subject in fair_turns(asking, last=last, most=most):
            last[subject] = float(next(clock))
            turns[subject] += 1
        for organisation in {one for one, _ in asking}:
            own = [turns[subject] for one, subject in asking if one == organisation]
            assert max(own) - min(own) <= 1
