"""The learnt size term: a planted one is found again, and none where windows tell none."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from advisor.core.device.device_fit import FitRefused
from advisor.core.device.device_model import MixPoint
from advisor.core.device.size_term_fit import (
    LEAST_BYTES,
    MOST_BYTES,
    LearntSizeTerm,
    learn_size_term,
)
from advisor.core.iosize import SIZE_TERM_BYTES

WITHIN = 1.3
"""A learnt size term is at most this factor from the planted one."""
FEW = settings(max_examples=12)

terms = st.one_of(st.floats(5_000, 20_000), st.floats(200_000, 2_000_000))
seeds = st.integers(0, 10_000)


def windows(
    term,
    *,
    seed=1,
    count=720,
    noise=0.15,
    odd=0.0,
    sizes=(4_000, 1_000_000),
    goes_with_depth=0.0,
    writes_cost=2.0,
):
    """Windows of a device with this size term, whose queue makes all I/Os wait alike.

    Part `odd` of them are off by 3 to 20 times. A write costs as much as `writes_cost` reads.
    """
    rng = np.random.default_rng(seed)
    low, high = np.log(sizes)
    size = np.exp(rng.uniform(low, high, count))
    with_size = (np.log(size) - (low + high) / 2) / max((high - low) / 12**0.5, 1e-9)
    apart = (1 - goes_with_depth**2) ** 0.5 * rng.normal(size=count)
    depth = np.exp(1.5 + goes_with_depth * with_size + apart)
    writes = rng.uniform(0, 1, count)
    latency = (
        (term + size) / (term + 8_000) * (1 + depth / 4) * (1 - writes + writes_cost * writes)
    )
    latency *= rng.lognormal(0, noise, count)
    off = np.exp(rng.choice([-1, 1], count) * rng.uniform(np.log(3), np.log(20), count))
    latency *= np.where(rng.random(count) < odd, off, 1.0)
    return [
        MixPoint(outstanding_io=n, latency_ms=ms, mean_io_bytes=bytes_, read_ratio=1 - part)
        for n, ms, bytes_, part in zip(
            depth.tolist(), latency.tolist(), size.tolist(), writes.tolist(), strict=True
        )
    ]


def learnt(points, in_force_bytes=SIZE_TERM_BYTES):
    found = learn_size_term(points, in_force_bytes=in_force_bytes)
    assert isinstance(found, LearntSizeTerm), found.reason
    return found


@FEW
@given(terms, seeds)
def test_a_planted_size_term_is_found_again(term, seed):
    found = learnt(windows(term, seed=seed))

    assert term / WITHIN <= found.size_term_bytes <= term * WITHIN
    assert found.windows == 720
    assert found.error_ratio < found.error_before


@FEW
@given(terms, seeds)
def test_a_tenth_of_odd_windows_does_not_mislead(term, seed):
    found = learnt(windows(term, seed=seed, odd=0.1))

    assert term / WITHIN <= found.size_term_bytes <= term * WITHIN


@FEW
@given(terms, seeds)
def test_large_ios_in_deep_queues_do_not_mislead(term, seed):
    found = learnt(windows(term, seed=seed, goes_with_depth=0.6))

    assert term / WITHIN <= found.size_term_bytes <= term * WITHIN


@FEW
@given(terms, seeds)
def test_more_than_a_day_of_windows_is_learnt_from_a_choice(term, seed):
    found = learnt(windows(term, seed=seed, count=8_640))

    assert term / WITHIN <= found.size_term_bytes <= term * WITHIN
    assert found.windows == 8_640


@FEW
@given(seeds, st.sampled_from([SIZE_TERM_BYTES, 300_000.0]), st.floats(0.0, 0.4))
def test_the_term_in_force_stays_where_it_is_right(seed, term, noise):
    found = learn_size_term(windows(term, seed=seed, noise=noise), in_force_bytes=term)

    assert isinstance(found, FitRefused)
    assert "the best is off by" in found.reason


@FEW
@given(seeds, st.floats(5_000, 2_000_000))
def test_no_size_term_is_learnt_from_sizes_that_hardly_vary(seed, term):
    found = learn_size_term(
        windows(term, seed=seed, sizes=(60_000, 72_000)), in_force_bytes=SIZE_TERM_BYTES
    )

    assert found == FitRefused(reason="sizes span only 1.2 times; 2 are needed")


def test_no_size_term_is_learnt_where_size_goes_with_depth():
    points = windows(1_000_000, goes_with_depth=0.999)

    found = learn_size_term(points, in_force_bytes=SIZE_TERM_BYTES)

    assert isinstance(found, FitRefused)
    assert found.reason.startswith("sizes go with the depth or with the share of writes")


def test_no_size_term_is_learnt_from_few_windows():
    found = learn_size_term(windows(1e6, count=239), in_force_bytes=SIZE_TERM_BYTES)

    assert found == FitRefused(reason="239 windows; 240 are needed")


def test_no_size_term_is_learnt_where_halves_of_the_time_differ():
    # The device has another size term in each other hour of the day.
    one, other = windows(8_000, count=2_400), windows(1e6, count=2_400)
    points = [(one, other)[at // 100 % 2][at] for at in range(2_400)]

    found = learn_size_term(points, in_force_bytes=SIZE_TERM_BYTES)

    assert isinstance(found, FitRefused)
    assert found.reason.startswith("one half of the windows says")


@pytest.mark.parametrize(
    ("term", "bound"), [(1.0, LEAST_BYTES), (1e9, MOST_BYTES)], ids=["bytes alone", "no bytes"]
)
def test_a_learnt_size_term_stays_within_its_bounds(term, bound):
    found = learnt(windows(term, noise=0.05))

    assert found.size_term_bytes == pytest.approx(bound, rel=WITHIN - 1)
    assert LEAST_BYTES <= found.size_term_bytes <= MOST_BYTES


@FEW
@given(seeds, st.floats(5_000, 300_000))
def test_the_same_windows_on_a_device_with_a_larger_term_teach_a_larger_one(seed, term):
    one = learnt(windows(term, seed=seed), in_force_bytes=MOST_BYTES)
    other = learnt(windows(3 * term, seed=seed), in_force_bytes=MOST_BYTES)

    assert one.size_term_bytes < other.size_term_bytes


def test_a_faster_device_has_the_same_size_term():
    points = windows(500_000)
    faster = [
        MixPoint(
            outstanding_io=one.outstanding_io,
            latency_ms=one.latency_ms / 8,
            mean_io_bytes=one.mean_io_bytes,
            read_ratio=one.read_ratio,
        )
        for one in points
    ]

    assert learnt(faster).size_term_bytes == learnt(points).size_term_bytes
