"""Durations in buckets: quantiles are those of the durations, at most a bucket too long."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.core.health.distribution import (
    RATIO,
    SMALLEST_S,
    bucket_end_s,
    bucket_of,
    bucket_quantile_s,
    quantile_s,
)

lengths = st.lists(st.floats(0, 1e5), min_size=1, max_size=50)
parts = st.sampled_from([0.0, 0.5, 0.9, 0.99, 1.0])


@given(st.floats(SMALLEST_S * 1.001, 1e5))
def test_duration_lies_in_its_bucket(length_s: float) -> None:
    end_s = bucket_end_s(bucket_of(length_s))

    assert end_s / RATIO * 0.999999 <= length_s <= end_s * 1.000001


@given(lengths, parts)
def test_quantile_of_buckets_is_at_most_a_bucket_longer(
    lengths_s: list[float], part: float
) -> None:
    exact = quantile_s(lengths_s, part)
    counted = bucket_quantile_s(Counter(map(bucket_of, lengths_s)), part)

    assert exact is not None
    assert counted is not None
    assert exact * 0.999999 <= counted <= max(SMALLEST_S, exact * RATIO) * 1.000001


@given(lengths, lengths, parts)
def test_buckets_of_two_processes_add_up(
    one: list[float], other: list[float], part: float
) -> None:
    both = Counter(map(bucket_of, one)) + Counter(map(bucket_of, other))

    assert bucket_quantile_s(both, part) == bucket_quantile_s(
        Counter(map(bucket_of, one + other)), part
    )


@pytest.mark.parametrize(
    ("part", "expected"), [(0.0, 1.0), (0.5, 2.0), (0.51, 3.0), (0.99, 4.0), (1.0, 4.0)]
)
def test_quantile_is_the_nearest_rank(part: float, expected: float) -> None:
    # 0.51 of four is 2.04: the third.
    assert quantile_s([4.0, 1.0, 3.0, 2.0], part) == expected


def test_quantile_of_nothing_is_none() -> None:
    assert quantile_s([], 0.5) is None
    assert bucket_quantile_s({}, 0.5) is None
