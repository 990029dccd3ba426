"""A line of a batch that the kernel refuses, whichever it is: old or new, and nothing between."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from enforcers.contract import Allocation, Outcome, PolicyDocument
from enforcers.errors import CommandError
from tests.enforcers.fake_tc import FakeTc
from tests.enforcers.policies import document, uplink, vnic
from tests.enforcers.rig import Rig, start_rig

ERRORS = [os.strerror(number) for number in (16, 19, 22, 28)]
FOUND = ["qdisc pfifo 8001: root refcnt 2 limit 100p"]


class Refusing(FakeTc):
    """Refuses a line of the first batch for up0, and counts the lines of all batches."""

    def __init__(self, error: str) -> None:
        super().__init__("up0", "up1", *(f"p{number}" for number in range(1, 6)))
        self.error = error
        self.refused_line: int | None = None
        self.lines = 0
        for name in ("up0", "up1"):
            self.devices[name].foreign = FOUND

    def run(self, argv: Sequence[str], *, stdin: str = "") -> str:
        lines = stdin.splitlines(keepends=True)
        is_batch = argv[0] == "tc" and argv[-1] == "-" and " show " not in f" {stdin}"
        if not is_batch or "dev up0" not in stdin:
            return super().run(argv, stdin=stdin)
        self.lines += len(lines)
        number, self.refused_line = self.refused_line, None
        if number is None:
            return super().run(argv, stdin=stdin)
        super().run(argv, stdin="".join(lines[:number]))
        raise CommandError(argv, f"RTNETLINK answers: {self.error} Command failed -:{number + 1}")


def policy(revision: int, *of_up0: Allocation) -> PolicyDocument:
    """A policy for up0, and one for up1 with another limit in each revision."""
    other = uplink(name="uplink1", device="up1")
    beside = vnic(5, 5e6, limit=revision * 10e6, resource="uplink1")
    one = document(*of_up0, revision=revision)
    allocations = (*one.allocations, beside)
    return replace(one, resources=(*one.resources, other), allocations=allocations)


FIRST = policy(1, vnic(1, 30e6), vnic(2, limit=20e6), vnic(3))
# Rates move both ways, a limit goes, a workload leaves and another one comes.
SECOND = policy(2, vnic(1, 10e6), vnic(2, 40e6), vnic(4, shares=300))


def start(directory: Path, tc: FakeTc) -> Rig:
    return start_rig(directory, tc, interfaces=frozenset({"up0", "up1"}))


def lines_of(directory: Path, *, to_second: bool) -> int:
    """How many lines the batch for up0 has."""
    tc = Refusing("")
    rig = start(directory, tc)
    if to_second:
        rig.enforcement.run(FIRST, previous=None, now_s=0.0)
        tc.lines = 0
    rig.enforcement.run(SECOND if to_second else FIRST, previous=None, now_s=1.0)
    return tc.lines


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("to_second", [False, True], ids=["first policy", "change"])
def test_refused_line_leaves_the_old_state_and_the_other_uplink_is_served(
    tmp_path: Path, error: str, to_second: bool
) -> None:
    (tmp_path / "count").mkdir()
    count = lines_of(tmp_path / "count", to_second=to_second)
    assert count >= 8

    for number in range(count):
        tc = Refusing(error)
        found = tc.text("up0")
        rig = start(tmp_path, tc)
        if to_second:
            rig.enforcement.run(FIRST, previous=None, now_s=0.0)
        former = settings(tc)
        wanted = SECOND if to_second else FIRST
        tc.refused_line = number

        result = rig.enforcement.run(wanted, previous=None, now_s=1.0)
        between = settings(tc)
        beside = tc.devices["up1"].classes["51ce:10"].options["ceil"]
        again = rig.enforcement.run(wanted, previous=None, now_s=2.0, at_once=True)
        rig.enforcement.run(None, previous=None, now_s=3.0)

        outcomes = {item.allocation.id: item.outcome for item in result.enforced}
        assert outcomes.pop("net-5") is not Outcome.FAILED, number
        assert set(outcomes.values()) == {Outcome.FAILED}, number
        assert error in result.enforced[0].reason
        assert between == former, number
        assert beside == f"{wanted.revision}0000000bit"
        assert not again.has_failed, number
        assert tc.text("up0") == found
        assert rig.ledger.entries() == ()


def settings(tc: FakeTc) -> object:
    """What holds on up0, whatever numbers filters and queues have by now."""
    device = tc.devices["up0"]
    classes = {name: (item.parent, item.options) for name, item in device.classes.items()}
    leaves = {name: (item.kind, item.options) for name, item in device.leaves.items()}
    told = sorted((item["indev"], item["classid"]) for item in device.filters.values())
    return device.htb, device.foreign, classes, leaves, told


@pytest.mark.slow
@pytest.mark.long
def test_policy_for_ten_thousand_workloads_is_enforced_and_comes_back(tmp_path: Path) -> None:
    numbers = range(1, 10_001)
    tc = FakeTc("up0", *(f"p{number}" for number in numbers))
    before = tc.text("up0")
    rig = start_rig(tmp_path, tc)
    # 8 kbit/s each, the kernel's least, are 80 of the 84.6 Mbit/s that the host leaves.
    wanted = document(*(vnic(number) for number in numbers))

    result = rig.enforcement.run(wanted, previous=None, now_s=0.0)
    classes = len(tc.devices["up0"].classes)
    commands = len(tc.commands)
    rig.enforcement.run(None, previous=None, now_s=1.0)

    assert not result.has_failed
    assert classes == 10_002
    # A root, its class and the host's with a queue, and a class, a queue and a filter for each.
    assert commands == 4 + 3 * 10_000
    assert tc.text("up0") == before
