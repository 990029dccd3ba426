"""An interface that is renamed while a policy is in force on it."""

import pytest

from enforcers.contract import Outcome
from tests.enforcers.agent_bench import UNTOUCHED
from tests.enforcers.fake_tc import FakeDevice, FakeTc
from tests.enforcers.policies import document, vnic
from tests.enforcers.rig import Rig

FIRST = document(vnic(1, 75e6))


def run(rig: Rig, now_s: float) -> tuple[Outcome, str]:
    """One pass, and what it says of the workload."""
    (enforced,) = rig.enforcement.run(FIRST, previous=FIRST, now_s=now_s).enforced
    return enforced.outcome, enforced.reason


def test_renamed_interface_is_put_back_and_the_policy_says_so(tc: FakeTc, rig: Rig) -> None:
    run(rig, 0.0)
    tc.devices["up9"] = tc.devices.pop("up0")

    at_once, later = run(rig, 1.0), run(rig, 2.0)

    assert tc.text("up9") == UNTOUCHED
    assert rig.ledger.entries() == ()
    assert at_once[0] is Outcome.FAILED
    assert "interface up0 is called up9 by now" in at_once[1]
    assert later == (Outcome.UNSUPPORTED, "there is no interface 'up0'")


def test_interface_that_takes_the_name_gets_the_policy_after_the_former_is_put_back(
    tc: FakeTc, rig: Rig
) -> None:
    run(rig, 0.0)
    tc.devices["up9"] = tc.devices.pop("up0")
    tc.devices["up0"] = FakeDevice(index=70)

    run(rig, 1.0)
    between = tc.text("up0")
    run(rig, 2.0)

    assert tc.text("up9") == between == UNTOUCHED
    assert "class htb 51ce:10" in tc.text("up0")
    (entry,) = rig.ledger.entries()
    assert (entry.device, entry.identity) == ("up0", "70 02:00:00:00:00:07")


def test_two_interfaces_that_swap_their_names_are_both_put_back(tc: FakeTc, rig: Rig) -> None:
    run(rig, 0.0)
    tc.devices["up0"], tc.devices["p2"] = tc.devices["p2"], tc.devices["up0"]

    problems = rig.enforcement.run(None, previous=None, now_s=1.0).problems

    assert problems == ()
    assert tc.text("up0") == tc.text("p2") == UNTOUCHED


def test_renamed_interface_that_cannot_be_put_back_stays_in_the_ledger(
    tc: FakeTc, rig: Rig
) -> None:
    run(rig, 0.0)
    tc.devices["up9"] = tc.devices.pop("up0")
    tc.refuse = "qdisc del"

    problems = rig.enforcement.run(None, previous=None, now_s=1.0).problems

    assert problems[0].startswith("up0 is not as it was found: ")
    assert [entry.device for entry in rig.ledger.entries()] == ["up0"]


@pytest.mark.parametrize("index", [7, 70], ids=["same index", "another index"])
def test_interface_that_was_made_anew_has_nothing_to_put_back(
    tc: FakeTc, rig: Rig, index: int
) -> None:
    run(rig, 0.0)
    tc.devices["up0"] = FakeDevice(index=index)
    count = len(tc.commands)

    problems = rig.enforcement.run(None, previous=None, now_s=1.0).problems

    assert problems == ()
    assert len(tc.commands) == count
    assert rig.ledger.entries() == ()
