"""What the sums of an incident know of its workloads."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.core.detection.parties import SUMS, Parties, victims_and_aggressors

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


def parties(
    *,
    rate: float,
    usual: float,
    entitled: float,
    queued: float = 0.0,
    waited: float = 0.0,
    reserved: float = 0.0,
) -> Parties:
    """Ten windows in which `one` got `rate`, beside another that took the rest of 100."""
    rates = np.array([rate, 100.0 - rate])
    due = np.array([entitled, 100.0 - entitled])
    sums = {name: np.zeros(2) for name in SUMS}
    sums |= {
        "windows": np.full(2, 10.0),
        "cost": 10 * rates,
        "rate": 10 * rates,
        "queued": np.array([queued, 0.0]),
        "waited": np.array([waited, 0.0]),
    }
    sums |= dict.fromkeys(("entitlement", "plain_entitlement"), 10 * due)
    sums |= dict.fromkeys(("entitled_rate", "plain_entitled_rate"), 10 * due)
    return Parties(
        workloads=("one", "other"),
        sums=np.stack([sums[name] for name in SUMS]),
        reservation=np.array([reserved, 0.0]),
        usual_rate=np.array([usual, 10.0]),
    )


def victims(found: Parties, *, prefix: str = "") -> list[str]:
    return [one.workload for one in victims_and_aggressors(found, prefix=prefix)[0]]


@pytest.mark.parametrize(
    ("found", "is_victim"),
    [
        (parties(rate=20.0, usual=40.0, entitled=45.0), True),
        (parties(rate=20.0, usual=20.0, entitled=45.0), False),
        (parties(rate=20.0, usual=19.0, entitled=45.0), False),
        (parties(rate=20.0, usual=20.0, entitled=45.0, queued=1.0), True),
        (parties(rate=20.0, usual=np.nan, entitled=45.0), True),
        (parties(rate=20.0, usual=10.0, entitled=45.0, reserved=40.0), True),
        (parties(rate=20.0, usual=20.0, entitled=45.0, reserved=40.0), False),
        (parties(rate=40.0, usual=60.0, entitled=40.0), False),
    ],
    ids=[
        "below its usual rate", "as usual", "more than usual", "its queue was seen",
        "usual rate unknown", "grew and lacks what was promised", "never takes what was promised",
        "has what is due",
    ],
)  # fmt: skip
def test_victim_is_who_falls_below_its_own_calm(found: Parties, is_victim: bool) -> None:
    assert victims(found) == (["one"] if is_victim else [])


def test_usual_rates_say_nothing_where_all_are_slowed() -> None:
    assert victims(parties(rate=20.0, usual=20.0, entitled=45.0), prefix="plain_") == ["one"]


@pytest.mark.parametrize(
    ("waited", "is_known"), [(0.0, False), (4.0, False), (5.0, True), (10.0, True)]
)
def test_demand_is_known_of_who_was_seen_to_wait_half_of_the_time(
    waited: float, is_known: bool
) -> None:
    found = parties(rate=20.0, usual=40.0, entitled=45.0, waited=waited)

    (victim,) = victims_and_aggressors(found)[0]

    assert victim.is_demand_known is is_known
