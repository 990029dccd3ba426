"""What the windows of a workload say of what it wants."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from advisor.core.demand.kind import Demand, DemandKind, SeenRates, demands_of

rates = arrays(np.float64, st.integers(0, 12), elements=st.floats(0, 1e9))
workloads = st.builds(
    SeenRates,
    calm=rates,
    congested=rates,
    waits=st.sampled_from([None, True, False]),
    is_throttled=st.booleans(),
)


def seen(
    calm: list[float],
    congested: list[float],
    *,
    waits: bool | None = None,
    throttled: bool = False,
) -> SeenRates:
    return SeenRates(
        calm=np.array(calm, dtype=np.float64),
        congested=np.array(congested, dtype=np.float64),
        waits=waits,
        is_throttled=throttled,
    )


def only(workload: SeenRates) -> Demand:
    (found,) = demands_of([workload])
    return found


@given(st.lists(workloads, max_size=6))
def test_demand_of_a_known_kind_is_drawn_from_windows_that_were_seen(
    found: list[SeenRates],
) -> None:
    for one, demand in zip(found, demands_of(found), strict=True):
        if demand.is_open:
            assert not len(demand.windows)
            assert demand.least <= demand.most
        else:
            assert set(demand.windows) <= {0.0, *one.calm, *one.congested}
            assert demand.deferred >= 0


@given(st.lists(workloads, max_size=6), st.randoms(use_true_random=False))
def test_order_of_the_workloads_does_not_matter(found: list[SeenRates], random) -> None:  # type: ignore[no-untyped-def]  # Hypothesis names no type for it
    order = list(range(len(found)))
    random.shuffle(order)

    straight, mixed = demands_of(found), demands_of([found[place] for place in order])

    for place, demand in zip(order, mixed, strict=True):
        assert (demand.kind, demand.most) == (straight[place].kind, straight[place].most)


@given(st.lists(workloads, max_size=6))
def test_who_grew_most_is_never_bounded(found: list[SeenRates]) -> None:
    demands = demands_of(found)

    greedy = [
        (float(one.congested.mean() - one.calm.mean()), demand.most)
        for one, demand in zip(found, demands, strict=True)
        if demand.kind is DemandKind.GREEDY
    ]
    unknown = any(demand.kind is DemandKind.UNKNOWN for demand in demands)
    if greedy and not unknown:
        assert max(greedy)[1] == np.inf


STEADY = [100.0] * 30
BURSTS = [300.0, 0.0, 0.0] * 10


@pytest.mark.parametrize(
    ("workload", "kind"),
    [
        (seen(STEADY, []), DemandKind.IDLE),
        (seen(STEADY, [0.0] * 30), DemandKind.IDLE),
        (seen([100.0] * 3, STEADY), DemandKind.UNKNOWN),
        (seen(STEADY, STEADY), DemandKind.PACED),
        (seen(STEADY, [60.0] * 30), DemandKind.PACED),
        (seen(BURSTS, BURSTS), DemandKind.BURSTY),
        (seen(STEADY, [114.0] * 30), DemandKind.PACED),
        (seen(STEADY, [116.0] * 30), DemandKind.GREEDY),
        (seen(STEADY, [116.0] * 30, waits=True), DemandKind.GREEDY),
        (seen(STEADY, [116.0] * 30, waits=False), DemandKind.GROWN),
        (seen(STEADY, [116.0] * 30, throttled=True), DemandKind.GROWN),
    ],
    ids=[
        "not measured in the incident",
        "did nothing in the incident",
        "three calm windows",
        "the same",
        "held back",
        "on and off",
        "a little more, as noise is",
        "grew, nobody looked whether it waits",
        "grew and waits",
        "grew and waits for nothing",
        "at its own limit",
    ],
)
def test_kind_is_told_by_growth_and_waiting(workload: SeenRates, kind: DemandKind) -> None:
    assert only(workload).kind is kind


def test_growth_within_the_noise_is_none() -> None:
    # 0 and 200 in turn; a mean of 120 is within two standard errors of 100 with ten windows.
    calm, congested = [0.0, 200.0] * 5, [20.0, 220.0] * 5

    assert only(seen(calm, congested)).kind is DemandKind.BURSTY


def test_who_was_held_back_wants_what_it_takes_in_calm_windows() -> None:
    assert only(seen(STEADY, [60.0] * 30)).mean == 100
    # 5 % less is noise, and both count.
    assert only(seen(STEADY, [96.0] * 30)).mean == 98


@pytest.mark.parametrize(
    ("waits", "deferred"),
    [(True, 40 * 30), (None, 40 * 30), (False, 0)],
    ids=["waits", "nobody looked", "waits for nothing"],
)
def test_work_may_be_put_off_by_who_was_held_back_unless_nothing_waits(
    waits: bool | None, deferred: float
) -> None:
    assert only(seen(STEADY, [60.0] * 30, waits=waits)).deferred == deferred


@pytest.mark.parametrize(
    ("calm", "congested", "answers"),
    [
        ([100.0, 110.0, 90.0] * 10, [60.0] * 30, True),
        # By a clock: what it does is not changed by what it waits for.
        ([100.0, 104.0, 96.0] * 10, [60.0] * 30, False),
        ([100.0, 110.0, 90.0] * 10, [96.0] * 30, False),
    ],
    ids=["varies and was held back", "by a clock", "was not held back"],
)
def test_clients_may_wait_for_answers_where_rates_vary_and_were_held_back(
    calm: list[float], congested: list[float], answers: bool
) -> None:
    assert only(seen(calm, congested)).answers is answers


def test_who_grew_less_than_half_of_the_most_wants_twice_what_it_got_at_most() -> None:
    most = seen(STEADY, [500.0] * 30)
    half, less = seen(STEADY, [300.0] * 30), seen(STEADY, [299.0] * 30)

    found = demands_of([most, half, less])

    assert [one.most for one in found] == [np.inf, np.inf, 2 * 299]
