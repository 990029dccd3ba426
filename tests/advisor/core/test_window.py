"""The window law: reference vectors, where it rests and how fast it gets there, bad input."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.core.detection.reading import normalized_latency_ms
from advisor.core.window import (
    WindowLaw,
    active_shares,
    adaptive_betas,
    next_window,
)

betas = st.lists(st.floats(0.05, 50.0), min_size=1, max_size=8)
capacities = st.floats(50.0, 1e5)
thresholds = st.floats(1.0, 100.0)
gains = st.floats(0.1, 1.0)
UNBOUNDED = {"lowest": 1e-9, "highest": 1e12}


def settle(windows, betas, *, law, capacity_iops, periods):
    """The windows period by period on a datastore that always serves its capacity."""
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


def assert_active_shares(vector):
    result = active_shares(vector["shares"], vector["outstanding"], window=vector["w"])

    assert result == pytest.approx(vector["eff_shares"])
    assert sum(result) == pytest.approx(vector["beta_eff"])


def assert_datastore_latency(vector):
    latency_ms = np.array([[host["lat"] for host in vector["hosts"]]])
    io_count = np.array([[host["iops"] for host in vector["hosts"]]])

    found = normalized_latency_ms(latency_ms, io_count, np.full(io_count.shape, np.nan))

    assert found.tolist() == pytest.approx([vector["expected"]])


def assert_steps(vector):
    betas = vector["betas"]
    start = [32.0] * len(betas)

    history = settle(start, betas, law=law_of(vector), capacity_iops=vector["C"], periods=2000)

    for windows, expected in zip(history, vector["first_steps"], strict=False):
        assert windows == pytest.approx(expected, abs=6e-4)
    assert history[-1] == pytest.approx(vector["w"], abs=6e-5)


def step(windows, betas, *, law, capacity_iops):
    """The windows a period later on a datastore that always serves its capacity."""
    return settle(windows, betas, law=law, capacity_iops=capacity_iops, periods=1)[0]


def test_speed_of_settling_agrees_with_the_reference(parda_convergence_vector):
    vector = parda_convergence_vector
    law = WindowLaw(threshold_ms=vector["L"] * 1000, gain=vector["gamma"], **UNBOUNDED)
    datastore = {"law": law, "capacity_iops": vector["C"]}
    betas = [vector["B"] / 2, vector["B"] / 2]
    # At rest Σw = L·C + Σβ, in two halves; each error is 0.1 at first.
    half = (vector["L"] * vector["C"] + vector["B"]) / 2

    larger = step([half + 0.05, half + 0.05], betas, **datastore)
    apart = step([half + 0.05, half - 0.05], betas, **datastore)

    assert (sum(larger) - 2 * half) / 0.1 == pytest.approx(vector["total_factor"])
    assert (apart[0] - apart[1]) / 0.1 == pytest.approx(vector["share_factor"], abs=5e-6)


@given(betas, capacities, thresholds, gains)
def test_pipeline_and_beta_split_by_beta_are_left_unchanged(
    betas, capacity_iops, threshold_ms, gain
):
    law = WindowLaw(threshold_ms=threshold_ms, gain=gain, **UNBOUNDED)
    # Σw = L·C + Σβ, each host's part in proportion to its β.
    total = threshold_ms / 1000 * capacity_iops + sum(betas)
    rest = [total * beta / sum(betas) for beta in betas]

    following = step(rest, betas, law=law, capacity_iops=capacity_iops)

    assert following == pytest.approx(rest, rel=1e-6)


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


def test_default_law_settles_its_split_within_a_minute():
    law = WindowLaw(threshold_ms=12, **UNBOUNDED)
    betas = adaptive_betas([3000, 3000], law=law, capacity_iops=1624)
    # Σβ = L·C/3, so Σw rests at 19.488·4/3 = 25.984, half of it for each of two equal hosts.
    start = [12.992 + 1, 12.992 - 1]

    history = settle(start, betas, law=law, capacity_iops=1624, periods=14)

    # The error shrinks by 1 - 0.8·(1/3)/(4/3) = 0.8 a period: to 5 % in 14 periods of 4 s.
    errors = [(one - other) / 2 for one, other in history]
    assert errors[0] == pytest.approx(0.8)
    assert errors[12] > 0.05 > errors[13]


def test_without_congestion_windows_grow_to_the_upper_bound():
    law = WindowLaw(threshold_ms=12)

    history = settle([4.0, 4.0], [0.1, 0.2], law=law, capacity_iops=1e6, periods=10)

    assert history[-1] == [256, 256]


def test_hosts_without_beta_rest_at_what_full_windows_leave():
    # 20 ms at 30,000 IOPS are 600 outstanding; two hosts hold 256 each, two idle ones 44 each.
    law = WindowLaw(threshold_ms=20)
    betas = [0.0, 30.0, 0.0, 30.0]

    history = settle([32.0] * 4, betas, law=law, capacity_iops=30_000, periods=200)

    assert history[-1] == pytest.approx((44, 256, 44, 256), rel=1e-3)


def test_window_is_kept_when_no_host_did_any_io():
    law = WindowLaw(threshold_ms=12)

    assert next_window(17.0, latency_ms=None, beta=3.0, law=law) == 17.0


def test_idle_workload_counts_nothing_and_all_idle_is_zero():
    assert active_shares([1000, 2000], [0, 0], window=15) == [0, 0]
    assert active_shares([0, 0], [5, 5], window=15) == [0, 0]
    assert active_shares([], [], window=15) == []
    assert adaptive_betas([0, 0], law=WindowLaw(threshold_ms=12), capacity_iops=100) == [0, 0]


def test_split_without_beta_never_settles():
    # 12 ms at 2000 IOPS are 24 outstanding; without β nothing says who is to have them.
    law = WindowLaw(threshold_ms=12)

    history = settle([6.0, 18.0], [0.0, 0.0], law=law, capacity_iops=2000, periods=100)

    assert history[-1] == pytest.approx([6, 18])


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
        adaptive_betas([1], law=law, capacity_iops=wrong)


def test_contradictory_law_is_refused():
    with pytest.raises(ValueError, match="lowest is 300"):
        WindowLaw(threshold_ms=12, lowest=300)
    with pytest.raises(ValueError, match="gain"):
        WindowLaw(threshold_ms=12, gain=0)


def test_latency_of_0_opens_the_window_to_its_bound():
    law = WindowLaw(threshold_ms=25.0, gain=0.5, lowest=4.0, highest=64.0)

    assert next_window(10.0, latency_ms=0.0, beta=1.0, law=law) == 64.0


def test_shares_count_by_the_part_of_the_slots_in_use_however_few_they_are():
    # Of a window of 1 each has half a slot, of which the first uses a half.
    assert active_shares([100.0, 100.0], [0.25, 0.5], window=1.0) == [50.0, 100.0]
    assert active_shares([100.0, 0.0], [0.0, 3.0], window=1.0) == [0.0, 0.0]
