"""Plans of several moves: no worse than one best move after the other, and often better."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.advice.placement.decide import plan_search
from advisor.advice.placement.decide.disk_inputs import PlacementInputs
from advisor.advice.placement.decide.disk_layout import after_moves, layout_of
from advisor.advice.placement.decide.disk_placement import advise_placement
from advisor.advice.placement.decide.disk_rules import RuleBook, units
from advisor.advice.placement.decide.next_move import Place, made, next_moves
from advisor.advice.placement.decide.plan_search import Plan, search_plan
from advisor.advice.placement.decide.unit_columns import unit_columns
from tests.advisor.advice.placement.placements import NOW, datastore, random_inputs, vdisk


def place_of(inputs):
    layout = layout_of(inputs)
    movable = unit_columns(inputs, layout, units(inputs.rules, layout.vdisks))
    return Place(inputs=inputs, rules=RuleBook(inputs.rules), layout=layout, units=movable)


def one_best_move_after_the_other(place):
    plan = Plan(moves=(), place=place)
    while len(plan.moves) < place.inputs.most_moves:
        looked = next_moves(plan.place, most=1)
        if not looked.options:
            break
        plan = plan.after(made(plan.place, looked.options[0]))
    return plan


@given(random_inputs, st.integers(1, 4))
def test_plan_saves_no_less_than_one_best_move_after_the_other(inputs, followed):
    place = place_of(inputs)
    greedy = one_best_move_after_the_other(place)

    with pytest.MonkeyPatch.context() as patch:
        # However few are followed.
        patch.setattr(plan_search, "FOLLOWED", followed)
        patch.setattr(plan_search, "LEAST_FOLLOWED", 1)
        plan = search_plan(place)

    assert plan.net >= greedy.net * (1 - 1e-9)
    assert len(plan.moves) <= inputs.most_moves


@given(random_inputs)
def test_layout_after_moves_is_that_of_everything_where_it_lies_then(inputs):
    plan = search_plan(place_of(inputs))

    layout = plan.place.layout
    moved = replace(
        inputs, datastores=tuple(layout.datastores.values()), vdisks=tuple(layout.vdisks.values())
    )
    assert layout_of(moved) == layout


# ds1 answers in 1 + 0.2 · (30 + 20 + 20) = 15 ms, ds2 and ds3 in 1 ms; 9 ms are allowed.
# big alone brings ds1 to 9 ms and saves 3000 · (15 - 7) + 4000 · (15 - 9) = 48 000 a second.
# mid-1 alone leaves 11 ms and saves 2000 · (15 - 5) + 5000 · (15 - 11) = 40 000; then big may go
# as well: 3000 · (11 - 7) + 2000 · (11 - 5) = 24 000, in all 64 000.
THREE = PlacementInputs(
    datastores=tuple(datastore(name) for name in ("ds1", "ds2", "ds3")),
    vdisks=(
        vdisk("big", "ds1", outstanding_io=30, iops=3000),
        vdisk("mid-1", "ds1", outstanding_io=20, iops=2000),
        vdisk("mid-2", "ds1", outstanding_io=20, iops=2000, movable=False),
    ),
    now=NOW,
    threshold_ms=9.0,
    samples=192,
)


def test_smaller_move_goes_first_where_the_largest_would_leave_no_other():
    first, second = advise_placement(THREE).moves

    assert (first.vdisks, first.source) == (("mid-1",), "ds1")
    assert second.vdisks == ("big",)
    assert {first.target, second.target} == {"ds2", "ds3"}
    saved_per_s = (first.effect.benefit + second.effect.benefit) / THREE.horizon_s
    assert saved_per_s == pytest.approx(64_000)


def test_one_move_takes_the_largest():
    (only,) = advise_placement(replace(THREE, most_moves=1)).moves

    assert only.vdisks == ("big",)
    assert only.effect.benefit / THREE.horizon_s == pytest.approx(48_000)


def test_moved_disks_are_where_the_plan_says():
    place = place_of(THREE)

    plan = search_plan(place)

    targets = dict(plan.where)
    assert after_moves(place.layout, targets).vdisks == plan.place.layout.vdisks
