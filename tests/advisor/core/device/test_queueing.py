"""Little's law, saturation, and throughput that falls again."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.core.device.device_fit import LoadPoint
from advisor.core.device.queueing import (
    Saturation,
    Scalability,
    fit_scalability,
    little_latency_ms,
    saturation_of,
)

amounts = st.floats(0.01, 1e6)
devices = st.builds(Saturation, base_ms=st.floats(0.01, 100), peak_iops=st.floats(1, 1e6))
laws = st.builds(
    Scalability,
    first_iops=st.floats(1, 1e4),
    contention=st.floats(0, 0.5),
    crosstalk=st.floats(1e-6, 0.01),
)


@given(devices, amounts)
def test_a_saturated_device_obeys_littles_law(device, outstanding_io):
    iops, latency_ms = device.iops(outstanding_io), device.latency_ms(outstanding_io)

    assert iops * latency_ms / 1000 == pytest.approx(outstanding_io)
    assert iops <= device.peak_iops


@given(devices, amounts, amounts)
def test_more_outstanding_io_never_lowers_latency(device, one, other):
    low, high = sorted((one, other))

    assert device.latency_ms(low) <= device.latency_ms(high)


@given(laws, amounts)
def test_no_depth_beats_the_best_one(law, outstanding_io):
    best = max(law.best_outstanding_io, 1.0)

    assert law.iops(max(outstanding_io, 1.0)) <= law.iops(best) * (1 + 1e-9)


@given(laws)
def test_a_law_is_found_again_from_its_own_points(law):
    levels = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]
    points = [
        LoadPoint(outstanding_io=n, iops=law.iops(n), latency_ms=1000 * n / law.iops(n))
        for n in levels
    ]

    found = fit_scalability(points)

    for n in levels:
        assert found.iops(n) == pytest.approx(law.iops(n), rel=1e-4)


def test_latency_agrees_with_the_reference(little_vector):
    outstanding_io = little_vector["N"]
    if "Xmax" in little_vector:
        device = Saturation(base_ms=little_vector["L0_ms"], peak_iops=little_vector["Xmax"])
        assert device.iops(outstanding_io) == pytest.approx(little_vector["X"])
        assert device.latency_ms(outstanding_io) == pytest.approx(little_vector["R_ms"])
    elif "X" in little_vector:
        latency_ms = little_latency_ms(outstanding_io, little_vector["X"])
        assert latency_ms == pytest.approx(little_vector["R_ms"], abs=1e-3)
    else:
        assert little_vector["hosts"] * 32 == outstanding_io


def test_scalability_agrees_with_the_reference(usl_vector):
    law = Scalability(
        first_iops=usl_vector["lam"],
        contention=usl_vector["sigma"],
        crosstalk=usl_vector["kappa"],
    )

    assert law.best_outstanding_io == pytest.approx(usl_vector["Nstar"], abs=1e-3)
    for outstanding_io, iops in usl_vector["X_at"]:
        assert law.iops(outstanding_io) == pytest.approx(iops, abs=1e-3)


def test_saturation_is_the_quickest_and_the_most_that_was_seen():
    # N = 10 at 1 ms is 10 000 IOPS, N = 40 at 2 ms 20 000.
    points = [LoadPoint(outstanding_io=10, latency_ms=1, iops=10_000)] * 50
    points += [LoadPoint(outstanding_io=40, latency_ms=2, iops=20_000)] * 50

    device = saturation_of(points)

    assert (device.base_ms, device.peak_iops) == (1.0, 20_000)


def test_latency_of_an_idle_device_is_absent():
    assert little_latency_ms(0, 0) is None


@pytest.mark.parametrize("levels", [[], [8] * 20, [1, 1.1, 1.2, 1.3, 1.4]])
def test_too_few_levels_of_load_give_no_law(levels):
    points = [LoadPoint(outstanding_io=n, iops=1000, latency_ms=n) for n in levels]

    assert fit_scalability(points) is None


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf])
def test_a_device_with_an_impossible_number_is_refused(value):
    with pytest.raises(ValueError, match=r"^peak_iops is "):
        Saturation(base_ms=1.0, peak_iops=value)
