"""Coverage, error, bias and score of told rates."""

import pytest

from advisor.core.forecast.accuracy import ScoredRate, accuracy_of
from advisor.core.forecast.prediction_interval import Interval


def told(predicted: float, measured: float, crps: float | None = None) -> ScoredRate:
    """A rate that was told with a tenth to each side."""
    interval = Interval(low=0.9 * predicted, high=1.1 * predicted, level=0.9)
    return ScoredRate(predicted=predicted, interval=interval, measured=measured, crps=crps)


def test_nothing_told_has_no_accuracy() -> None:
    assert accuracy_of([]) is None


def test_accuracy_tells_coverage_error_bias_and_score() -> None:
    found = accuracy_of([told(100, 100, 2.0), told(100, 125), told(100, 80, 4.0)])

    assert found is not None
    assert (found.count, found.inside_count, found.level) == (3, 1, pytest.approx(0.9))
    # Errors of 0, 25 / 125 and -20 / 80 of what was measured; the median is the one between.
    assert found.error_ratio == pytest.approx(0.2)
    assert found.bias_ratio == 0
    # 2 of 100 and 4 of 80; of the second no draws were kept.
    assert found.crps_ratio == pytest.approx((0.02 + 0.05) / 2)


def test_rate_of_nothing_counts_for_the_coverage_alone() -> None:
    found = accuracy_of([told(100, 0)])

    assert found is not None
    assert (found.count, found.inside_count, found.error_ratio) == (1, 0, None)
