"""A number beside ours: when it holds."""

import math

import pytest

from advisor.lab.replay.finding import Relation, Verdict, allowed, verdict_on

HOLDS, DIFFERS = Verdict.HOLDS, Verdict.DIFFERS


@pytest.mark.parametrize(
    ("relation", "holding", "differing"),
    [
        (Relation.ABOUT, [198, 200, 202], [197.9, 202.1]),
        (Relation.AT_LEAST, [198, 200, 9000], [197.9, 0]),
        (Relation.AT_MOST, [0, 200, 202], [202.1, 9000]),
    ],
)
def test_number_holds_within_its_tolerance_on_the_side_that_is_meant(relation, holding, differing):
    # 1 % of 200 is 2.
    tolerance = allowed("limit", 200)

    def verdicts(values):
        return {verdict_on(one, 200, tolerance=tolerance, relation=relation) for one in values}

    assert verdicts(holding) == {HOLDS}
    assert verdicts(differing) == {DIFFERS}


@pytest.mark.parametrize(
    ("printed", "points"), [(0, 2), (3, 2), (-10, 2.5), (-12, 3), (-29, 5), (45, 5)]
)
def test_change_may_be_off_by_a_quarter_within_two_and_five_points(printed, points):
    assert allowed("change", printed) == points


def test_what_is_left_of_100_may_be_off_as_its_loss_may():
    # 83 of 100 is a loss of 17.
    assert allowed("change from 100", 83) == allowed("change", -17) == 17 / 4


def test_direction_has_no_tolerance():
    tolerance = allowed("exact", 0)

    assert verdict_on(-0.001, 0, tolerance=tolerance, relation=Relation.AT_LEAST) is DIFFERS


def test_unknown_tolerance_is_refused():
    with pytest.raises(KeyError, match="roughly"):
        allowed("roughly", 1)


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
def test_value_that_is_no_number_is_refused(wrong):
    with pytest.raises(ValueError, match="value is"):
        verdict_on(wrong, 200, tolerance=2, relation=Relation.ABOUT)
