"""The window law: reference vectors, its resting point and speed, and bad input."""

import math
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from advisor.core.detection.latency import normalized_latency
from advisor.core.observation import HostLatency
from advisor.core.window import (
    PERIOD_S,
    WindowLaw,
    active_shares,
    adaptive_betas,
    convergence,
    next_window,
    resting_point,
)

betas = st.lists(st.floats(0.05, 50.0), min_size=1, max_size=8)
capacities = st.floats(50.0, 1e5)
thresholds = st.floats(1.0, 100.0)
gains = st.floats(0.1, 1.0)
UNBOUNDED = {"lowest": 1e-9, "highest": 1e12}


def settle(start, betas, *, law, capacity_iops, periods):
    """The windows after so many periods on a datastore that always serves its capacity."""
    windows = [float(start)] * len(betas)
    history = []
    for _ in range(periods):
        latency_ms = sum(windows) / capacity_iops * 1000
        windows = [
            next_window(window, latency_ms=latency_ms, beta=beta, law=law)
            for window, beta in zip(windows, betas, strict=True)
        ]
        history.append(windows)
    return history


def law_of(vector):
    return WindowLaw(
        threshold_ms=vector["L"] * 1000,
        gain=vector["gamma"],
        lowest=vector["wmin"],
        highest=vector["wmax"],
    )


def test_window_law_agrees_with_the_reference(parda_vector):
    if "eff_shares" in parda_vector:
        assert_active_shares(parda_vector)
    elif "hosts" in parda_vector:
        assert_datastore_latency(parda_vector)
    else:
        assert_steps(parda_vector)
        assert_resting_point(parda_vector)


def assert_active_shares(vector):
    result = active_shares(vector["shares"], vector["outstanding"], window=vector["w"])

    assert result == pytest.approx(vector["eff_shares"])
    assert sum(result) == pytest.approx(vector["beta_eff"])


def assert_datastore_latency(vector):
    hosts = [
        HostLatency(host=str(index), latency_ms=host["lat"], io_count=host["iops"])
        for index, host in enumerate(vector["hosts"])
    ]

    assert normalized_latency(hosts).latency_ms == pytest.approx(vector["expected"])


def assert_steps(vector):
    history = settle(
        32, vector["betas"], law=law_of(vector), capacity_iops=vector["C"], periods=2000
    )

    for step, expected in zip(history, vector["first_steps"], strict=False):
        assert step == pytest.approx(expected, abs=6e-4)
    assert history[-1] == pytest.approx(vector["w"], abs=6e-5)


def assert_resting_point(vector):
    rest = resting_point(vector["betas"], law=law_of(vector), capacity_iops=vector["C"])

    assert rest.windows == pytest.approx(vector["w"], abs=6e-5)
    assert rest.latency_ms == pytest.approx(vector["latency"] * 1000, abs=6e-4)
    # The closed form knows no bounds; where one holds, as for the floor of 4, it is not reached.
    free = replace(law_of(vector), **UNBOUNDED)
    unbounded = resting_point(vector["betas"], law=free, capacity_iops=vector["C"])
    assert sum(unbounded.windows) == pytest.approx(vector["closed_sum_w"], abs=6e-5)
    assert unbounded.latency_ms == pytest.approx(vector["closed_latency"] * 1000, abs=6e-4)


def test_convergence_agrees_with_the_reference(parda_convergence_vector):
    vector = parda_convergence_vector
    law = WindowLaw(threshold_ms=vector["L"] * 1000, gain=vector["gamma"])

    speed = convergence(vector["B"], law=law, capacity_iops=vector["C"])

    assert speed.total_factor == pytest.approx(vector["total_factor"])
    assert speed.share_factor == pytest.approx(vector["share_factor"], abs=5e-6)
    assert speed.periods_until(0.05) == pytest.approx(vector["steps_to_5pct"], abs=0.011)
    seconds = speed.periods_until(0.05) * PERIOD_S
    assert seconds == pytest.approx(vector["seconds_at_4s"], abs=0.06)
    # Overshoot is Σβ/C above the threshold.
    free = WindowLaw(threshold_ms=vector["L"] * 1000, **UNBOUNDED)
    rest = resting_point([vector["B"]], law=free, capacity_iops=vector["C"])
    overshoot_ms = rest.latency_ms - vector["L"] * 1000
    assert overshoot_ms == pytest.approx(vector["latency_overshoot_ms"], abs=6e-4)


@given(
    st.lists(st.just(0.0) | st.floats(0.05, 50.0), min_size=1, max_size=8).filter(any),
    capacities,
    thresholds,
    gains,
)
@example([0.0, 0.5, 0.5], 33_000.0, 17.6, 0.3)
def test_resting_point_is_left_unchanged_by_the_law(betas, capacity_iops, threshold_ms, gain):
    law = WindowLaw(threshold_ms=threshold_ms, gain=gain)

    rest = resting_point(betas, law=law, capacity_iops=capacity_iops)

    following = [
        next_window(window, latency_ms=rest.latency_ms, beta=beta, law=law)
        for window, beta in zip(rest.windows, betas, strict=True)
    ]
    assert following == pytest.approx(rest.windows, rel=1e-6)


@given(betas, capacities, thresholds)
def test_resting_windows_without_bounds_are_the_pipeline_and_beta(
    betas, capacity_iops, threshold_ms
):
    law = WindowLaw(threshold_ms=threshold_ms, **UNBOUNDED)

    rest = resting_point(betas, law=law, capacity_iops=capacity_iops)

    pipeline = threshold_ms / 1000 * capacity_iops
    assert sum(rest.windows) == pytest.approx(pipeline + sum(betas))
    for window, beta in zip(rest.windows, betas, strict=True):
        assert window / rest.windows[0] == pytest.approx(beta / betas[0])


@given(st.floats(4, 256), st.none() | st.floats(0, 1e18), st.floats(0, 1e18), thresholds, gains)
def test_window_stays_within_its_bounds(window, latency_ms, beta, threshold_ms, gain):
    law = WindowLaw(threshold_ms=threshold_ms, gain=gain)

    result = next_window(window, latency_ms=latency_ms, beta=beta, law=law)

    assert 4 <= result <= 256


@given(st.floats(4, 256), st.floats(0.01, 1e3), st.floats(0.01, 1e3), st.floats(0, 10))
def test_higher_latency_never_gives_a_larger_window(window, one_ms, other_ms, beta):
    law = WindowLaw(threshold_ms=12)
    low_ms, high_ms = sorted((one_ms, other_ms))

    relaxed = next_window(window, latency_ms=low_ms, beta=beta, law=law)
    tight = next_window(window, latency_ms=high_ms, beta=beta, law=law)

    assert tight <= relaxed


@given(betas, st.floats(1.0, 1e4))
def test_split_of_the_windows_does_not_depend_on_the_scale_of_shares(shares, factor):
    law = WindowLaw(threshold_ms=12)

    plain = adaptive_betas(shares, law=law, capacity_iops=1624)
    scaled = adaptive_betas([share * factor for share in shares], law=law, capacity_iops=1624)

    assert scaled == pytest.approx(plain)


@given(betas)
def test_adaptive_betas_sum_to_their_part_of_the_pipeline(shares):
    law = WindowLaw(threshold_ms=10)

    betas = adaptive_betas(shares, law=law, capacity_iops=2000, reserve=0.25)

    # 10 ms at 2000 IOPS are 20 outstanding I/Os, a quarter of that is 5.
    assert sum(betas) == pytest.approx(5)


def test_measured_error_shrinks_by_the_predicted_factor():
    law = WindowLaw(threshold_ms=12, **UNBOUNDED)
    betas, capacity_iops = [2.0, 3.0], 1624.0
    rest = resting_point(betas, law=law, capacity_iops=capacity_iops)
    speed = convergence(5.0, law=law, capacity_iops=capacity_iops)

    history = settle(rest.windows[0] + 1, betas, law=law, capacity_iops=capacity_iops, periods=40)

    # The error of the split is what is left when each window is set against its resting value.
    def split_error(windows):
        return windows[0] / rest.windows[0] - windows[1] / rest.windows[1]

    for before, after in pairwise(history[20:40]):
        assert split_error(after) / split_error(before) == pytest.approx(
            speed.share_factor, rel=1e-3
        )


def test_default_law_settles_its_split_within_a_minute():
    law = WindowLaw(threshold_ms=12)
    betas = adaptive_betas([2000, 3000], law=law, capacity_iops=1624)

    speed = convergence(sum(betas), law=law, capacity_iops=1624)

    # Σβ = L·C/3, so 1 - 0.8·(1/3)/(4/3) = 0.8 a period; ln 0.05 / ln 0.8 = 13.4 periods of 4 s.
    assert speed.share_factor == pytest.approx(0.8)
    assert speed.periods_until(0.05) * 4 == pytest.approx(53.7, abs=0.1)


def test_without_congestion_windows_grow_to_the_upper_bound():
    law = WindowLaw(threshold_ms=12)

    history = settle(4, [0.1, 0.2], law=law, capacity_iops=1e6, periods=10)

    assert history[-1] == [256, 256]
    rest = resting_point([0.1, 0.2], law=law, capacity_iops=1e6)
    assert rest.windows == (256, 256)


def test_hosts_without_beta_rest_at_what_full_windows_leave():
    # 20 ms at 30,000 IOPS are 600 outstanding; two hosts hold 256 each, two idle ones 44 each.
    law = WindowLaw(threshold_ms=20)
    betas = [0.0, 30.0, 0.0, 30.0]

    rest = resting_point(betas, law=law, capacity_iops=30_000)

    assert rest.windows == pytest.approx((44, 256, 44, 256))
    assert rest.latency_ms == pytest.approx(20)
    history = settle(32, betas, law=law, capacity_iops=30_000, periods=200)
    assert history[-1] == pytest.approx(rest.windows, rel=1e-3)


def test_window_is_kept_when_no_host_did_any_io():
    law = WindowLaw(threshold_ms=12)

    assert next_window(17.0, latency_ms=None, beta=3.0, law=law) == 17.0


def test_idle_workload_counts_nothing_and_all_idle_is_zero():
    assert active_shares([1000, 2000], [0, 0], window=15) == [0, 0]
    assert active_shares([0, 0], [5, 5], window=15) == [0, 0]
    assert active_shares([], [], window=15) == []
    assert adaptive_betas([0, 0], law=WindowLaw(threshold_ms=12), capacity_iops=100) == [0, 0]


def test_split_without_beta_never_settles():
    law = WindowLaw(threshold_ms=12)

    assert convergence(0.0, law=law, capacity_iops=100).periods_until(0.05) is None


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -1.0])
def test_numbers_no_measurement_can_have_are_refused(wrong):
    law = WindowLaw(threshold_ms=12)

    with pytest.raises(ValueError, match="latency_ms"):
        next_window(8, latency_ms=wrong, beta=1, law=law)
    with pytest.raises(ValueError, match="beta"):
        next_window(8, latency_ms=1, beta=wrong, law=law)
    with pytest.raises(ValueError, match="window"):
        next_window(wrong, latency_ms=1, beta=1, law=law)
    with pytest.raises(ValueError, match="outstanding_io"):
        active_shares([1], [wrong], window=8)
    with pytest.raises(ValueError, match="threshold_ms"):
        WindowLaw(threshold_ms=wrong)
    with pytest.raises(ValueError, match="capacity_iops"):
        resting_point([1], law=law, capacity_iops=wrong)


def test_contradictory_law_is_refused():
    with pytest.raises(ValueError, match="lowest is 300"):
        WindowLaw(threshold_ms=12, lowest=300)
    with pytest.raises(ValueError, match="gain"):
        WindowLaw(threshold_ms=12, gain=0)
    with pytest.raises(ValueError, match="no host has a beta"):
        resting_point([0.0], law=WindowLaw(threshold_ms=12), capacity_iops=100)
    with pytest.raises(ValueError, match="part"):
        convergence(1, law=WindowLaw(threshold_ms=12), capacity_iops=9).periods_until(0)
