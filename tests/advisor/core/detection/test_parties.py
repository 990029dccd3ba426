"""What the sums of an incident know of its workloads."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from advisor.core.detection.parties import Parties

NAMES = st.sampled_from("abcdefg")


@given(
    known=st.lists(NAMES, unique=True),
    asked=st.lists(NAMES).map(tuple),
    is_prefix=st.booleans(),
)
def test_usual_rates_are_those_of_the_names(
    known: list[str], asked: tuple[str, ...], is_prefix: bool
) -> None:
    rates = {name: float(place) for place, name in enumerate(known)}
    parties = Parties(workloads=tuple(known), usual_rate=np.array(list(rates.values())))
    names = tuple(known[: len(asked)]) if is_prefix else asked

    found = parties.usual_of(names)

    expected = [rates.get(name) for name in names]
    assert (None if found is None else found.tolist()) == (None if None in expected else expected)
