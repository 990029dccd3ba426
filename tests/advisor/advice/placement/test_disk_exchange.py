"""Exchanges: worth it where no single move is, with an order of copying that has room."""

from dataclasses import replace

import pytest

from advisor.advice.placement.decide import disk_exchange
from advisor.advice.placement.decide.disk_answer import (
    NoBeneficialMove,
    Objection,
    PlacementAdvice,
)
from advisor.advice.placement.decide.disk_exchange import CANDIDATES, JUDGED
from advisor.advice.placement.decide.disk_inputs import PlacementInputs, PlacementRules
from advisor.advice.placement.decide.disk_placement import advise_placement
from tests.advisor.advice.placement.placements import GB, NOW, datastore, vdisk

# ds1 answers in 1 + 0.2 · (80 + 20) = 21 ms, ds2 in 1 + 0.2 · 10 = 3 ms. Each may take 10 GB
# more, so nothing can go without something coming back.
FULL = PlacementInputs(
    datastores=(datastore("ds1", used=790 * GB), datastore("ds2", used=790 * GB)),
    vdisks=(
        vdisk("big", "ds1", outstanding_io=80, iops=4000, size=100 * GB),
        vdisk("rest", "ds1", outstanding_io=20, iops=1000, size=100 * GB, movable=False),
        vdisk("idle", "ds2", outstanding_io=10, iops=500, size=95 * GB),
    ),
    now=NOW,
    threshold_ms=20.0,
    samples=192,
)


def sized(inputs, **gigabytes):
    """The same with other sizes of virtual disks."""
    return replace(
        inputs,
        vdisks=tuple(
            replace(one, size_bytes=gigabytes.get(one.vdisk, one.size_bytes / GB) * GB)
            for one in inputs.vdisks
        ),
    )


def test_exchange_is_advised_where_space_forbids_each_single_move():
    # After it ds1 answers in 1 + 0.2 · (20 + 10) = 7 ms and ds2 in 1 + 0.2 · 80 = 17 ms.
    # Saved per second: 4000 · (21 - 17) + 1000 · (21 - 7) + 500 · (3 - 7) = 28 000.
    # Copying 195 GB at 100 MB/s takes 1950 s and adds 8 · 0.2 ms to 5500 IOPS.
    result = advise_placement(FULL)

    (move,) = result.moves
    effect = move.effect
    assert (move.vdisks, move.source, move.target) == (("big",), "ds1", "ds2")
    assert move.in_return == ("idle",)
    assert (effect.source_after_ms, effect.target_after_ms) == pytest.approx((7.0, 17.0))
    assert effect.copy_s == pytest.approx(1950)
    assert effect.benefit == pytest.approx(28_000 * 8 * 3600)
    assert effect.cost == pytest.approx(8 * 0.2 * 5500 * 1950)
    assert effect.improvement_ratio == pytest.approx(28_000 / (5000 * 21 + 500 * 3))
    assert result.summary.startswith("Exchange big on ds1 for idle on ds2: ds1 from 21 to 7 ms")


def test_alternatives_say_why_neither_half_is_enough():
    reasons = {one.name: one.reason for one in advise_placement(FULL).alternatives}

    assert reasons["move big to ds2 alone"] == "ds2 has 10 GB left, 100 GB are needed"
    assert reasons["move idle to ds1 alone"] == "ds1 has 10 GB left, 95 GB are needed"


def test_single_move_is_preferred_where_it_helps():
    # With room on ds2: 1 + 0.2 · 90 = 19 ms, less than 20.
    roomy = (FULL.datastores[0], replace(FULL.datastores[1], used_bytes=100 * GB))

    (move, *_) = advise_placement(replace(FULL, datastores=roomy)).moves

    assert (move.vdisks, move.in_return, move.steps) == (("big",), (), ())


def steps(result):
    return [
        (one.vdisks[0], one.source, one.target, one.needs_bytes / GB, one.free_bytes / GB)
        for one in result.moves[0].steps
    ]


def test_copies_are_ordered_with_the_room_that_each_needs():
    # 95 % may be filled while copying: 160 GB are free, and 100 more once big is gone.
    assert steps(advise_placement(FULL)) == [
        ("big", "ds1", "ds2", 100.0, 160.0),
        ("idle", "ds2", "ds1", 95.0, 260.0),
    ]


def test_what_frees_the_target_goes_first_where_the_target_is_fuller():
    fuller = (FULL.datastores[0], replace(FULL.datastores[1], used_bytes=900 * GB))
    inputs = replace(sized(FULL, big=95, idle=100), datastores=fuller)

    # ds2 has 50 GB for 95, so idle leaves it first.
    assert steps(advise_placement(inputs)) == [
        ("idle", "ds2", "ds1", 100.0, 160.0),
        ("big", "ds1", "ds2", 95.0, 150.0),
    ]


def test_one_of_the_two_waits_elsewhere_where_neither_can_go_first():
    third = datastore("ds3", slope=5.0)
    inputs = replace(
        sized(FULL, big=95, idle=100), datastores=(*FULL.datastores, third), staging_ratio=0.8
    )

    result = advise_placement(inputs)

    # The smaller waits: 10 GB are free at both ends.
    assert steps(result) == [
        ("big", "ds1", "ds3", 95.0, 700.0),
        ("idle", "ds2", "ds1", 100.0, 105.0),
        ("big", "ds3", "ds2", 95.0, 110.0),
    ]
    # 95 + 100 + 95 GB at 100 MB/s; ds3 does no I/O that copies could slow.
    effect = result.moves[0].effect
    assert effect.copy_s == pytest.approx(2900)
    busy = 8 * 0.2 * (5000 * (950 + 1000) + 500 * (1000 + 950))
    assert effect.cost == pytest.approx(busy)


def test_without_room_for_any_copy_the_exchange_is_refused_with_what_is_there():
    result = advise_placement(replace(FULL, staging_ratio=0.8))

    assert isinstance(result, NoBeneficialMove)
    (refused,) = [one for one in result.rejected if one.in_return]
    assert refused.objection is Objection.SPACE
    assert refused.reason == (
        "ds2 has 10 GB for a copy of 100 GB and ds1 has 10 GB for a copy of 95 GB, and no third "
        "datastore has room for one of the two"
    )
    # big alone and the exchange lack space, rest may not be moved.
    counts = {one.objection: one.moves for one in result.rejections}
    assert counts == {Objection.SPACE: 2, Objection.UNMOVABLE: 1}
    assert result.summary.startswith("No beneficial move: 3 moves and exchanges were looked at")


@pytest.mark.parametrize(
    "changes",
    [
        {"rules": PlacementRules(vdisks_together=(("big", "rest"),))},
        {"rules": PlacementRules(vdisks_apart=(("idle", "rest"),))},
        {"threshold_ms": 16.9},
        {"improvement_ratio": 0.3},
        {"horizon_s": 60.0},
        {"vdisks": tuple(replace(one, movable=False) for one in FULL.vdisks)},
        {"datastores": tuple(replace(one, disks="spindles-1") for one in FULL.datastores)},
        {"datastores": tuple(replace(one, auto_tiered=True) for one in FULL.datastores)},
        {"vdisks": FULL.vdisks[:2]},
    ],
    ids=[
        "bound to what stays", "kept from what stays", "target above the threshold",
        "too little gain", "cost above benefit", "unmovable", "same disks", "tiered",
        "nothing to exchange",
    ],
)  # fmt: skip
def test_what_forbids_a_move_forbids_an_exchange(changes):
    assert isinstance(advise_placement(FULL), PlacementAdvice)
    assert isinstance(advise_placement(replace(FULL, **changes)), NoBeneficialMove)


def test_exchange_that_costs_more_to_copy_than_it_saves_is_not_looked_at_closer():
    # 28 000 a second for a minute, and 8 · 0.2 · 5500 · 1950 s of copying.
    result = advise_placement(replace(FULL, horizon_s=60.0))

    assert isinstance(result, NoBeneficialMove)
    assert [one.in_return for one in result.rejected] == [()] * len(result.rejected)
    assert Objection.COST_ABOVE_BENEFIT not in [one.objection for one in result.rejections]


def test_exact_effects_are_few_however_many_pairs_there_are(monkeypatch):
    judged = []
    exact = disk_exchange.move_effect

    def noted(moved, *others, back, **options):
        judged.append((moved, back))
        return exact(moved, *others, back=back, **options)

    monkeypatch.setattr(disk_exchange, "move_effect", noted)
    count = 2 * CANDIDATES
    inputs = replace(
        FULL,
        vdisks=tuple(
            vdisk(f"{store}-{n:03}", store, outstanding_io=q + n / count, iops=50 * q, size=3 * GB)
            for store, q in (("ds1", 1.0), ("ds2", 0.1))
            for n in range(count)
        ),
        datastores=tuple(replace(one, used_bytes=799 * GB) for one in FULL.datastores),
        threshold_ms=50.0,
        improvement_ratio=1.0,
    )

    advise_placement(inputs)

    # 256 · 256 pairs are weighed by 128 · 128, and of them so many are judged.
    assert len(judged) == len(set(judged)) == JUDGED
