"""No beneficial move: every refusal has its kind and its numbers."""

from dataclasses import replace
from datetime import timedelta

import pytest

from advisor.advice.placement.decide.disk_answer import NoBeneficialMove, Objection
from advisor.advice.placement.decide.disk_inputs import PlacementRules
from advisor.advice.placement.decide.disk_placement import advise_placement
from advisor.core.explanation.answer import AdviceOutcome, InsufficientData
from tests.advisor.advice.placement.placements import (
    BUSY,
    GB,
    NOW,
    datastore,
    vdisk,
    with_datastore,
    with_vdisks,
)


@pytest.mark.parametrize(
    ("changes", "kind", "reason"),
    [
        ({"vdisks": with_vdisks(movable=False)}, Objection.UNMOVABLE, "may not be moved"),
        (
            {"vdisks": with_vdisks(moved_at=NOW - timedelta(hours=3))},
            Objection.COOLDOWN,
            "was moved 3.0 h ago; 24 h must pass",
        ),
        (
            {"rules": PlacementRules(vdisks_together=(("small", "big"),)), "most_moves": 1}
            | {"datastores": with_datastore("ds2", used_bytes=785 * GB)},
            Objection.SPACE,
            "ds2 has 15 GB left, 20 GB are needed",
        ),
        (
            {
                "datastores": tuple(replace(one, disks="spindles-1") for one in BUSY.datastores),
            },
            Objection.SAME_DISKS,
            "ds2 lies on the same disks, spindles-1",
        ),
        (
            {"datastores": with_datastore("ds2", auto_tiered=True)},
            Objection.AUTO_TIERED,
            "ds2 moves data between its tiers by itself",
        ),
        (
            {"datastores": with_datastore("ds2", slope_ms=2.0)},
            Objection.WORSE,
            "ds2 would answer in 401 ms, no sooner than 21 ms now",
        ),
        (
            {
                "threshold_ms": 4.9,
                "vdisks": (BUSY.vdisks[0], replace(BUSY.vdisks[1], movable=False)),
            },
            Objection.TARGET_ABOVE_THRESHOLD,
            "ds2 would answer in 5 ms, above the threshold of 4.9 ms",
        ),
        ({"improvement_ratio": 0.9}, Objection.TOO_LITTLE_GAIN, "90% are needed"),
        ({"horizon_s": 1.0}, Objection.COST_ABOVE_BENEFIT, "costs more than the horizon gains"),
    ],
    ids=lambda one: one if isinstance(one, Objection) else "",
)
def test_no_beneficial_move_says_what_speaks_against_the_closest(changes, kind, reason):
    # In all but the changed respect, `big` would be moved as above.
    result = advise_placement(replace(BUSY, **changes))

    assert isinstance(result, NoBeneficialMove)
    assert result.outcome is AdviceOutcome.NO_CHANGE
    assert result.rejected[0].objection is kind
    assert reason in result.rejected[0].reason
    assert kind in [one.objection for one in result.rejections]


@pytest.mark.parametrize(
    ("rules", "broken"),
    [
        (PlacementRules(vdisks_together=(("big", "anchor"),)), "anchor and big belong together"),
        (
            PlacementRules(vdisks_apart=(("big", "anchor"),)),
            "anchor and big belong on different datastores",
        ),
        (
            PlacementRules(workloads_apart=(("erp", "crm"),)),
            "crm and erp belong on different datastores",
        ),
    ],
    ids=["together", "apart", "workloads apart"],
)
def test_a_move_that_breaks_a_rule_is_rejected(rules, broken):
    # Of a group that is split already no member moves anywhere but to the others.
    anchor = "ds3" if rules.vdisks_together else "ds2"
    inputs = replace(
        BUSY,
        datastores=(*BUSY.datastores, datastore("ds3", slope=5.0)),
        vdisks=(
            vdisk("big", "ds1", outstanding_io=100, iops=4000, workload="erp"),
            vdisk("anchor", anchor, outstanding_io=0.1, iops=1, workload="crm", movable=False),
        ),
        rules=rules,
    )

    result = advise_placement(inputs)

    to_ds2 = next(one for one in result.rejected if one.target == "ds2")
    assert (to_ds2.objection, to_ds2.reason) == (Objection.RULE, broken)


def test_what_belongs_together_moves_at_once():
    rules = PlacementRules(vdisks_together=(("big", "small"),))
    target = replace(BUSY.datastores[1], slope_ms=0.05)

    result = advise_placement(replace(BUSY, datastores=(BUSY.datastores[0], target), rules=rules))

    (move,) = result.moves
    assert move.vdisks == ("big", "small")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"threshold_ms": 30.0}, "no datastore is above the threshold of 30 ms"),
        ({"imbalance_ratio": 10.0}, "all are loaded alike"),
    ],
    ids=["nobody is slow", "even"],
)
def test_without_need_nothing_is_moved(changes, reason):
    result = advise_placement(replace(BUSY, **changes))

    assert isinstance(result, NoBeneficialMove)
    assert reason in result.summary


NO_LINE = {"intercept": None, "slope": None}
UNFITTED = (
    datastore("ds3", line_gap="no windows with outstanding I/O", **NO_LINE),
    datastore("ds4", line_gap="no windows with outstanding I/O", **NO_LINE),
    datastore("ds5", **NO_LINE),
)
WHY_UNKNOWN = (
    "the latency of ds3 and ds4 is not known, because: no windows with outstanding I/O; "
    "the latency of ds5 is not known, because: no line of latency over outstanding I/O was fitted"
)


def test_datastores_whose_latency_is_unknown_are_not_called_below_the_threshold():
    # The line of ds1 says 21 ms, that of ds2 1 ms.
    inputs = replace(BUSY, datastores=(*BUSY.datastores, *UNFITTED), threshold_ms=30.0)

    result = advise_placement(inputs)

    assert result.summary == (
        "No beneficial move: ds1 and ds2 are not above the threshold of 30 ms; " + WHY_UNKNOWN
    )


def test_loads_that_are_unknown_are_not_called_alike():
    inputs = replace(BUSY, datastores=(*BUSY.datastores, *UNFITTED), imbalance_ratio=10.0)

    result = advise_placement(inputs)

    assert result.summary == (
        "No beneficial move: ds1 is slow, yet all whose load is known are loaded alike; "
        + WHY_UNKNOWN
    )


def test_one_known_device_is_not_enough():
    inputs = replace(BUSY, datastores=with_datastore("ds2", slope_ms=None, intercept_ms=None))

    result = advise_placement(inputs)

    assert isinstance(result, InsufficientData)
    assert [(one.have, one.need) for one in result.missing] == [(1, 2)]


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"datastores": (BUSY.datastores[0],) * 2}, 'datastore "ds1" is given twice'),
        ({"vdisks": (BUSY.vdisks[0],) * 2}, 'vdisk "big" is given twice'),
        ({"datastores": BUSY.datastores[1:]}, 'vdisk "big": no datastore "ds1" is given'),
    ],
    ids=["datastore twice", "vdisk twice", "unknown datastore"],
)
def test_inputs_that_contradict_each_other_are_refused(changes, complaint):
    with pytest.raises(ValueError, match=f"^{complaint}"):
        replace(BUSY, **changes)
