"""The mechanism of a host follows from what its agent reported, not from the kind of resource."""

from __future__ import annotations

from typing import Any

import pytest

from advisor.core.mechanism_choice import choose_mechanism, known_selectors
from enforcers.contract import MechanismSupport, Unit


def answer(mechanism: str, **change: Any) -> MechanismSupport:
    """A supported mechanism for bit/s that recognises vNICs."""
    values: dict[str, Any] = {
        "mechanism": mechanism,
        "supported": True,
        "reason": "it works",
        "units": (Unit.BITS_PER_S,),
        "selectors": ("vnic",),
        "holds": None,
    }
    return MechanismSupport(**{**values, **change})


HTB = answer("tc_htb")
DISK = answer("cgroup_io", units=(Unit.IOPS, Unit.BYTES_PER_S), selectors=("cgroup",))


@pytest.mark.parametrize(
    ("support", "selectors", "chosen"),
    [
        ((DISK, HTB), ["vnic"], "tc_htb"),
        ((answer("a"), answer("b")), ["vnic"], "a"),
        ((answer("a", supported=False), answer("b")), ["vnic"], "b"),
        ((answer("a", supported=False),), ["vnic"], "a"),
        ((answer("a"), answer("b", selectors=("vnic", "mark"))), ["vnic", "mark"], "b"),
        ((answer("a", supported=False, selectors=("mark",)), answer("b")), ["mark"], "a"),
        (
            (answer("a", supported=False, selectors=("vnic", "mark")), answer("b")),
            ["vnic", "mark"],
            "b",
        ),
        ((HTB,), ["cgroup"], "tc_htb"),
    ],
    ids=[
        "unit",
        "first reported",
        "supported",
        "only one, which says what it lacks",
        "recognises more",
        "recognises at all",
        "supported, though another would recognise more",
        "recognises nothing, which it says",
    ],
)
def test_mechanism_is_chosen_by_what_was_reported(
    support: tuple[MechanismSupport, ...], selectors: list[str], chosen: str
) -> None:
    found = choose_mechanism(support, unit=Unit.BITS_PER_S, selectors=selectors)

    assert isinstance(found, MechanismSupport)
    assert found.mechanism == chosen


@pytest.mark.parametrize(
    ("support", "reason"),
    [
        ((), "the agent has not reported yet what this host supports"),
        ((HTB,), "no mechanism of its agent enforces iops; it has tc_htb"),
    ],
    ids=["not reported", "other units"],
)
def test_no_mechanism_has_a_reason(support: tuple[MechanismSupport, ...], reason: str) -> None:
    assert choose_mechanism(support, unit=Unit.IOPS, selectors=["cgroup"]) == reason


def test_agent_knows_the_selectors_of_all_its_mechanisms() -> None:
    assert known_selectors((HTB, DISK)) == {"vnic", "cgroup"}
