"""Placement of virtual disks: never worse, rules kept, hand-computed moves."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.advice.placement.decide.disk_answer import PlacementAdvice
from advisor.advice.placement.decide.disk_inputs import PlacementInputs
from advisor.advice.placement.decide.disk_layout import after_moves, layout_of
from advisor.advice.placement.decide.disk_placement import advise_placement
from advisor.advice.placement.decide.move_effect import imbalance, workload_load
from advisor.core import canonical
from advisor.core.explanation.answer import AdviceOutcome
from tests.advisor.advice.placement.placements import BUSY, NOW, random_inputs, vdisk


def made(layout, move):
    """The layout after a move or an exchange."""
    return after_moves(
        layout,
        dict.fromkeys(move.vdisks, move.target) | dict.fromkeys(move.in_return, move.source),
    )


@given(random_inputs)
def test_advised_moves_make_nothing_worse(inputs):
    result = advise_placement(inputs)

    if isinstance(result, PlacementAdvice):
        layout = layout_of(inputs)
        for move in result.moves:
            after = made(layout, move)
            there = after.loads[move.target].latency_ms
            assert there < layout.loads[move.source].latency_ms
            assert there <= inputs.threshold_ms * (1 + 1e-9)
            assert move.effect.benefit > move.effect.cost
            assert move.effect.improvement_ratio >= inputs.improvement_ratio * (1 - 1e-9)
            layout = after


@given(random_inputs)
def test_advised_moves_keep_rules_space_and_what_may_not_move(inputs):
    result = advise_placement(inputs)

    if isinstance(result, PlacementAdvice):
        layout = layout_of(inputs)
        for move in result.moves:
            before, layout = layout, made(layout, move)
            for end in (move.source, move.target):
                there = layout.datastores[end]
                room = inputs.space_ratio * there.capacity_bytes
                grew = there.used_bytes - before.datastores[end].used_bytes
                assert there.used_bytes <= room * (1 + 1e-9) or grew <= 1e-3
                assert not there.auto_tiered
            assert all(step.needs_bytes <= step.free_bytes for step in move.steps)
            assert bool(move.steps) == bool(move.in_return)
            assert all(layout.vdisks[one].movable for one in (*move.vdisks, *move.in_return))
        moved = {one for move in result.moves for one in (*move.vdisks, *move.in_return)}
        where = {name: one.datastore for name, one in layout.vdisks.items()}
        for group in inputs.rules.vdisks_together:
            if moved & set(group):
                assert len({where[one] for one in group if one in where}) == 1
        for group in inputs.rules.vdisks_apart:
            if moved & set(group) and all(one in where for one in group):
                assert len({where[one] for one in group}) == len(group)


@given(random_inputs, st.randoms(use_true_random=False))
def test_placement_does_not_depend_on_order(inputs, random):
    datastores, vdisks = list(inputs.datastores), list(inputs.vdisks)
    random.shuffle(datastores)
    random.shuffle(vdisks)

    other = replace(inputs, datastores=tuple(datastores), vdisks=tuple(vdisks))

    assert canonical.dumps(advise_placement(other)) == canonical.dumps(advise_placement(inputs))


@given(random_inputs)
def test_recomputing_from_stored_inputs_gives_the_same_bytes(inputs):
    stored = canonical.dumps(inputs)

    again = advise_placement(canonical.loads(PlacementInputs, stored))

    assert canonical.dumps(again) == canonical.dumps(advise_placement(inputs))


@given(random_inputs)
def test_nothing_is_moved_back_and_forth(inputs):
    result = advise_placement(inputs)

    if isinstance(result, PlacementAdvice):
        layout = layout_of(inputs)
        for move in result.moves:
            layout = made(layout, move)
        moved = {one for move in result.moves for one in (*move.vdisks, *move.in_return)}
        vdisks = tuple(
            replace(one, moved_at=NOW) if one.vdisk in moved else one
            for one in layout.vdisks.values()
        )
        later = replace(
            inputs,
            datastores=tuple(layout.datastores.values()),
            vdisks=vdisks,
            now=NOW + timedelta(hours=1),
        )
        again = advise_placement(later)
        if isinstance(again, PlacementAdvice):
            back = {one for move in again.moves for one in (*move.vdisks, *move.in_return)}
            assert not moved & back


def test_the_size_of_a_workload_is_basils_product():
    # (1.3 + 16) · (51 + 8) · (1.4 + 0.5) · (0.7 + 1.0)
    one = vdisk("a", "ds1", outstanding_io=16, mean_io_bytes=8000, read_ratio=0.5, random_ratio=1)

    assert workload_load(one) == pytest.approx(17.3 * 59 * 1.9 * 1.7)


def test_imbalance_is_the_spread_over_the_mean():
    # Equal workloads on devices of slope 0.2 and 0.1: 2:1, so (2 - 1) / 1.5.
    inputs = replace(
        BUSY,
        vdisks=(vdisk("a", "ds1", outstanding_io=5), vdisk("b", "ds2", outstanding_io=5)),
    )

    assert imbalance(layout_of(inputs).loads) == pytest.approx(2 / 3)


def test_the_best_move_and_its_numbers_are_as_computed_by_hand():
    # big keeps 80 · 0.1 / 0.2 = 40 outstanding on ds2: 1 + 0.1 · 40 = 5 ms there, and ds1 falls
    # to 1 + 0.2 · 20 = 5 ms. Saved per second: 4000 · (21 - 5) + 1000 · (21 - 5) = 80 000.
    # Copying 10 GB at 100 MB/s takes 100 s and adds 8 · 0.2 ms to 5000 IOPS: 800 000.
    result = advise_placement(BUSY)

    (move,) = result.moves
    effect = move.effect
    assert result.outcome is AdviceOutcome.RECOMMENDATION
    assert (move.vdisks, move.source, move.target) == (("big",), "ds1", "ds2")
    assert (effect.source_before_ms, effect.source_after_ms) == (21.0, 5.0)
    assert (effect.target_before_ms, effect.target_after_ms) == (1.0, 5.0)
    assert effect.copy_s == 100.0
    assert effect.benefit == pytest.approx(80_000 * 8 * 3600)
    assert effect.cost == pytest.approx(800_000)
    assert effect.improvement_ratio == pytest.approx(80_000 / (5000 * 21))
    assert result.summary.startswith("Move big from ds1 to ds2: ds1 from 21 to 5 ms")


def test_confidence_grows_with_the_windows_behind_the_loads():
    half = advise_placement(replace(BUSY, samples=96))

    assert half.confidence.value == 0.5
