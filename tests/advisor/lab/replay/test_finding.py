"""A printed number beside ours: when it holds, and what is never said."""

import math

import pytest

from advisor.lab.replay.finding import (
    LIMIT,
    NONE,
    Relation,
    Verdict,
    calibrated,
    compare,
    not_modelled,
    of_change,
)


def verdict_of(value, *, seed_value=200.0, tolerance=LIMIT, relation=Relation.ABOUT):
    found = compare(
        "throughput",
        "IOPS",
        seed_value=seed_value,
        value=value,
        tolerance=tolerance,
        relation=relation,
        why="measured",
        differs="the disks are slow",
    )
    return found.verdict


@pytest.mark.parametrize(
    ("relation", "holding", "differing"),
    [
        # 1 % of 200 is 2.
        (Relation.ABOUT, [198, 200, 202], [197.9, 202.1]),
        (Relation.AT_LEAST, [198, 200, 9000], [197.9, 0]),
        (Relation.AT_MOST, [0, 200, 202], [202.1, 9000]),
    ],
)
def test_number_holds_within_its_tolerance_on_the_side_that_is_meant(relation, holding, differing):
    assert {verdict_of(value, relation=relation) for value in holding} == {Verdict.HOLDS}
    assert {verdict_of(value, relation=relation) for value in differing} == {Verdict.DIFFERS}


@pytest.mark.parametrize(
    ("printed", "points"), [(0, 2), (3, 2), (-10, 2.5), (-12, 3), (-29, 5), (45, 5)]
)
def test_change_may_be_off_by_a_quarter_within_two_and_five_points(printed, points):
    assert of_change(printed).of(printed) == points


def test_direction_has_no_tolerance():
    assert verdict_of(-0.001, seed_value=0, tolerance=NONE, relation=Relation.AT_LEAST) is (
        Verdict.DIFFERS
    )


@pytest.mark.parametrize(
    ("value", "why"), [(200, "measured"), (100, "measured; the disks are slow")]
)
def test_reason_for_differing_is_told_only_where_it_differs(value, why):
    found = compare(
        "throughput",
        "IOPS",
        seed_value=200,
        value=value,
        tolerance=LIMIT,
        why="measured",
        differs="the disks are slow",
    )

    assert found.why == why


def test_number_that_went_into_the_model_never_holds():
    found = calibrated("throughput", "IOPS", seed_value=200, value=200)

    assert found.verdict is Verdict.NOT_MODELLED
    assert found.tolerance is None
    assert found.why.startswith("calibrated: ")


def test_number_that_cannot_be_had_has_no_value():
    found = not_modelled("CPU", "%", seed_value=4, why="a model has no CPU")

    assert (found.value, found.tolerance, found.verdict) == (None, None, Verdict.NOT_MODELLED)


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
def test_value_that_is_no_number_is_refused(wrong):
    with pytest.raises(ValueError, match="throughput: value is"):
        verdict_of(wrong)
