"""Pools on an uplink: a class of their own between the root and their members' classes."""

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcers.contract import Allocation, Outcome, Pool, ReservationMode
from enforcers.mechanisms.tc_htb.class_numbers import numbers_by_selectors
from enforcers.mechanisms.tc_htb.fit import host_rate_of, whole_problem
from enforcers.mechanisms.tc_htb.pooled import counted_shares, fitted_rates, top_level
from enforcers.mechanisms.tc_htb.sizing import MINIMUM_RATE_BITS_PER_S
from enforcers.mechanisms.tc_htb.turns import LOOKS_UNTIL_IDLE
from tests.enforcers.fake_tc import FakeTc, Killed
from tests.enforcers.policies import (
    LINK,
    desired,
    document,
    member,
    nothing,
    pool,
    uplink,
    vnic,
)
from tests.enforcers.rig import Rig, start_rig

HTB = "tc_htb"
# By the hash of its id.
POOL_CLASS = "51ce:ce56"
POOLED = desired(uplink(), member(1, 5e6), member(2), vnic(3), pools=(pool(),))


def told(tc: FakeTc, classid: str) -> list[str]:
    """Parent, rate, ceiling and quantum of a class."""
    present = tc.devices["up0"].classes[classid]
    return [present.parent, *(present.options[key] for key in ("rate", "ceil", "quantum"))]


def test_pool_is_a_class_above_those_of_its_members(tc: FakeTc, rig: Rig) -> None:
    left = rig.apply(HTB, POOLED)

    assert left.changes == ()
    # Its reservation is for its members: 5 of the 20 Mbit/s are the first one's.
    assert told(tc, POOL_CLASS) == ["51ce:1", "20000000bit", "40000000bit", "131112"]
    assert told(tc, "51ce:10") == [POOL_CLASS, "5000000bit", "94000000bit", "65556"]
    assert told(tc, "51ce:11") == [POOL_CLASS, "8000bit", "94000000bit", "65556"]
    assert told(tc, "51ce:12") == ["51ce:1", "8000bit", "94000000bit", "65556"]


def test_agent_that_starts_again_finds_its_pools(tc: FakeTc, tmp_path: Path) -> None:
    start_rig(tmp_path, tc).apply(HTB, POOLED)
    commands = list(tc.commands)

    plan = start_rig(tmp_path, tc).plan(HTB, POOLED)

    assert plan.changes == ()
    assert tc.commands == commands


def test_what_was_found_comes_back(tc: FakeTc, rig: Rig) -> None:
    before = tc.text("up0")
    rig.apply(HTB, POOLED)

    rig.apply(HTB, nothing("up0"))

    assert tc.text("up0") == before


def test_members_that_reserve_more_raise_the_rate_of_their_pool(tc: FakeTc, rig: Rig) -> None:
    rig.apply(HTB, desired(uplink(), member(1, 25e6), member(2, 5e6), pools=(pool(),)))

    assert told(tc, POOL_CLASS)[1] == "30000000bit"


def test_entitlements_of_members_stay_within_the_limit(tc: FakeTc, rig: Rig) -> None:
    """HTB lets the rates of members through whatever the ceiling above them is."""
    rig.apply(
        HTB,
        desired(
            uplink(mode=ReservationMode.FLOOR),
            member(1, entitlement=30e6),
            member(2, entitlement=30e6),
            pools=(pool(),),
        ),
    )

    assert [told(tc, key)[1] for key in (POOL_CLASS, "51ce:10", "51ce:11")] == [
        "40000000bit",
        "20000000bit",
        "20000000bit",
    ]


def test_pool_without_members_here_has_no_class(tc: FakeTc, rig: Rig) -> None:
    rig.apply(HTB, desired(uplink(), vnic(1), pools=(pool(),)))

    assert set(tc.devices["up0"].classes) == {"51ce:1", "51ce:2", "51ce:10"}


def test_pool_that_is_too_small_for_its_members_is_refused_by_name(tc: FakeTc, rig: Rig) -> None:
    small = pool(reservation=0.0, limit=15e3)
    plan = rig.apply(HTB, desired(uplink(), member(1), member(2), vnic(3), pools=(small,)))

    assert {note.outcome for note in plan.notes.values()} == {Outcome.UNSUPPORTED}
    assert "the limit of pool 'web', 15000 bit/s, is too small" in plan.notes["net-3"].reason
    assert tc.devices["up0"].classes == {}


def test_who_comes_into_a_pool_or_leaves_it_has_another_class(tc: FakeTc, rig: Rig) -> None:
    """HTB moves no class below another one."""
    rig.apply(HTB, POOLED)
    before = set(tc.devices["up0"].classes)

    left = rig.apply(HTB, desired(uplink(), member(1, 5e6), vnic(2), member(3), pools=(pool(),)))

    assert left.changes == ()
    assert told(tc, POOL_CLASS)[0] == "51ce:1"
    after = tc.devices["up0"].classes
    assert before - set(after) == {"51ce:11", "51ce:12"}
    assert sorted(item.parent for key, item in after.items() if key not in before) == [
        "51ce:1",
        POOL_CLASS,
    ]


def test_members_of_a_pool_that_goes_are_kept(tc: FakeTc, rig: Rig) -> None:
    rig.apply(HTB, POOLED)

    left = rig.apply(HTB, desired(uplink(), vnic(1, 5e6), vnic(2), vnic(3)))

    assert left.changes == ()
    assert POOL_CLASS not in tc.devices["up0"].classes


def test_limit_of_a_pool_that_somebody_took_away_is_told_of_each_member(
    tc: FakeTc, rig: Rig
) -> None:
    policy = document(*POOLED.allocations, pools=POOLED.pools)
    rig.enforcement.run(policy, previous=None, now_s=0.0)
    tc.devices["up0"].classes[POOL_CLASS].options["ceil"] = "94000000bit"

    again = rig.enforcement.run(policy, previous=policy, now_s=1.0).enforced

    outcomes = [item.controls.limit.outcome for item in again]
    assert outcomes == [Outcome.DRIFTED, Outcome.DRIFTED, Outcome.UNCHANGED]
    assert "of pool 'web': rate 20000000 ceil 94000000" in again[0].controls.limit.reason
    assert again[0].controls.shares.outcome is Outcome.UNCHANGED
    assert told(tc, POOL_CLASS)[2] == "40000000bit"


def test_what_the_kernel_has_of_a_pool_is_shown_with_each_member(tc: FakeTc, rig: Rig) -> None:
    policy = document(*POOLED.allocations, pools=POOLED.pools)

    enforced = rig.enforcement.run(policy, previous=None, now_s=0.0).enforced

    shown = [item.seen.setting.native for item in enforced if item.seen.setting is not None]
    text = f"in pool 'web': class {POOL_CLASS} rate 20000000 ceil 40000000"
    assert [text in (native or "") for native in shown] == [True, True, False]


def test_mechanism_without_pools_enforces_nothing_of_their_resource(
    tc: FakeTc, rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    mechanism = rig.mechanisms[HTB]
    without = replace(mechanism.support(), selectors=("vnic",))
    monkeypatch.setattr(mechanism, "support", lambda: without)
    policy = document(*POOLED.allocations, pools=POOLED.pools)

    enforced = rig.enforcement.run(policy, previous=None, now_s=0.0).enforced

    assert {item.outcome for item in enforced} == {Outcome.UNSUPPORTED}
    assert enforced[2].reason == "tc_htb holds no pools, such as 'web'"
    assert tc.commands == []


def test_members_by_name_share_the_turns_of_their_pool(tc: FakeTc, rig: Rig) -> None:
    shared = pool(shares=200, limit=None)
    members = (member(1, shares=300), member(2))
    rig.apply(HTB, desired(uplink(), *members, vnic(3), pools=(shared,)))

    # The smallest turn, a quarter of 200 shares, is 65556 bytes; 100 shares are twice that.
    quanta = [told(tc, key)[3] for key in ("51ce:10", "51ce:11", "51ce:12")]
    assert quanta == ["196668", "65556", "131112"]


@st.composite
def pooled_policies(draw: st.DrawFn) -> tuple[list[Allocation], list[Pool]]:
    """Some pools and allocations in them or beside them that fit the link."""
    pools = []
    for number in range(draw(st.integers(1, 3))):
        reservation = draw(st.floats(0, 10e6))
        limit = draw(st.none() | st.floats(reservation + 20e6, LINK))
        shares = draw(st.none() | st.integers(1, 1000))
        pools.append(
            pool(
                id=f"pool-{number}",
                name=f"{number}",
                reservation=reservation,
                limit=limit,
                shares=shares,
            )
        )
    keys = [None, *(item.id for item in pools)]
    allocations = [
        vnic(
            number,
            draw(st.floats(0, 2e6)),
            pool=draw(st.sampled_from(keys)),
            shares=draw(st.integers(1, 1000)),
            entitlement=draw(st.floats(0, 10e6)),
        )
        for number in range(draw(st.integers(1, 8)))
    ]
    return allocations, [item for item in pools if any(one.pool == item.id for one in allocations)]


@pytest.mark.parametrize("mode", ReservationMode)
@given(pooled_policies())
def test_rates_fit_at_each_level_and_keep_every_reservation(
    mode: ReservationMode, policy: tuple[list[Allocation], list[Pool]]
) -> None:
    allocations, pools = policy
    spec = uplink(mode=mode)
    room = LINK - host_rate_of(spec, None)

    rates = fitted_rates(spec, allocations, pools, room)

    if whole_problem(spec, allocations, None, pools) is None:
        assert sum(rates[key] for key in top_level(allocations, pools)) <= room * (1 + 1e-9)
    # Rates are cut to what tc shows: by a thousandth, and to whole bytes; and each class has the
    # least rate of HTB, which takes from reservations only where the room is full.
    lost = MINIMUM_RATE_BITS_PER_S * len(allocations) + 8
    for item in pools:
        members = [one for one in allocations if one.pool == item.id]
        together = sum(rates[one.id] for one in members)
        assert together <= rates[item.id] * (1 + 1e-9)
        assert rates[item.id] >= item.reservation * (1 - 1e-3) - lost
        assert item.limit is None or rates[item.id] <= item.limit
    for one in allocations:
        assert rates[one.id] >= one.reservation * (1 - 2e-3) - lost


@given(pooled_policies(), st.data())
def test_busy_members_count_together_as_their_pool(
    policy: tuple[list[Allocation], list[Pool]], data: st.DataObject
) -> None:
    allocations, pools = policy
    idle = frozenset(data.draw(st.sets(st.sampled_from([item.id for item in allocations]))))

    counted = counted_shares(allocations, pools, idle)

    shares = {item.id: item.shares for item in pools}
    for item in pools:
        busy = [one for one in allocations if one.pool == item.id and one.id not in idle]
        if item.shares is not None and busy:
            assert sum(counted[one.id] for one in busy) == pytest.approx(item.shares)
            parts = {round(counted[one.id] / one.shares, 9) for one in busy}
            assert len(parts) == 1
    for one in allocations:
        if shares.get(one.pool or "") is None:
            assert counted[one.id] == one.shares


SHARED = document(member(1), member(2), member(3), vnic(4), pools=(pool(limit=None, shares=100),))
MEMBER_CLASSES = ("51ce:10", "51ce:11", "51ce:12")


@pytest.fixture
def shared(tmp_path: Path) -> tuple[FakeTc, Rig]:
    """A pool with 100 shares in force, of which each of three members has a third."""
    tc = FakeTc("up0", "p1", "p2", "p3", "p4")
    rig = start_rig(tmp_path, tc)
    rig.enforcement.run(SHARED, previous=None, now_s=0.0)
    tc.commands.clear()
    return tc, rig


def follow(rig: Rig, *, times: int = 1) -> None:
    for _ in range(times):
        assert rig.enforcement.follow(clock_s=lambda: 0.0)


def quanta(tc: FakeTc) -> list[int]:
    return [int(told(tc, key)[3]) for key in MEMBER_CLASSES]


def let_wait(tc: FakeTc, *classids: str) -> None:
    for key in MEMBER_CLASSES:
        tc.devices["up0"].classes[key].backlog_bytes = 9000 if key in classids else 0


def test_turns_of_a_pool_follow_who_of_its_members_waits(shared: tuple[FakeTc, Rig]) -> None:
    tc, rig = shared
    third = 65556
    assert quanta(tc) == [third] * 3
    let_wait(tc, "51ce:10")

    follow(rig, times=LOOKS_UNTIL_IDLE)

    # It alone has the pool's turn; who comes to it begins with a half.
    assert quanta(tc) == [3 * third, round(1.5 * third), round(1.5 * third)]
    let_wait(tc, "51ce:10", "51ce:11")
    follow(rig)
    assert quanta(tc) == [round(1.5 * third), round(1.5 * third), third]


def test_turns_wait_while_a_queue_is_empty_between_two_bursts(
    shared: tuple[FakeTc, Rig],
) -> None:
    tc, rig = shared
    let_wait(tc, "51ce:10")

    follow(rig, times=LOOKS_UNTIL_IDLE - 1)

    assert tc.commands == []


def test_pass_leaves_turns_as_they_follow(shared: tuple[FakeTc, Rig]) -> None:
    tc, rig = shared
    let_wait(tc, "51ce:10")
    follow(rig, times=LOOKS_UNTIL_IDLE)
    tc.commands.clear()

    again = rig.enforcement.run(SHARED, previous=SHARED, now_s=1.0)

    assert tc.commands == []
    assert {item.outcome for item in again.enforced} == {Outcome.UNCHANGED}
    settings = [item.seen.setting for item in again.enforced]
    assert [item and item.shares for item in settings] == [100.0] * 4


def test_turns_are_those_of_all_members_while_nobody_follows(
    shared: tuple[FakeTc, Rig],
) -> None:
    tc, rig = shared
    before = quanta(tc)
    let_wait(tc, "51ce:10")
    follow(rig, times=LOOKS_UNTIL_IDLE)

    rig.enforcement.leave()

    assert quanta(tc) == before


def test_following_leaves_all_else_to_the_pass(shared: tuple[FakeTc, Rig]) -> None:
    """What somebody else changed is put right where it is told."""
    tc, rig = shared
    tc.devices["up0"].classes["51ce:13"].options["quantum"] = "1514"
    tc.devices["up0"].classes["51ce:10"].options["rate"] = "16000bit"
    let_wait(tc, *MEMBER_CLASSES)

    follow(rig, times=LOOKS_UNTIL_IDLE)

    assert tc.commands == []


def test_uplink_without_shares_of_pools_is_not_looked_at_in_between(
    tc: FakeTc, rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig.enforcement.run(
        document(*POOLED.allocations, pools=POOLED.pools), previous=None, now_s=0.0
    )
    looks: list[object] = []
    monkeypatch.setattr(rig.mechanisms[HTB], "observe", lambda *given: looks.append(given))

    follow(rig)

    assert looks == []


MOVED = desired(uplink(), vnic(1, 5e6), member(2), member(3), pools=(pool(limit=30e6),))


@pytest.mark.parametrize("goes_on", [True, False], ids=["goes on", "restores"])
def test_agent_killed_while_members_change_is_made_good_by_the_next(
    tmp_path: Path, goes_on: bool
) -> None:
    commands = _commands_of_move(tmp_path / "whole")
    assert len(commands) > 10

    for survived in range(len(commands)):
        tc = FakeTc("up0", "p1", "p2", "p3")
        before = tc.text("up0")
        folder = tmp_path / str(survived)
        rig = start_rig(folder, tc)
        rig.apply(HTB, POOLED)
        tc.kill = commands[survived]
        with pytest.raises(Killed):
            rig.apply(HTB, MOVED)
        tc.kill = None

        again = start_rig(folder, tc)
        left = again.apply(HTB, MOVED if goes_on else nothing("up0"))

        assert left.changes == ()
        assert goes_on or tc.text("up0") == before
        assert not goes_on or told(tc, POOL_CLASS)[2] == "30000000bit"


def _commands_of_move(folder: Path) -> list[str]:
    tc = FakeTc("up0", "p1", "p2", "p3")
    rig = start_rig(folder, tc)
    rig.apply(HTB, POOLED)
    tc.commands.clear()
    rig.apply(HTB, MOVED)
    return list(tc.commands)


@given(st.sets(st.integers(1, 300), min_size=1), st.randoms(use_true_random=False))
def test_numbers_of_pools_and_members_follow_from_their_names_in_any_order(
    numbers: set[int], random: Random
) -> None:
    members = [vnic(n, pool=f"pool-{n % 7}" if n % 3 else None) for n in sorted(numbers)]
    pools = [pool(id=f"pool-{n}", name=f"{n}") for n in range(7)]
    mixed, mixed_pools = list(members), list(pools)
    random.shuffle(mixed)
    random.shuffle(mixed_pools)

    found = numbers_by_selectors(members, pools)

    assert found == numbers_by_selectors(mixed, mixed_pools)
    assert len(set(found.values())) == len(members) + len(pools)


def test_member_has_another_number_in_another_pool() -> None:
    found = [
        numbers_by_selectors([vnic(1, pool=key)])["net-1"] for key in (None, "pool-1", "pool-2")
    ]

    assert len(set(found)) == 3


def test_workload_gives_way_where_its_class_has_the_number_of_a_pool(tc: FakeTc, rig: Rig) -> None:
    """Classes of u32 filters are numbered in their order, those of pools by their ids."""
    rig.apply(HTB, desired(uplink(), vnic(1), vnic(2)))
    device = tc.devices["up0"]
    device.classes[POOL_CLASS] = device.classes.pop("51ce:11")
    device.leaves[POOL_CLASS] = device.leaves.pop("51ce:11")
    for item in device.filters.values():
        if item["classid"] == "51ce:11":
            item["classid"] = POOL_CLASS

    left = rig.apply(HTB, desired(uplink(), member(1), vnic(2), pools=(pool(),)))

    assert left.changes == ()
    parents = {key: item.parent for key, item in device.classes.items()}
    assert parents[POOL_CLASS] == "51ce:1"
    assert [item["classid"] for item in device.filters.values()].count(POOL_CLASS) == 0
