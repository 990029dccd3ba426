"""The table of all single moves says what each move alone would say."""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.advice.placement.decide.device_line import SeenModel
from advisor.advice.placement.decide.disk_answer import Objection
from advisor.advice.placement.decide.disk_inputs import PlacementRules
from advisor.advice.placement.decide.disk_layout import layout_of
from advisor.advice.placement.decide.disk_objections import Proposal
from advisor.advice.placement.decide.disk_rules import RuleBook, units
from advisor.advice.placement.decide.next_move import Place, alone, needs_help
from advisor.advice.placement.decide.single_moves import single_moves
from advisor.advice.placement.decide.unit_columns import batches, store_columns, unit_columns
from advisor.core.device.device_model import DeviceModel
from tests.advisor.advice.placement.placements import BUSY, datastore, random_inputs

factors = st.tuples(*[st.floats(0, 1)] * 4)
models = st.none() | st.builds(
    SeenModel,
    model=st.builds(
        DeviceModel,
        intercept=factors,
        slope=factors,
        error_ratio=st.just(0.1),
        point_count=st.just(40),
    ),
    least_io_bytes=st.just(4000.0),
    most_io_bytes=st.sampled_from([9000.0, 70_000.0]),
    least_read_ratio=st.just(0.2),
    most_read_ratio=st.just(0.8),
)


@st.composite
def mixed_inputs(draw):
    """Random clusters with models for some datastores, and virtual disks of several mixes."""
    inputs = draw(random_inputs)
    datastores = [replace(one, seen_model=draw(models)) for one in inputs.datastores]
    vdisks = [
        replace(
            one,
            mean_io_bytes=draw(st.sampled_from([4000.0, 8000.0, 64_000.0])),
            read_ratio=draw(st.sampled_from([0.0, 0.3, 0.9])),
        )
        for one in inputs.vdisks
    ]
    return replace(inputs, datastores=tuple(datastores), vdisks=tuple(vdisks))


@given(mixed_inputs())
def test_table_says_of_each_move_what_it_would_say_alone(inputs):
    layout, rules = layout_of(inputs), RuleBook(inputs.rules)
    slow = [name for name in layout.datastores if needs_help(inputs, layout, name)]
    movable = unit_columns(inputs, layout, units(inputs.rules, layout.vdisks)).on(layout, slow)
    stores = store_columns(inputs, layout)

    table = single_moves(inputs, layout, rules, stores, movable, most=100)

    place = Place(inputs=inputs, rules=rules, layout=layout, units=movable)
    allowed, refused, counts = [], [], Counter()
    for vdisks in movable.vdisks:
        for target in stores.names:
            if target == vdisks[0].datastore:
                continue
            proposal = Proposal(source=vdisks[0].datastore, target=target, moved=vdisks)
            effect, against = alone(place, proposal)
            net = float("-inf") if effect is None else effect.net
            (allowed if against is None else refused).append((net, proposal))
            if against is not None:
                counts[against[0]] += 1
    assert table.counts == counts
    for found, expected in ((table.allowed, allowed), (table.refused, refused)):
        best_first = sorted((net for net, _ in expected), reverse=True)
        assert [one.net for one in found] == pytest.approx(best_first, rel=1e-6)
        worth = {(one.moved, one.target): net for net, one in expected}
        assert [one.net for one in found] == pytest.approx(
            [worth[one.proposal.moved, one.proposal.target] for one in found], rel=1e-6
        )


@given(
    random_inputs,
    st.lists(st.lists(st.sampled_from([f"v{n}" for n in range(9)]), max_size=3).map(tuple)),
    st.lists(st.lists(st.sampled_from([f"v{n}" for n in range(9)]), max_size=3).map(tuple)),
    st.lists(st.lists(st.sampled_from(["db", "web", "batch"]), max_size=3).map(tuple)),
)
def test_datastores_closed_by_rules_are_those_where_a_move_would_break_one(
    inputs, together, apart, workloads
):
    stated = PlacementRules(
        vdisks_together=tuple(together),
        vdisks_apart=tuple(apart),
        workloads_apart=tuple(workloads),
    )
    layout, rules = layout_of(inputs), RuleBook(stated)

    for unit in units(stated, layout.vdisks):
        source = layout.vdisks[unit[0]].datastore
        broken = {
            name
            for name in layout.datastores
            if name != source and rules.broken(layout, dict.fromkeys(unit, name)) is not None
        }
        assert rules.closed_to(layout, unit) - {source} == broken


@pytest.mark.parametrize(("asked", "refused"), [(7 / 32, 0), (0.22, 1), (0.5, 1), (0.51, 2)])
def test_table_refuses_moves_that_gain_less_than_asked(asked, refused):
    # ds1 answers 5000 I/Os in 15 + 0.25 · 100 = 40 ms. Without big in 20 ms, in which ds2, twice
    # as fast, answers it: a gain of a half. Without small in 35 ms, and it in 16.25 ms there:
    # (1000 · 23.75 + 4000 · 5) / (5000 · 40) = 7/32.
    slow, fast = (
        datastore(name, intercept=15.0, slope=slope)
        for name, slope in (("ds1", 0.25), ("ds2", 0.125))
    )
    inputs = replace(BUSY, datastores=(slow, fast), threshold_ms=30.0, improvement_ratio=asked)
    layout, rules = layout_of(inputs), RuleBook(inputs.rules)
    movable = unit_columns(inputs, layout, units(inputs.rules, layout.vdisks))

    table = single_moves(inputs, layout, rules, store_columns(inputs, layout), movable, most=9)

    assert table.counts == Counter({Objection.TOO_LITTLE_GAIN: refused})


@pytest.mark.parametrize(
    ("rows", "columns", "expected"),
    [
        # 65,536 cells at a time.
        (5, 32_768, [(0, 2), (2, 4), (4, 5)]),
        (2, 32_769, [(0, 1), (1, 2)]),
        (2, 100_000, [(0, 1), (1, 2)]),
        (70_000, 1, [(0, 65_536), (65_536, 70_000)]),
        (70_000, 0, [(0, 65_536), (65_536, 70_000)]),
        (0, 3, []),
    ],
)
def test_rows_are_weighed_so_many_at_a_time_that_arrays_stay_small(rows, columns, expected):
    assert [(one.start, one.stop) for one in batches(rows, columns)] == expected


def test_table_is_the_same_whatever_is_weighed_at_a_time(monkeypatch):
    inputs = replace(BUSY, improvement_ratio=0.99)
    layout, rules = layout_of(inputs), RuleBook(inputs.rules)

    def table():
        movable = unit_columns(inputs, layout, units(inputs.rules, layout.vdisks))
        return single_moves(inputs, layout, rules, store_columns(inputs, layout), movable, most=9)

    whole = table()
    monkeypatch.setattr("advisor.advice.placement.decide.unit_columns.CELLS", 1)

    assert table() == whole
    assert len(whole.refused) == 2


def test_units_are_those_without_what_has_moved():
    layout = layout_of(BUSY)
    both = unit_columns(BUSY, layout, units(BUSY.rules, layout.vdisks))

    assert both.without(frozenset()).names == both.names == (("big",), ("small",))
    assert both.without(frozenset({"big"})).names == (("small",),)
    assert both.without(frozenset({"big", "small"})).names == ()


def test_moves_to_a_device_that_is_not_known_come_last_of_those_refused():
    unknown = datastore("ds3", intercept=None, slope=None)
    inputs = replace(BUSY, datastores=(*BUSY.datastores, unknown), improvement_ratio=0.99)
    layout, rules = layout_of(inputs), RuleBook(inputs.rules)
    movable = unit_columns(inputs, layout, units(inputs.rules, layout.vdisks))

    table = single_moves(inputs, layout, rules, store_columns(inputs, layout), movable, most=9)

    targets = [(one.proposal.target, one.net == float("-inf")) for one in table.refused]
    assert targets == [("ds2", False), ("ds2", False), ("ds3", True), ("ds3", True)]
