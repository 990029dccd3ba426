"""The host's own traffic on an uplink: an allocation like the others, and never less."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcers.contract import Outcome, ReservationMode
from enforcers.mechanisms.tc_htb.fit import host_rate_of
from enforcers.mechanisms.tc_htb.sizing import host_rate_bits_per_s
from tests.enforcers.fake_tc import FakeTc
from tests.enforcers.policies import LINK, desired, document, host_traffic, uplink, vnic
from tests.enforcers.rig import Rig

HTB = "tc_htb"


def told(tc: FakeTc, classid: str) -> list[str]:
    """Rate, ceiling and quantum of a class."""
    options = tc.devices["up0"].classes[classid].options
    return [options[key] for key in ("rate", "ceil", "quantum")]


def test_host_has_its_reservation_and_its_shares(tc: FakeTc, rig: Rig) -> None:
    rig.apply(HTB, desired(uplink(), host_traffic(20e6, shares=200), vnic(1, 10e6), vnic(2)))

    # The smallest shares have 65556 bytes in a turn; 200 of them are twice 100.
    assert told(tc, "51ce:2") == ["20000000bit", "94000000bit", "131112"]
    assert told(tc, "51ce:10") == ["10000000bit", "94000000bit", "65556"]
    assert set(tc.devices["up0"].classes) == {"51ce:1", "51ce:2", "51ce:10", "51ce:11"}


def test_workloads_with_more_shares_than_the_host_have_larger_turns(tc: FakeTc, rig: Rig) -> None:
    rig.apply(HTB, desired(uplink(), host_traffic(shares=50), vnic(1, shares=100)))

    assert (told(tc, "51ce:2")[2], told(tc, "51ce:10")[2]) == ("65556", "131112")


def test_floor_entitlements_leave_the_host_what_is_reserved_for_it(tc: FakeTc, rig: Rig) -> None:
    spec = uplink(mode=ReservationMode.FLOOR)
    rig.apply(
        HTB,
        desired(spec, host_traffic(20e6), vnic(1, entitlement=47e6), vnic(2, entitlement=47e6)),
    )

    # 74 of 94 Mbit/s are left for two that are entitled to the same.
    assert told(tc, "51ce:2")[0] == "20000000bit"
    assert told(tc, "51ce:10")[0] == told(tc, "51ce:11")[0] == "37000000bit"


def test_host_is_reported_as_any_allocation(tc: FakeTc, rig: Rig) -> None:
    policy = document(host_traffic(shares=200), vnic(1))
    first = rig.enforcement.run(policy, previous=None, now_s=0.0).enforced
    tc.devices["up0"].classes["51ce:2"].options["rate"] = "8000bit"

    again = rig.enforcement.run(policy, previous=policy, now_s=1.0).enforced

    assert [item.allocation.id for item in first] == ["host-1", "net-1"]
    seen = first[0].seen
    assert seen.setting is not None
    assert (seen.setting.reservation, seen.setting.limit, seen.setting.shares) == (
        9.4e6,
        None,
        200.0,
    )
    assert seen.counters is not None
    assert again[0].controls.reservation.outcome is Outcome.DRIFTED
    assert again[0].controls.shares.outcome is Outcome.UNCHANGED
    assert again[1].outcome is Outcome.UNCHANGED
    assert told(tc, "51ce:2")[0] == "9400000bit"


def test_second_allocation_of_the_host_is_told_so(tc: FakeTc, rig: Rig) -> None:
    plan = rig.apply(HTB, desired(uplink(), host_traffic(), host_traffic(20e6, id="host-2")))

    assert plan.notes["host-2"].outcome is Outcome.FAILED
    assert "belongs to another allocation already" in plan.notes["host-2"].reason
    assert told(tc, "51ce:2")[0] == "9400000bit"


@pytest.mark.parametrize("mode", ReservationMode)
@given(
    reserved=st.none() | st.floats(0, 2 * LINK),
    capacity=st.floats(1e5, 1e11),
)
def test_host_never_has_less_than_its_part(
    mode: ReservationMode, reserved: float | None, capacity: float
) -> None:
    host = None if reserved is None else host_traffic(reserved)

    rate = host_rate_of(uplink(mode=mode, capacity=capacity), host)

    assert rate >= host_rate_bits_per_s(capacity)
