"""Scores of predictions, and whether confidence was worth something."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.core.forecast.calibration import PredictedRate, Score, calibrate, score


def rate(before, predicted, measured, workload="web"):
    return PredictedRate(workload=workload, before=before, predicted=predicted, measured=measured)


# NetIOC study, step a at 1:10, with what an HTB really delivered.
DELIVERED = [rate(31.3, 81.3, 80.6), rate(31.3, 6.3, 6.7), rate(31.3, 6.3, 6.7)]


def test_a_prediction_is_scored_in_parts_of_the_capacity():
    result = score(DELIVERED, capacity=94.0, confidence=0.9)

    # Errors -0.7, +0.4, +0.4; the rates moved by 49.3, 24.6 and 24.6.
    assert result.error_ratio == pytest.approx(1.5 / 3 / 94)
    assert result.worst_error_ratio == pytest.approx(0.7 / 94)
    assert result.bias_ratio == pytest.approx(0.1 / 3 / 94)
    assert result.skill_ratio == pytest.approx(1 - 1.5 / 98.5)


@pytest.mark.parametrize(("measured", "held"), [(76.7, True), (76.5, False)])
def test_a_prediction_holds_within_five_percent_of_the_capacity(measured, held):
    # 5 % of 94 are 4.7: 81.3 - 4.7 = 76.6.
    assert score([rate(31.3, 81.3, measured)], capacity=94.0, confidence=0.5).held is held


def test_a_prediction_of_no_change_that_came_true_has_no_skill_to_show():
    assert score([rate(10, 10, 10)], capacity=94.0, confidence=0.5).skill_ratio is None


def scored(confidence, *, held):
    return Score(
        confidence=confidence,
        error_ratio=0.01,
        worst_error_ratio=0.02,
        bias_ratio=0.0,
        skill_ratio=0.5,
        held=held,
    )


def test_confidence_that_holds_as_often_as_it_says_has_no_gap():
    # 0.75 of four held: three.
    scores = [scored(0.75, held=index < 3) for index in range(4)]

    result = calibrate(scores)

    assert result.gap == 0.0
    assert [(band.count, band.held_ratio) for band in result.bands] == [
        (0, None),
        (0, None),
        (0, None),
        (4, 0.75),
    ]


def test_confidence_that_never_holds_has_its_own_size_as_gap():
    assert calibrate([scored(0.9, held=False)] * 5).gap == pytest.approx(0.9)


def test_no_predictions_give_no_calibration():
    result = calibrate([])

    assert (result.gap, result.mean_error_ratio, result.mean_bias_ratio) == (None, None, None)


@given(st.lists(st.builds(scored, st.floats(0, 1), held=st.booleans()), min_size=1))
def test_every_prediction_lies_in_one_band(scores):
    result = calibrate(scores)

    assert sum(band.count for band in result.bands) == len(scores)
    assert 0 <= result.gap <= 1
    for band in result.bands:
        if band.mean_confidence is not None:
            assert band.low - 1e-9 <= band.mean_confidence <= band.high + 1e-9


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rates": []}, "^rates is empty"),
        ({"capacity": 0.0}, "^capacity is "),
        ({"confidence": 1.5}, "^confidence is "),
        ({"confidence": math.nan}, "^confidence is "),
    ],
)
def test_a_score_of_nothing_or_of_impossible_numbers_is_refused(arguments, message):
    rates = arguments.pop("rates", DELIVERED)

    with pytest.raises(ValueError, match=message):
        score(rates, **({"capacity": 94.0, "confidence": 0.5} | arguments))


def test_an_impossible_rate_is_refused_by_name():
    with pytest.raises(ValueError, match=r"^measured of web is "):
        rate(1.0, 1.0, math.nan)
