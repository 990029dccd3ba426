"""The host's own traffic takes part in what a policy divides, and leaves what it does not want."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.advice.policy.decide.candidate import plain_sharing, setting_of, stated_reservations
from advisor.advice.policy.decide.candidate import with_reservations as reserving
from advisor.advice.policy.decide.host_traffic import HostTraffic
from advisor.advice.policy.decide.policy_advice import advise
from advisor.core.allocation import Allocation, ReservationMode, entitlements
from advisor.core.standing import UNALLOCATED
from tests.advisor.advice.policy.contended_resources import MBIT, incident, uplink

PART = 9.4 * MBIT


def predicted(host: HostTraffic | None) -> list[float]:
    """Mbit/s of the three workloads under the policy that reserves 75 of 94 for the first."""
    advice = advise(replace(uplink(), host_traffic=host))
    return [row.predicted_after / MBIT for row in advice.allocations]


@pytest.mark.parametrize(
    ("demand", "expected"),
    [
        # 94 - 75 by three.
        (0.0, [81.333, 6.333, 6.333]),
        # Below its part it has what it wants: 94 - 75 - 4 by three.
        (4 * MBIT, [80.0, 5.0, 5.0]),
        # Above it shares the rest like a workload: (94 - 75 - 9.4) by four.
        (60 * MBIT, [77.4, 2.4, 2.4]),
        # Unknown: its part counts, and the others share 9.6.
        (None, [78.2, 3.2, 3.2]),
    ],
)
def test_workloads_get_what_the_host_leaves(demand: float | None, expected: list[float]) -> None:
    found = predicted(HostTraffic(reservation=PART, demand=demand))

    assert found == pytest.approx(expected, abs=1e-3)


def test_without_a_policy_the_host_shares_like_everybody() -> None:
    host = HostTraffic(reservation=PART, demand=94 * MBIT)
    inputs = replace(uplink(), host_traffic=host)
    setting = setting_of(inputs, 93.6 * MBIT)

    rates = setting.rates(plain_sharing(inputs), demands=[None] * 3)

    # 94 by four.
    assert rates == pytest.approx([23.5 * MBIT] * 3)


def test_foreign_traffic_that_takes_part_is_not_taken_off_the_capacity_too() -> None:
    crowded = incident({"web-1": (30 * MBIT, 75 * MBIT)}, {UNALLOCATED: (20 * MBIT, MBIT)})
    inputs = replace(uplink(), incident=crowded)
    host = HostTraffic(reservation=PART, demand=20 * MBIT)

    found = setting_of(replace(inputs, host_traffic=host), 70 * MBIT)

    assert setting_of(inputs, 70 * MBIT).capacity == 74 * MBIT
    assert (found.capacity, found.capacity_source) == (94 * MBIT, "stated")


def test_formula_says_what_the_host_takes_part_with() -> None:
    host = HostTraffic(reservation=PART, demand=4 * MBIT)

    told = advise(replace(uplink(), host_traffic=host)).evidence.formula
    idle = advise(replace(uplink(), host_traffic=replace(host, demand=0.0))).evidence.formula
    unknown = advise(replace(uplink(), host_traffic=replace(host, demand=None))).evidence.formula

    words = "9.40 Mbit/s reserved for the host's own traffic"
    assert told.endswith(f"(stated), with {words}; it wants 4.00 Mbit/s")
    assert unknown.endswith(f"{words}; what it wants is not known")
    assert "host" not in idle


@given(st.sampled_from(ReservationMode), st.floats(0, 94 * MBIT))
def test_no_policy_that_is_admitted_takes_the_hosts_part(
    mode: ReservationMode, demand: float
) -> None:
    """Whatever workloads want, the host gets what it wants up to its part."""
    host = HostTraffic(reservation=PART, demand=demand)
    inputs = replace(uplink(), mode=mode, host_traffic=host)
    policy, _ = reserving(inputs, stated_reservations(inputs), 94 * MBIT)
    workloads = [
        Allocation(reservation=one.reservation, limit=one.limit, shares=one.shares)
        for one in policy
    ]

    *_, got = entitlements(94 * MBIT, [*workloads, host.beside([1000] * 3, is_managed=True)], mode)

    assert got >= min(demand, PART) * (1 - 1e-9)
