"""What speaks against a move, at the exact value of each rule: at it, and just beyond."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from advisor.advice.placement.decide.device_line import Mix, SeenModel
from advisor.advice.placement.decide.disk_answer import Objection
from advisor.advice.placement.decide.disk_inputs import PlacementInputs, PlacementRules, VdiskState
from advisor.advice.placement.decide.disk_layout import after_moves, layout_of
from advisor.advice.placement.decide.disk_objections import (
    Proposal,
    may_move,
    may_trade,
    objection,
)
from advisor.advice.placement.decide.disk_placement import advise_placement
from advisor.advice.placement.decide.disk_rules import RuleBook
from advisor.advice.placement.decide.move_effect import MoveEffect, Traffic
from advisor.core.device.device_model import DeviceModel
from tests.advisor.advice.placement.placements import BUSY, GB, NOW, datastore, vdisk

# 21 ms at the source become 7 ms, the target answers in 14 ms; a gain of 20 % pays twice.
WORTH_IT = MoveEffect(
    source_before_ms=21.0,
    source_after_ms=7.0,
    target_before_ms=1.0,
    target_after_ms=14.0,
    copy_s=100.0,
    benefit=200.0,
    cost=100.0,
    improvement_ratio=0.2,
)


def against(inputs: PlacementInputs = BUSY, **changes: Any) -> Objection | None:
    """What speaks against moving `big` with the effect as changed."""
    layout = layout_of(inputs)
    proposal = Proposal(source="ds1", target="ds2", moved=(layout.vdisks["big"],))
    effect = replace(WORTH_IT, **changes)
    found = objection(inputs, layout, RuleBook(inputs.rules), proposal, effect)
    return None if found is None else found[0]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, None),
        ({"source_before_ms": 14.0}, Objection.WORSE),
        ({"source_before_ms": 14.1}, None),
        ({"source_after_ms": 21.0}, None),
        ({"source_after_ms": 21.1}, Objection.WORSE),
        ({"target_after_ms": 15.0}, None),
        ({"target_after_ms": 15.1}, Objection.TARGET_ABOVE_THRESHOLD),
        ({"improvement_ratio": 0.05}, None),
        ({"improvement_ratio": 0.049}, Objection.TOO_LITTLE_GAIN),
        ({"improvement_ratio": 0.0}, Objection.TOO_LITTLE_GAIN),
        ({"improvement_ratio": -0.001}, Objection.WORSE),
        ({"benefit": 100.0}, Objection.COST_ABOVE_BENEFIT),
        ({"benefit": 100.1}, None),
    ],
    ids=str,
)
def test_predicted_effect_is_judged_at_its_bounds(
    changes: dict[str, float], expected: Objection | None
) -> None:
    assert against(**changes) is expected


@pytest.mark.parametrize(("gain", "expected"), [(0.0, Objection.TOO_LITTLE_GAIN), (1e-6, None)])
def test_move_without_any_gain_is_refused_even_where_none_is_asked(
    gain: float, expected: Objection | None
) -> None:
    assert against(replace(BUSY, improvement_ratio=0.0), improvement_ratio=gain) is expected


@pytest.mark.parametrize(("hours", "expected"), [(24.0, None), (23.99, Objection.COOLDOWN)])
def test_virtual_disk_rests_for_a_day_after_a_move(
    hours: float, expected: Objection | None
) -> None:
    moved = replace(BUSY.vdisks[0], moved_at=NOW - timedelta(hours=hours))

    found = may_move(BUSY, [moved])

    assert (found and found[0]) is expected


@pytest.mark.parametrize(("used_gb", "expected"), [(790, None), (791, Objection.SPACE)])
def test_target_is_filled_to_four_fifths(used_gb: float, expected: Objection | None) -> None:
    # 800 of 1000 GB, and the virtual disk has 10.
    stores = (BUSY.datastores[0], replace(BUSY.datastores[1], used_bytes=used_gb * GB))

    assert against(replace(BUSY, datastores=stores)) is expected


@pytest.mark.parametrize(("back_gb", "expected"), [(10, None), (9, Objection.SPACE)])
def test_exchange_may_fill_a_full_datastore_no_further(
    back_gb: float, expected: Objection | None
) -> None:
    # ds2 is above four fifths already: as much must go as comes.
    stores = (BUSY.datastores[0], replace(BUSY.datastores[1], used_bytes=900 * GB))
    idle = vdisk("idle", "ds2", outstanding_io=1, size=back_gb * GB)
    inputs = replace(BUSY, datastores=stores, vdisks=(*BUSY.vdisks, idle))
    layout = layout_of(inputs)
    proposal = Proposal(source="ds1", target="ds2", moved=(layout.vdisks["big"],), back=(idle,))

    found = objection(inputs, layout, RuleBook(inputs.rules), proposal, WORTH_IT)

    assert (found and found[0]) is expected


def test_space_that_is_left_is_never_told_below_0() -> None:
    stores = (BUSY.datastores[0], replace(BUSY.datastores[1], used_bytes=900 * GB))
    inputs = replace(BUSY, datastores=stores)
    layout = layout_of(inputs)
    proposal = Proposal(source="ds1", target="ds2", moved=(layout.vdisks["big"],))

    assert objection(inputs, layout, RuleBook(inputs.rules), proposal, WORTH_IT) == (
        Objection.SPACE,
        "ds2 has 0 GB left, 10 GB are needed",
    )


def test_datastores_without_named_disks_do_not_share_them() -> None:
    plain, same = datastore("ds1"), datastore("ds2", disks="a")

    assert may_trade(plain, datastore("ds2")) is None
    assert may_trade(replace(same, datastore="ds1"), same) is not None
    assert may_trade(same, replace(same, disks="b")) is None


def test_what_a_person_does_not_set_is_as_documented() -> None:
    inputs = PlacementInputs(datastores=(), vdisks=(), now=NOW)
    one = VdiskState(
        vdisk="v", workload="w", datastore="d", size_bytes=0, outstanding_io=0, iops=0
    )

    assert (inputs.threshold_ms, inputs.imbalance_ratio, inputs.improvement_ratio) == (
        15.0,
        0.05,
        0.05,
    )
    assert (inputs.space_ratio, inputs.staging_ratio) == (0.8, 0.95)
    assert (inputs.horizon_s / 3600, inputs.cooldown_s / 3600) == (8.0, 24.0)
    assert (inputs.copy_outstanding_io, inputs.most_moves, inputs.samples) == (8.0, 3, 0)
    assert (one.mean_io_bytes, one.read_ratio, one.random_ratio) == (8000.0, 0.5, 1.0)
    assert one.movable


@pytest.mark.parametrize(
    ("most", "moves"), [({}, 3), ({"most_moves": 2}, 2), ({"most_moves": 0}, 0)], ids=str
)
def test_so_many_moves_are_advised_at_most(most: dict[str, int], moves: int) -> None:
    # Eight equal virtual disks of 10 outstanding: 1 + 0.2 · 80 = 17 ms on ds1.
    inputs = PlacementInputs(
        datastores=(datastore("ds1"), *(datastore(f"ds{n}") for n in range(2, 9))),
        vdisks=tuple(vdisk(f"v{n}", "ds1", outstanding_io=10) for n in range(8)),
        now=NOW,
        threshold_ms=4.0,
        **most,  # type: ignore[arg-type]  # The one setting is a number of moves.
    )

    result = advise_placement(inputs)

    assert len(getattr(result, "moves", ())) == moves
    # The first is told, the others are counted.
    assert (f", and {moves - 1} more:" in result.summary) is (moves > 1)


SEEN = SeenModel(
    model=DeviceModel(
        intercept=(1.0, 0.0, 1.0, 0.0),
        slope=(0.1, 0.0, 0.3, 0.0),
        error_ratio=0.1,
        point_count=50,
    ),
    least_io_bytes=8000.0,
    most_io_bytes=16_000.0,
    least_read_ratio=0.3,
    most_read_ratio=0.6,
)


@pytest.mark.parametrize(
    ("size_bytes", "reads", "is_known"),
    [
        # A quarter more than 16 kB, or 8 kB divided by 1.25, and a tenth more or less reads.
        (20_000.0, 0.5, True),
        (20_001.0, 0.5, False),
        (6400.0, 0.5, True),
        (6399.0, 0.5, False),
        (8000.0, 0.69, True),
        (8000.0, 0.71, False),
        (8000.0, 0.21, True),
        (8000.0, 0.19, False),
    ],
)
def test_model_speaks_about_mixes_like_those_it_saw(
    size_bytes: float, reads: float, is_known: bool
) -> None:
    found = SEEN.line_at(Mix(mean_io_bytes=size_bytes, read_ratio=reads))

    assert (found is not None) is is_known


def test_space_and_load_go_with_a_virtual_disk() -> None:
    # ds2 is twice as fast, so the client keeps 80 · 0.1 / 0.2 outstanding there.
    layout = after_moves(layout_of(BUSY), {"big": "ds2"})

    assert [one.used_bytes / GB for one in layout.datastores.values()] == [90.0, 110.0]
    assert layout.loads["ds2"].outstanding_io == 40.0
    assert (layout.loads["ds1"].iops, layout.loads["ds2"].iops) == (1000.0, 4000.0)
    assert (layout.workloads["ds1"]["big"], layout.workloads["ds2"]["big"]) == (0, 1)


@pytest.mark.parametrize(
    ("workloads", "is_broken"),
    [(("erp", "crm"), True), (("erp", "erp"), False), (("other", "crm"), False)],
    ids=["apart", "one workload", "not concerned"],
)
def test_workloads_apart_do_not_meet_on_the_target(
    workloads: tuple[str, str], is_broken: bool
) -> None:
    rules = PlacementRules(workloads_apart=(("erp", "crm"),))
    inputs = replace(
        BUSY,
        vdisks=(
            vdisk("a", "ds1", outstanding_io=1, workload=workloads[0]),
            vdisk("b", "ds2", outstanding_io=1, workload=workloads[1]),
        ),
    )

    broken = RuleBook(rules).broken(layout_of(inputs), {"a": "ds2"})

    assert (broken == "crm and erp belong on different datastores") is is_broken
    # Where both change places, they do not meet.
    assert RuleBook(rules).broken(layout_of(inputs), {"a": "ds2", "b": "ds1"}) is None


@pytest.mark.parametrize(("reads", "ratio"), [(50.0, 0.5), (100.1, 1.0), (-0.1, 0.0)])
def test_part_of_reads_stays_a_part_whatever_rounding_does(reads: float, ratio: float) -> None:
    mix = Traffic(iops=100.0, bytes_per_s=800_000.0, reads_per_s=reads).mix

    assert mix == Mix(mean_io_bytes=8000.0, read_ratio=ratio)
    assert Traffic().mix is None


def test_traffic_never_falls_below_0() -> None:
    little = Traffic(iops=1.0, bytes_per_s=10.0, reads_per_s=0.5)
    much = Traffic(iops=5.0, bytes_per_s=70.0, reads_per_s=4.0)

    assert little.with_change(Traffic(), much) == Traffic()
    assert much.with_change(little, Traffic()) == Traffic(
        iops=6.0, bytes_per_s=80.0, reads_per_s=4.5
    )
