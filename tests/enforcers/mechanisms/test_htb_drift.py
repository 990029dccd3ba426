"""How far the kernel's numbers may lie from those that were written before they are put right."""

import pytest

from tests.enforcers.fake_tc import FakeTc
from tests.enforcers.policies import desired, uplink, vnic
from tests.enforcers.rig import Rig

HTB = "tc_htb"
ONE = desired(uplink(), vnic(1))
CLASS = "51ce:10"


def is_drift(tc: FakeTc, rig: Rig, option: str, value: str) -> bool:
    """Whether the class is put right after somebody set one of its options."""
    assert rig.apply(HTB, ONE).changes == ()
    tc.devices["up0"].classes[CLASS].options[option] = value

    changes = rig.plan(HTB, ONE).changes

    assert all(change.target == f"up0 class {CLASS}" for change in changes)
    return bool(changes)


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        # tc counts bursts in ticks of the rate: 2 % and 2 µs of the rate are its rounding.
        # 2 % of 10,926 bytes are 218.5, and 2 µs of 8 kbit/s are nothing.
        ("burst", 10_926 + 218, False),
        ("burst", 10_926 + 219, True),
        ("burst", 10_926 - 218, False),
        ("burst", 10_926 - 219, True),
        # 2 % of 65,554 bytes are 1,311.1, and 2 µs of 94 Mbit/s are 23.5 bytes.
        ("cburst", 65_554 + 1_334, False),
        ("cburst", 65_554 + 1_335, True),
        ("quantum", 65_556, False),
        ("quantum", 65_557, True),
        ("rate", 8_000, False),
        ("rate", 16_000, True),
        ("ceil", 94_000_000, False),
        ("ceil", 93_000_000, True),
    ],
)
def test_number_of_a_class_drifts_beyond_the_rounding_of_tc(
    tc: FakeTc, rig: Rig, option: str, value: int, expected: bool
) -> None:
    unit = "bit" if option in {"rate", "ceil"} else ""

    assert is_drift(tc, rig, option, f"{value}{unit}") is expected


def test_class_that_has_too_much_shrinks_before_others_grow(tc: FakeTc, rig: Rig) -> None:
    rig.apply(HTB, desired(uplink(), vnic(1, 50e6), vnic(2)))
    tc.commands.clear()

    rig.apply(HTB, desired(uplink(), vnic(1), vnic(2, 50e6)))

    changed = [command.split()[8] for command in tc.commands if "class change" in command]
    assert changed == ["51ce:10", "51ce:11"]


@pytest.mark.parametrize(("capacity", "is_enough"), [(16_000.0, True), (15_999.0, False)])
def test_smallest_link_has_room_for_the_host_and_one_class(
    rig: Rig, capacity: float, is_enough: bool
) -> None:
    # The host's part and a class need 8 kbit/s each.
    plan = rig.plan(HTB, desired(uplink(capacity=capacity), vnic(1)))

    assert bool(plan.changes) is is_enough
    assert bool(plan.notes) is not is_enough
