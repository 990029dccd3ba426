"""HTB on a kernel in memory: what is planned, what is refused, and the way back."""

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enforcers.contract import (
    Allocation,
    Outcome,
    ReservationMode,
    Selector,
    Unit,
)
from tests.enforcers.fake_tc import FakeDevice, FakeTc
from tests.enforcers.policies import LINK, desired, nothing, uplink, vnic
from tests.enforcers.rig import Rig, start_rig

HTB = "tc_htb"
THREE = desired(uplink(), vnic(1, 75e6), vnic(2), vnic(3))


def options(tc: FakeTc, classid: str) -> dict[str, str]:
    """What tc was told about a class."""
    return tc.devices["up0"].classes[classid].options


def source(number: int, value: str, **change: Any) -> Allocation:
    """An allocation recognised by source address."""
    selector = Selector(kind="source_address", value=value)
    return vnic(number, selector=selector, **change)


def test_reservation_limit_and_shares_become_rate_ceil_and_quantum(tc: FakeTc, rig: Rig) -> None:
    plan = rig.apply(
        HTB, desired(uplink(), vnic(1, 75e6), vnic(2, limit=20e6), vnic(3, shares=300))
    )

    assert plan.changes == ()
    # A largest packet is 65536 + 18 bytes; six leaf bursts of 10926 bytes are a little more.
    told = {
        classid: [options(tc, classid)[key] for key in ("rate", "ceil", "quantum", "burst")]
        for classid in ("51ce:1", "51ce:2", "51ce:10", "51ce:11", "51ce:12")
    }
    assert told == {
        "51ce:1": ["94000000bit", "94000000bit", "65556", "65554"],
        "51ce:2": ["9400000bit", "94000000bit", "65556", "10926"],
        "51ce:10": ["75000000bit", "94000000bit", "65556", "10926"],
        "51ce:11": ["8000bit", "20000000bit", "65556", "10926"],
        "51ce:12": ["8000bit", "94000000bit", "196668", "10926"],
    }


def test_only_a_limit_needs_savings_for_the_rounds_of_others(tc: FakeTc, rig: Rig) -> None:
    rig.apply(HTB, desired(uplink(), vnic(1, limit=20e6), vnic(2), vnic(3)))

    # Four turns of 65556 bytes take 22.317 ms; 20 Mbit/s bring 111,585 bytes in twice that.
    assert options(tc, "51ce:10")["cburst"] == "111585"
    assert options(tc, "51ce:11")["cburst"] == "65554"


def test_unclassified_traffic_has_a_class_and_every_class_a_bounded_queue(
    tc: FakeTc, rig: Rig
) -> None:
    rig.apply(HTB, THREE)

    device = tc.devices["up0"]
    assert device.htb == ("51ce:", "2")
    assert device.leaves.keys() == {"51ce:2", "51ce:10", "51ce:11", "51ce:12"}


def test_vnic_traffic_is_recognised_by_the_interface_it_came_in_by(tc: FakeTc, rig: Rig) -> None:
    rig.apply(HTB, THREE)

    found = {item["indev"]: item["classid"] for item in tc.devices["up0"].filters.values()}
    assert found == {"p1": "51ce:10", "p2": "51ce:11", "p3": "51ce:12"}


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("10.77.2.2", "protocol ip pref 100 u32 match ip src 10.77.2.2/32"),
        ("10.77.0.0/16", "protocol ip pref 116 u32 match ip src 10.77.0.0/16"),
        ("fd00::7", "protocol ipv6 pref 200 u32 match ip6 src fd00::7/128"),
        ("fd00::/64", "protocol ipv6 pref 264 u32 match ip6 src fd00::/64"),
    ],
)
def test_source_traffic_is_recognised_longest_prefix_first(
    rig: Rig, value: str, words: str
) -> None:
    plan = rig.plan(HTB, desired(uplink(), source(1, value)))

    assert words in str(plan.changes[-1].write)


def test_floor_mode_turns_the_entitlement_into_the_rate(tc: FakeTc, rig: Rig) -> None:
    spec = uplink(mode=ReservationMode.FLOOR)

    rig.apply(HTB, desired(spec, vnic(1, 10e6, entitlement=50e6), vnic(2, entitlement=30e6)))

    assert options(tc, "51ce:10")["rate"] == "50000000bit"
    assert options(tc, "51ce:11")["rate"] == "30000000bit"


def test_entitlements_to_the_whole_link_make_room_for_the_hosts_own_traffic(
    tc: FakeTc, rig: Rig
) -> None:
    spec = uplink(mode=ReservationMode.FLOOR)

    left = rig.apply(
        HTB, desired(spec, vnic(1, 54e6, entitlement=64e6), vnic(2, entitlement=30e6))
    )

    # 94 less the host's 9.4, 54 reserved and the other's minimum of 0.008 leave 30.592 for the
    # 10 and 29.992 above those, which is 0.76495 of them: 54 + 7.649 and 0.008 + 22.942.
    assert left.notes == {}
    assert [options(tc, name)["rate"] for name in ("51ce:2", "51ce:10", "51ce:11")] == [
        "9400000bit",
        "61649000bit",
        "22950000bit",
    ]


def test_policy_that_is_in_force_needs_no_change(rig: Rig) -> None:
    rig.apply(HTB, THREE)

    assert rig.plan(HTB, THREE).changes == ()


def test_restart_finds_its_own_tree_and_changes_nothing(
    tmp_path: Path, tc: FakeTc, rig: Rig
) -> None:
    rig.apply(HTB, THREE)

    assert start_rig(tmp_path, tc).plan(HTB, THREE).changes == ()


def test_live_change_touches_only_the_classes_that_differ(tc: FakeTc, rig: Rig) -> None:
    rig.apply(HTB, THREE)
    tc.commands.clear()

    rig.apply(HTB, desired(uplink(), vnic(1, 50e6), vnic(2), vnic(3, limit=9e6)))

    classes = [command for command in tc.commands if command.startswith("tc class")]
    verbs = [re.findall(r"class (\w+) .*classid (\S+)", command)[0] for command in classes]
    assert verbs == [("change", "51ce:10"), ("change", "51ce:12")]


def test_rates_shrink_before_others_grow(tc: FakeTc, rig: Rig) -> None:
    rig.apply(HTB, desired(uplink(), vnic(1, 9e6), vnic(2, 75e6)))
    tc.commands.clear()

    rig.apply(HTB, desired(uplink(), vnic(1, 75e6), vnic(2, 9e6)))

    assert [re.findall(r"classid (\S+)", command)[0] for command in tc.commands] == [
        "51ce:11",
        "51ce:10",
    ]


def test_smaller_link_shrinks_its_children_first(tc: FakeTc, rig: Rig) -> None:
    rig.apply(HTB, desired(uplink(), vnic(1, 75e6)))
    tc.commands.clear()

    rig.apply(HTB, desired(uplink(capacity=40e6), vnic(1, 30e6)))

    changed = [found for c in tc.commands for found in re.findall(r"classid (\S+)", c)]
    assert changed.index("51ce:10") < changed.index("51ce:1")


def test_workload_that_leaves_takes_filter_and_class_along(tc: FakeTc, rig: Rig) -> None:
    rig.apply(HTB, THREE)
    tc.commands.clear()

    rig.apply(HTB, desired(uplink(), vnic(1, 75e6), vnic(3)))

    assert [" ".join(command.split()[1:3]) for command in tc.commands] == [
        "filter del",
        "class del",
    ]
    assert set(tc.devices["up0"].classes) == {"51ce:1", "51ce:2", "51ce:10", "51ce:12"}


def test_vnic_that_was_made_anew_gets_its_filter_again(tc: FakeTc, rig: Rig) -> None:
    rig.apply(HTB, THREE)
    tc.devices["up0"].filters["800::800"]["indev"] = "gone"

    rig.apply(HTB, THREE)

    found = {item["indev"]: item["classid"] for item in tc.devices["up0"].filters.values()}
    assert set(found) == {"p1", "p2", "p3"}


def test_filter_that_leads_into_the_class_of_another_is_put_right(tc: FakeTc, rig: Rig) -> None:
    rig.apply(HTB, THREE)
    filters = tc.devices["up0"].filters
    first = next(item for item in filters.values() if item["indev"] == "p1")
    first["classid"] = "51ce:12"

    left = rig.apply(HTB, THREE)

    # Which class is whose may change; each interface leads to one with its own numbers.
    assert left.changes == ()
    rates = {item["indev"]: options(tc, item["classid"])["rate"] for item in filters.values()}
    assert rates == {"p1": "75000000bit", "p2": "8000bit", "p3": "8000bit"}
    assert len(filters) == len({item["classid"] for item in filters.values()}) == 3


def test_second_filter_into_the_class_of_another_is_removed(tc: FakeTc, rig: Rig) -> None:
    rig.apply(HTB, THREE)
    filters = tc.devices["up0"].filters
    before = {handle: dict(item) for handle, item in filters.items()}
    first = next(item for item in filters.values() if item["indev"] == "p1")
    filters["800::900"] = {**first, "classid": "51ce:12"}

    left = rig.apply(HTB, THREE)

    assert left.changes == ()
    assert filters == before


def test_largest_packet_is_one_frame_where_nobody_offloads(tc: FakeTc, rig: Rig) -> None:
    for device in tc.devices.values():
        device.gso_max_segs = 1

    rig.apply(HTB, THREE)

    # Six bursts of one 1518-byte frame.
    assert options(tc, "51ce:11")["quantum"] == "9108"


@pytest.mark.parametrize(
    ("spec", "allocations", "outcome", "reason"),
    [
        (
            uplink(),
            (vnic(1, 75e6), vnic(2, 20e6)),
            Outcome.FAILED,
            "guarantees of 95000000 bit/s exceed the 94000000 bit/s of up0",
        ),
        (
            uplink(mode=ReservationMode.FLOOR),
            (vnic(1, entitlement=90e6), vnic(2, entitlement=5e6)),
            Outcome.FAILED,
            "guarantees of 95000000 bit/s",
        ),
        (uplink(unit=Unit.IOPS), (vnic(1),), Outcome.UNSUPPORTED, "bits_per_s, not iops"),
        (
            uplink(),
            (vnic(1, 75e6), vnic(2, 10e6)),
            Outcome.FAILED,
            "exceed the 84600000 bit/s that up0 has beside the 9400000 bit/s for the host's own",
        ),
        (
            uplink(capacity=15_000.0),
            (vnic(1),),
            Outcome.UNSUPPORTED,
            "1 classes of 8000 bit/s beside the 8000 bit/s for the host's own traffic",
        ),
        (
            # Of 802 kbit/s the host has 80.2; 100 classes need 800.
            uplink(capacity=802_000.0),
            tuple(vnic(number) for number in range(100)),
            Outcome.UNSUPPORTED,
            "100 classes of 8000 bit/s beside the 80200 bit/s",
        ),
        (uplink(device="p1"), (vnic(2),), Outcome.UNSUPPORTED, "not among tc_htb.interfaces"),
    ],
    ids=[
        "too much reserved",
        "too much entitled",
        "foreign unit",
        "nothing left for the host",
        "too small",
        "too small for so many",
        "not allowed",
    ],
)
def test_resource_that_cannot_be_had_is_refused_as_a_whole(
    rig: Rig,
    spec: Any,
    allocations: tuple[Allocation, ...],
    outcome: Outcome,
    reason: str,
) -> None:
    plan = rig.plan(HTB, desired(spec, *allocations))

    assert plan.changes == ()
    assert {note.outcome for note in plan.notes.values()} == {outcome}
    assert all(reason in note.reason for note in plan.notes.values())
    assert len(plan.notes) == len(allocations)


def test_reservations_that_leave_exactly_the_hosts_part_are_accepted(rig: Rig) -> None:
    plan = rig.apply(HTB, desired(uplink(), vnic(1, LINK * 0.65), vnic(2, LINK * 0.25)))

    assert plan.notes == {}
    assert plan.changes == ()


@pytest.mark.parametrize(
    ("allocation", "outcome", "reason"),
    [
        (
            vnic(1, selector=Selector(kind="cgroup", value="/a")),
            Outcome.UNSUPPORTED,
            "tc_htb recognises packets by vnic or source_address, not by cgroup",
        ),
        (vnic(9), Outcome.FAILED, "there is no interface 'p9'; does the workload run here?"),
        (source(1, "10.0.0.300"), Outcome.UNSUPPORTED, "source address '10.0.0.300'"),
        (source(1, "10.0.0.1/8"), Outcome.UNSUPPORTED, "host bits set"),
        (source(1, "0.0.0.0/0"), Outcome.UNSUPPORTED, "matches every packet"),
        (vnic(1, limit=7999.0), Outcome.UNSUPPORTED, "cannot limit below 8000 bit/s"),
        (
            vnic(1, selector=Selector(kind="vnic", value="p2")),
            Outcome.FAILED,
            "vnic 'p2' belongs to another allocation already",
        ),
    ],
    ids=["cgroup", "no vnic", "no address", "host bits", "everything", "tiny limit", "twice"],
)
def test_allocation_that_cannot_be_had_does_not_keep_the_others(
    rig: Rig, allocation: Allocation, outcome: Outcome, reason: str
) -> None:
    plan = rig.plan(HTB, desired(uplink(), vnic(2, 10e6), allocation))

    assert set(plan.wanted) == {"net-2"}
    assert plan.notes[allocation.id].outcome is outcome
    assert reason in plan.notes[allocation.id].reason


@pytest.mark.parametrize(
    "lines",
    [
        ["qdisc tbf 8001: root refcnt 2 rate 1Mbit burst 5Kb lat 50ms"],
        ["qdisc htb 1: root refcnt 2 r2q 10 default 0x999"],
        ["qdisc htb 51ce: root refcnt 2 r2q 10 default 0x2"],
        ["qdisc noqueue 0: root", "qdisc tbf 8001: parent 1:1 rate 1Mbit"],
    ],
    ids=["tbf", "htb", "our handle without our record", "explicit leaf"],
)
def test_discipline_of_somebody_else_is_left_alone(tc: FakeTc, rig: Rig, lines: list[str]) -> None:
    tc.devices["up0"].foreign = lines

    plan = rig.plan(HTB, THREE)

    assert plan.changes == ()
    assert {note.outcome for note in plan.notes.values()} == {Outcome.UNSUPPORTED}
    assert "could not put back" in plan.notes["net-1"].reason


@pytest.mark.parametrize(
    "lines",
    [
        ["qdisc noqueue 0: root refcnt 2"],
        ["qdisc pfifo_fast 0: root refcnt 2 bands 3 priomap 1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1"],
        ["qdisc fq_codel 0: root refcnt 2 limit 10240p flows 1024"],
        ["qdisc mq 0: root", "qdisc fq_codel 0: parent :1 limit 10240p"],
    ],
    ids=["noqueue", "pfifo_fast", "fq_codel", "mq"],
)
def test_everything_of_the_kernels_own_comes_back(tc: FakeTc, rig: Rig, lines: list[str]) -> None:
    tc.devices["up0"].default = lines
    tc.devices["up0"].other = ["qdisc clsact ffff: parent ffff:fff1"]
    before = tc.text("up0")
    rig.apply(HTB, THREE)

    left = rig.apply(HTB, nothing("up0"))

    assert tc.text("up0") == before
    assert left.restored == rig.ledger.entries()


SOMEBODYS = {
    "pfifo": ["qdisc pfifo 8001: root refcnt 2 limit 100p"],
    "mq": [
        "qdisc mq 1: root refcnt 2",
        "qdisc fq 8003: parent 1:1 limit 10000p",
        "qdisc bfifo 8002: parent 1:2 limit 20000b",
    ],
}


@pytest.mark.parametrize("lines", SOMEBODYS.values(), ids=SOMEBODYS)
def test_what_somebody_set_comes_back(tc: FakeTc, rig: Rig, lines: list[str]) -> None:
    tc.devices["up0"].foreign = lines
    rig.apply(HTB, THREE)
    between = tc.text("up0")

    left = rig.apply(HTB, nothing("up0"))

    assert "htb 51ce: root" in between
    assert tc.devices["up0"].foreign == lines
    assert left.restored == rig.ledger.entries()


@pytest.mark.parametrize("count", [0, 1, 2])
def test_part_of_what_was_found_is_made_complete(tc: FakeTc, rig: Rig, count: int) -> None:
    tc.devices["up0"].foreign = lines = SOMEBODYS["mq"]
    rig.apply(HTB, THREE)
    tc.devices["up0"].htb = None
    tc.devices["up0"].foreign = lines[:count] or None

    left = rig.apply(HTB, nothing("up0"))

    assert set(tc.devices["up0"].foreign or []) == set(lines)
    assert left.restored == rig.ledger.entries()


def test_interface_that_is_another_one_gets_nothing_of_the_former(tc: FakeTc, rig: Rig) -> None:
    tc.devices["up0"].foreign = SOMEBODYS["pfifo"]
    rig.apply(HTB, THREE)
    tc.devices["up0"] = FakeDevice(index=70)

    plan = rig.plan(HTB, nothing("up0"))

    assert plan.changes == ()
    assert plan.restored == rig.ledger.entries()


def test_refused_discipline_is_not_tried_out_in_each_pass(tc: FakeTc, rig: Rig) -> None:
    tc.devices["up0"].foreign = ["qdisc tbf 8001: root refcnt 2 rate 1Mbit"]
    first = rig.plan(HTB, THREE).notes["net-1"].reason
    tried: list[object] = []
    tc._try_out = lambda *given: tried.append(given) or ""  # type: ignore[method-assign,func-returns-value]

    second = rig.plan(HTB, THREE).notes["net-1"].reason
    tc.devices["up0"].foreign = SOMEBODYS["pfifo"]
    rig.plan(HTB, THREE)

    assert first in second.replace(" (next attempt in 10 s)", "")
    assert len(tried) == 1


def test_found_discipline_is_noted_with_its_text(tc: FakeTc, rig: Rig) -> None:
    tc.devices["up0"].default = ["qdisc fq_codel 0: root refcnt 2 limit 10240p"]

    rig.apply(HTB, THREE)

    (entry,) = rig.ledger.entries()
    assert (entry.device, entry.found) == ("up0", "qdisc fq_codel 0: root limit 10240p")


def test_restore_leaves_alone_what_somebody_put_in_our_place(tc: FakeTc, rig: Rig) -> None:
    rig.apply(HTB, THREE)
    tc.devices["up0"].htb = None
    tc.devices["up0"].foreign = ["qdisc tbf 8001: root refcnt 2 rate 1Mbit"]

    plan = rig.plan(HTB, nothing("up0"))

    assert plan.changes == ()
    assert len(plan.restored) == 1


def test_restore_of_an_interface_that_is_gone_has_nothing_to_do(tc: FakeTc, rig: Rig) -> None:
    rig.apply(HTB, THREE)
    del tc.devices["up0"]

    plan = rig.plan(HTB, nothing("up0"))

    assert plan.changes == ()
    assert len(plan.restored) == 1


def test_read_back_speaks_the_policys_words(tc: FakeTc, rig: Rig) -> None:
    wanted = desired(uplink(), vnic(1, 75e6), vnic(2, limit=20e6, shares=300))
    rig.apply(HTB, wanted)
    tc.devices["up0"].classes["51ce:10"].sent_bytes = 1000
    tc.devices["up0"].classes["51ce:10"].backlog_bytes = 500
    plugin = rig.mechanisms[HTB]

    seen = plugin.read_back(wanted, plugin.observe(wanted, rig.ledger.entries()))

    first, second = seen["net-1"].setting, seen["net-2"].setting
    assert first is not None
    assert second is not None
    assert (first.reservation, first.limit, first.shares) == (75e6, None, 100.0)
    assert (second.reservation, second.limit, second.shares) == (8000.0, 20e6, 300.0)
    assert first.native == "class 51ce:10 rate 75000000 ceil 94000000 quantum 65556"
    counters = seen["net-1"].counters
    assert counters is not None
    assert (counters.total, counters.backlog_bytes) == (8000.0, 500)


allocation_sets = st.lists(
    st.builds(
        lambda reservation, limit, shares: (reservation, limit, shares),
        st.floats(0, 20e6),
        st.none() | st.floats(20e6, 200e6),
        st.integers(1, 100_000),
    ),
    max_size=4,
)


@settings(max_examples=40, deadline=None)
@given(st.lists(allocation_sets, min_size=1, max_size=4))
def test_any_sequence_of_policies_converges_and_comes_back(
    tmp_path_factory: pytest.TempPathFactory,
    sequence: list[list[tuple[float, float | None, int]]],
) -> None:
    tc = FakeTc("up0", *(f"p{number}" for number in range(4)))
    rig = start_rig(tmp_path_factory.mktemp("rig"), tc)
    before = tc.text("up0")

    for step in sequence:
        allocations = [
            vnic(number, reservation, limit=limit, shares=shares)
            for number, (reservation, limit, shares) in enumerate(step)
        ]
        left = rig.apply(HTB, desired(uplink(), *allocations))
        rates = [
            int(item.options["rate"].removesuffix("bit"))
            for classid, item in tc.devices["up0"].classes.items()
            if classid != "51ce:1"
        ]
        assert left.changes == ()
        assert sum(rates) <= LINK
    rig.apply(HTB, nothing("up0"))

    assert tc.text("up0") == before


def test_reservation_limit_and_shares_are_all_held(rig: Rig) -> None:
    holds = rig.mechanisms[HTB].support().holds

    assert holds is not None
    assert [one.is_held for one in (holds.reservation, holds.limit, holds.shares)] == [True] * 3
