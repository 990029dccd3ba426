"""Reservations, limits and demands of a policy at the exact value of each rule."""

from dataclasses import replace
from typing import Any

import pytest

from advisor.advice.policy.decide.candidate import (
    Setting,
    by_shares,
    capped_at_entitlement,
    due_of,
    in_force,
    same,
    setting_of,
    stated_reservations,
    usual_reservations,
    with_limits,
    with_limits_in_force,
    with_reservations,
)
from advisor.advice.policy.decide.demand import (
    demand_gap,
    demands,
    most_wanted,
    rate_wanted,
)
from advisor.advice.policy.decide.policy_inputs import (
    AdviceInputs,
    RateSummary,
    summarize_rates,
)
from advisor.core.demand.kind import DemandKind
from advisor.core.grant import Grant
from advisor.core.resource import Tier
from advisor.core.standing import UNALLOCATED
from tests.advisor.advice.policy.contended_resources import (
    MBIT,
    allocation,
    datastore,
    incident,
    steady,
    uplink,
)


def summary(**changes: Any) -> RateSummary:
    plain = {"mean": 100.0, "p50": 100.0, "p90": 100.0, "p95": 100.0, "p99": 100.0}
    return RateSummary(**{"sample_count": 60, "span_days": 10.0} | plain | changes)


def test_summary_has_the_percentiles_it_names() -> None:
    # 0 to 100.
    found = summarize_rates([float(rate) for rate in range(101)], span_days=2.0)

    assert found == RateSummary(
        mean=50.0, p50=50.0, p90=90.0, p95=95.0, p99=99.0, sample_count=101, span_days=2.0
    )


def changed(inputs: AdviceInputs, place: int, **changes: Any) -> AdviceInputs:
    """The inputs with another allocation at this place."""
    allocations = list(inputs.allocations)
    allocations[place] = replace(allocations[place], **changes)
    return replace(inputs, allocations=tuple(allocations))


def setting(inputs: AdviceInputs) -> Setting:
    return setting_of(inputs, 1000.0)


def limits(inputs: AdviceInputs) -> list[float | None]:
    policy, _ = with_limits(setting(inputs), by_shares(inputs))
    return [grant.limit for grant in policy]


def test_victims_and_aggressors_may_want_anything_and_others_what_they_took() -> None:
    # db and app are victims, batch is the aggressor; `calm` is neither.
    inputs = datastore()
    calm = allocation(4, "calm", 50.0, calm_rates=(50.0,) * 40)
    inputs = replace(inputs, allocations=(*inputs.allocations, calm))

    assert setting(inputs).pressing == (None, None, None, 50.0)
    gone = changed(inputs, 1, active=False)
    assert setting(gone).pressing == (None, 0.0, None, 50.0)


def test_what_is_due_follows_the_shares_of_all_that_contend() -> None:
    # Shares 2000, 1000 and 500 of 1000 IOPS.
    assert due_of(setting(datastore())) == pytest.approx(
        {"db": 4000 / 7, "app": 2000 / 7, "batch": 1000 / 7}
    )


@pytest.mark.parametrize(
    ("changes", "limit"),
    [
        # max(200, 1.15 · 200) · (1 + 1/10) = 253.
        ({}, 253.0),
        ({"p99": 300.0}, 330.0),
        ({"span_days": 1.0}, 460.0),
        ({"span_days": 0.0}, None),
        ({"sample_count": 29}, None),
        ({"sample_count": 30}, 253.0),
        # It gets 700 in the incident: from 665 on a limit would not have held it.
        ({"p99": 664.0 / 1.1}, 664.0),
        ({"p99": 665.0 / 1.1}, None),
        # Its shares are 1 of 7, so 143 are due to it whatever it usually takes.
        ({"p95": 10.0, "p99": 10.0}, 143.0),
    ],
    ids=str,
)
def test_limit_is_the_usual_maximum_with_room(
    changes: dict[str, float], limit: float | None
) -> None:
    usual = summary(**{"p95": 200.0, "p99": 200.0} | changes)

    assert limits(changed(datastore(), 2, usual=usual)) == [None, None, limit]


def test_only_aggressors_without_a_reservation_are_limited() -> None:
    usual = summary(p95=20.0, p99=20.0)
    inputs = datastore()
    everybody = replace(
        inputs, allocations=tuple(replace(one, usual=usual) for one in inputs.allocations)
    )

    assert [one is None for one in limits(everybody)] == [True, True, False]
    reserved = tuple(replace(grant, reservation=1.0) for grant in by_shares(everybody))
    policy, limited = with_limits(setting(everybody), reserved)
    assert (policy, limited) == (reserved, ())


def test_limit_that_is_stated_is_not_raised() -> None:
    usual = summary(p95=200.0, p99=200.0)

    assert limits(changed(datastore(), 2, usual=usual, limit=300.0))[2] == 253.0
    # 253 is more than 0.95 of what a limit of 260 would have left it.
    assert limits(changed(datastore(), 2, usual=usual, limit=260.0))[2] == 260.0


@pytest.mark.parametrize(
    ("changes", "reserved"),
    [
        # Of the 955 IOPS that iocost lets through 545.7 are left to db by its shares.
        ({"p90": 610.0}, {1: 610.0}),
        ({"p90": 545.7 / 0.95 - 1}, {}),
        ({"p90": 545.8 / 0.95 + 1}, {1: 575.5}),
        ({"p90": 610.0, "sample_count": 29}, {}),
        ({"p90": 610.0, "sample_count": 30}, {1: 610.0}),
    ],
    ids=str,
)
def test_victim_of_the_high_tier_that_would_be_short_of_its_usual_rate_gets_it_reserved(
    changes: dict[str, float], reserved: dict[int, float]
) -> None:
    inputs = changed(datastore(), 0, usual=summary(**changes))

    found = usual_reservations(setting(inputs), by_shares(inputs))

    assert found.keys() == reserved.keys()
    assert found == pytest.approx(reserved, rel=0.002)


@pytest.mark.parametrize(
    "changes",
    [{"tier": Tier.MEDIUM}, {"reservation": 5.0}, {"usual": None}, {"workload": "nobody"}],
    ids=["another tier", "has one", "usual rate unknown", "no victim"],
)
def test_others_get_no_usual_reservation(changes: dict[str, Any]) -> None:
    inputs = changed(datastore(), 0, **{"usual": summary(p90=900.0)} | changes)

    assert usual_reservations(setting(inputs), by_shares(inputs)) == {}


def test_reservation_is_never_above_a_stated_limit() -> None:
    inputs = changed(datastore(), 0, usual=summary(p90=900.0), limit=800.0)

    assert usual_reservations(setting(inputs), by_shares(inputs)) == {1: 800.0}
    stated = changed(inputs, 0, reservation=900.0)
    assert stated_reservations(stated) == {1: 800.0}


def test_smallest_reservation_is_one_and_none_is_none() -> None:
    inputs = changed(datastore(), 0, reservation=0.5)

    assert stated_reservations(inputs) == {1: 0.5}


def test_reservations_in_force_come_first_then_the_higher_tier_then_the_first() -> None:
    inputs = datastore()
    wants = {1: 400.0, 2: 400.0, 3: 300.0}

    def admitted(given: AdviceInputs) -> list[float]:
        policy, _ = with_reservations(given, wants, 1000.0)
        return [grant.reservation for grant in policy]

    # 750 may be reserved: db of the high tier, then the others only as far as they fit.
    assert admitted(inputs) == [400.0, 0.0, 300.0]
    granted = (Grant(allocation=2, reservation=1.0, limit=None, shares=1000),)
    assert admitted(replace(inputs, in_force=granted)) == [0.0, 400.0, 300.0]
    # In force without a reservation is no promise.
    plain = (replace(granted[0], reservation=0.0),)
    assert admitted(replace(inputs, in_force=plain)) == [400.0, 0.0, 300.0]
    # Nothing stated: the whole capacity.
    assert admitted(replace(inputs, reservable=None)) == [400.0, 400.0, 0.0]


def test_allocation_that_no_policy_knows_has_its_stated_shares() -> None:
    inputs = datastore()
    known = Grant(allocation=1, reservation=5.0, limit=6.0, shares=7)

    assert [one.shares for one in in_force(inputs)] == [1, 1, 1]
    found = in_force(replace(inputs, in_force=(known,)))
    assert found[0] == known
    assert [(one.reservation, one.limit, one.shares) for one in found[1:]] == [
        (0.0, None, 1000),
        (0.0, None, 500),
    ]


@pytest.mark.parametrize(
    ("reservation", "stated", "limit"),
    [(100.0, None, 100.0), (101.0, None, None), (0.0, 50.0, 50.0)],
    ids=["as much reserved", "more reserved", "stated"],
)
def test_limit_in_force_stays_unless_one_is_stated_or_more_is_reserved(
    reservation: float, stated: float | None, limit: float | None
) -> None:
    held = Grant(allocation=1, reservation=0.0, limit=100.0, shares=1)
    inputs = replace(datastore(), in_force=(held,))
    grant = Grant(allocation=1, reservation=reservation, limit=stated, shares=1)

    assert with_limits_in_force(inputs, (grant,))[0].limit == limit


def test_cap_at_the_entitlement_concerns_aggressors_alone() -> None:
    inputs = datastore()

    policy = capped_at_entitlement(setting(inputs), by_shares(inputs))

    assert [grant.limit for grant in policy[:2]] == [None, None]
    assert policy[2].limit == pytest.approx(1000 / 7)


def test_policies_are_the_same_in_any_order() -> None:
    policy = by_shares(datastore())

    assert same(policy, reversed(policy))
    assert not same(policy, policy[:2])


@pytest.mark.parametrize(
    ("capacity", "expected"), [(None, 1000.0), (1001.0, 1000.0), (900.0, 900.0)]
)
def test_datastore_gives_what_it_gave_or_less_if_less_is_stated(
    capacity: float | None, expected: float
) -> None:
    assert setting(replace(datastore(), capacity=capacity)).capacity == expected


def test_uplink_gives_its_rate_less_what_belongs_to_no_allocation() -> None:
    inputs = uplink()
    assert setting_of(inputs, 93.6 * MBIT).capacity == 94 * MBIT

    foreign = incident(
        {"web-1": (30.0 * MBIT, 75.0 * MBIT)}, {UNALLOCATED: (20.0 * MBIT, 1.0 * MBIT)}
    )
    crowded = replace(inputs, incident=foreign)
    # 74 of 94 are left, and never less than was delivered.
    assert setting_of(crowded, 70 * MBIT).capacity == 74 * MBIT
    assert setting_of(crowded, 80 * MBIT).capacity == 80 * MBIT


@pytest.mark.parametrize(
    ("changes", "rate"),
    [
        ({"active": False}, 0.0),
        ({"congested": None, "congested_rates": ()}, 0.0),
        ({"throttled": True}, 700.0),
        # It took 700 in the incident, as in calm windows: 40 of each.
        ({"calm_rates": (660.0,) * 40}, 680.0),
        # Below 0.95 of its calm windows it was held back, and these alone count.
        ({"calm_rates": (740.0,) * 40}, 740.0),
        ({"calm_rates": (300.0,) * 40}, None),
        ({"calm_rates": (700.0,) * 3}, None),
        ({"calm_rates": (700.0,) * 4}, 700.0),
    ],
    ids=str,
)
def test_demand_is_what_is_known_to_have_been_wanted(
    changes: dict[str, Any], rate: float | None
) -> None:
    inputs = changed(datastore(), 2, **changes)

    found = demands(inputs, capacity=1000.0)[2]

    assert rate_wanted(found) == (None if rate is None else pytest.approx(rate))
    assert bool(demand_gap(inputs.allocations[2], found)) is (rate is None)


def test_queue_on_an_uplink_tells_who_waits_and_waiting_on_a_datastore_does_not() -> None:
    grown = {"calm_rates": (20 * MBIT,) * 40, "backlogged": False}
    on_link = changed(uplink(), 0, **grown)
    on_disk = changed(datastore(), 2, **grown | {"calm_rates": (200.0,) * 40})

    assert demands(on_link, capacity=1000.0)[0].kind is DemandKind.GROWN
    assert demands(on_disk, capacity=1000.0)[2].kind is DemandKind.GREEDY


def test_most_that_was_wanted_is_known_unless_a_queue_shows_more() -> None:
    usual = summary(p95=700.0)
    on_link = changed(uplink(), 0, usual=usual, backlogged=True)
    on_disk = changed(datastore(), 2, usual=usual, backlogged=True)

    assert most_wanted(on_link, on_link.allocations[0]) is None
    assert most_wanted(on_disk, on_disk.allocations[2]) == pytest.approx(735.0)
    unseen = changed(on_disk, 2, congested=steady(800.0))
    assert most_wanted(unseen, unseen.allocations[2]) == pytest.approx(840.0)
    barely = changed(on_disk, 2, usual=summary(p95=700.0, sample_count=29))
    assert most_wanted(barely, barely.allocations[2]) is None


@pytest.mark.parametrize(
    ("changes", "costs"),
    [
        # (51 + 67) / (51 + 8) = 2: the mean I/O costs 0.3 · 1 + 0.7 · 2 = 1.7.
        ({}, (1 / 1.7, 1 / 1.7, 2 / 1.7)),
        # What is inactive has no part in the mean, which is then 1.
        ({"active": False}, (1.0, 1.0, 2.0)),
    ],
    ids=str,
)
def test_cost_of_an_io_is_told_in_mean_ios_of_those_that_are_active(
    changes: dict[str, Any], costs: tuple[float, ...]
) -> None:
    inputs = changed(datastore(), 2, mean_io_bytes=67_000.0, **changes)

    assert setting(inputs).io_costs == pytest.approx(costs)


def test_fewest_shares_are_1() -> None:
    assert changed(datastore(), 0, shares=1).allocations[0].stated_shares == 1
    with pytest.raises(ValueError, match="shares of db is 0; it must be at least 1"):
        changed(datastore(), 0, shares=0)
