"""The congestion threshold as advice: the reference's numbers, small changes, poor fits."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.advice.threshold.decide.threshold_advice import (
    ThresholdAdvice,
    ThresholdInputs,
    advise_threshold,
)
from advisor.core import canonical
from advisor.core.explanation.answer import InsufficientData, NoChange
from tests.advisor.core.device.device_lines import line


def inputs(points, *, threshold_ms=30.0, **kwargs):
    return ThresholdInputs(datastore="ds1", threshold_ms=threshold_ms, points=points, **kwargs)


@given(st.floats(0.05, 10), st.floats(0.01, 1), st.floats(0.5, 0.95))
def test_the_threshold_is_the_latency_at_the_part_of_peak(intercept, slope, part):
    result = advise_threshold(inputs(line(intercept, slope), threshold_ms=1e6, part_of_peak=part))

    assert result.threshold_ms == pytest.approx(intercept / (1 - part), rel=1e-6)
    (effect,) = result.effects
    assert 0 <= effect.before <= 1


@given(st.floats(0.05, 10), st.floats(0.01, 1))
def test_followed_advice_calls_for_no_further_change(intercept, slope):
    first = advise_threshold(inputs(line(intercept, slope), threshold_ms=1e6))

    again = advise_threshold(inputs(line(intercept, slope), threshold_ms=first.threshold_ms))

    assert isinstance(again, NoChange)


def test_thresholds_agree_with_the_reference(threshold_vector):
    given_inputs = inputs(
        line(threshold_vector["a_ms"], 0.1), threshold_ms=1e6, part_of_peak=threshold_vector["pct"]
    )

    assert advise_threshold(given_inputs).threshold_ms == pytest.approx(
        threshold_vector["threshold_ms"]
    )


def test_advice_says_what_the_present_threshold_does():
    # a = 0.5 ms and b = 0.1 ms: the peak is 10 000 IOPS, 90 % of it come at 5 ms. At 30 ms it
    # gives (1 - 0.5 / 30) / 0.1 ms = 9833 IOPS, 98 % of the peak.
    result = advise_threshold(inputs(line(0.5, 0.1), same_disks=("ds2",)))

    (effect,) = result.effects
    assert result.threshold_ms == pytest.approx(5.0)
    assert effect.before == pytest.approx(29.5 / 30)
    assert effect.after == 0.9
    assert result.datastores == ("ds1", "ds2")


def test_a_placement_threshold_above_it_is_to_be_lowered():
    result = advise_threshold(inputs(line(0.5, 0.1), placement_threshold_ms=15.0))

    assert result.summary.endswith("lower the placement threshold to it from 15")


def test_recomputing_gives_the_same_bytes():
    stored = canonical.dumps(inputs(line(0.5, 0.1)))

    again = advise_threshold(canonical.loads(ThresholdInputs, stored))

    assert isinstance(again, ThresholdAdvice)
    assert canonical.dumps(again) == canonical.dumps(advise_threshold(inputs(line(0.5, 0.1))))


@pytest.mark.parametrize(
    ("points", "reason"),
    [
        (line(0.5, 0.1, windows=20), "20 windows of 30"),
        (line(0.5, 0.1, depths=(8,)), "1 depth from"),
    ],
    ids=["few windows", "one depth"],
)
def test_windows_that_support_no_fit_leave_the_threshold_alone(points, reason):
    result = advise_threshold(inputs(points))

    assert isinstance(result, InsufficientData)
    assert reason in result.summary
    assert result.summary.endswith("30 ms stays")


@pytest.mark.parametrize("part", [0.0, 1.0, math.nan])
def test_a_part_that_is_no_part_is_refused(part):
    with pytest.raises(ValueError, match=r"^part_of_peak is "):
        replace(inputs(()), part_of_peak=part)
