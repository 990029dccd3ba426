"""The device model: it finds its own factors again, never falls, and refuses what is too thin."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.core import canonical
from advisor.core.device.device_fit import FitRefused
from advisor.core.device.device_model import DeviceModel, MixPoint, fit_device_model

factors = st.lists(st.floats(0.01, 1), min_size=4, max_size=4).map(tuple)
models = st.builds(
    DeviceModel,
    intercept=factors,
    slope=factors,
    error_ratio=st.just(0.0),
    point_count=st.just(0),
)
KIB = 1024.0


def windows(model, *, count=80, seed=1, noise=0.0, depths=(1, 200)):
    """Windows of random mixes whose latency follows a model."""
    rng = np.random.default_rng(seed)
    low, high = np.log(depths)
    points = []
    for _ in range(count):
        depth = float(np.exp(rng.uniform(low, high)))
        mix = {
            "mean_io_bytes": float(rng.choice([4, 8, 16, 64, 128]) * KIB),
            "read_ratio": float(rng.uniform(0, 1)),
        }
        latency = model.latency_ms(depth, **mix) * float(rng.lognormal(0, noise))
        points.append(MixPoint(outstanding_io=depth, latency_ms=latency, **mix))
    return points


@given(models, st.floats(4 * KIB, 256 * KIB), st.floats(0, 1), st.floats(1, 200))
def test_a_model_is_found_again_from_its_own_windows(model, size, reads, depth):
    found = fit_device_model(windows(model))

    mix = {"mean_io_bytes": size, "read_ratio": reads}
    assert found.latency_ms(depth, **mix) == pytest.approx(
        model.latency_ms(depth, **mix), rel=1e-4
    )


@given(models, st.integers(0, 50), st.floats(0, 1))
def test_more_and_larger_ios_are_never_quicker(model, seed, reads):
    found = fit_device_model(windows(model, noise=0.2, seed=seed))

    one = found.latency_ms(8, mean_io_bytes=8 * KIB, read_ratio=reads)
    assert one <= found.latency_ms(9, mean_io_bytes=8 * KIB, read_ratio=reads)
    assert one <= found.latency_ms(8, mean_io_bytes=64 * KIB, read_ratio=reads)


@given(st.randoms(use_true_random=False))
def test_the_order_of_windows_does_not_matter(random):
    points = windows(fitted(), noise=0.1)
    shuffled = list(points)
    random.shuffle(shuffled)

    one, other = fit_device_model(points), fit_device_model(shuffled)

    assert one.slope == pytest.approx(other.slope, rel=1e-6, abs=1e-9)


def fitted():
    return DeviceModel(
        intercept=(0.2, 0.1, 0.3, 0.05),
        slope=(0.02, 0.01, 0.04, 0.01),
        error_ratio=0,
        point_count=0,
    )


def test_the_line_of_a_mix_is_its_factors_added_up():
    # 16 000 bytes are two units; three quarters are reads.
    line = fitted().line_at(mean_io_bytes=16_000, read_ratio=0.75)

    assert line.intercept_ms == pytest.approx(0.75 * (0.2 + 2 * 0.1) + 0.25 * (0.3 + 2 * 0.05))
    assert line.slope_ms == pytest.approx(0.75 * (0.02 + 2 * 0.01) + 0.25 * (0.04 + 2 * 0.01))


def test_writes_may_be_quicker_than_reads():
    # A write cache answers at once; the disks behind it still have their price.
    cached = DeviceModel(
        intercept=(4.0, 0.1, 0.2, 0.01), slope=(0.1, 0.0, 0.01, 0.0), error_ratio=0, point_count=0
    )

    found = fit_device_model(windows(cached))

    reads, writes = (found.latency_ms(8, mean_io_bytes=8 * KIB, read_ratio=r) for r in (1, 0))
    assert writes < reads / 5


def test_a_mix_that_was_not_seen_is_predicted_from_those_that_were():
    # Fitted on I/Os of 4 to 16 KiB only.
    small = [one for one in windows(fitted(), count=200) if one.mean_io_bytes <= 16 * KIB]

    found = fit_device_model(small)

    mix = {"mean_io_bytes": 256 * KIB, "read_ratio": 0.5}
    assert found.latency_ms(32, **mix) == pytest.approx(fitted().latency_ms(32, **mix), rel=0.01)


def test_a_model_survives_being_stored():
    found = fit_device_model(windows(fitted()))

    assert canonical.loads(DeviceModel, canonical.dumps(found)) == found


@pytest.mark.parametrize(
    ("points", "reason"),
    [
        (windows(fitted(), count=39), "39 windows; 40 are needed"),
        (windows(fitted(), depths=(8, 16)), "a span of 4 times is needed"),
        (windows(fitted(), noise=1.5), "25% are allowed"),
    ],
    ids=["few windows", "one depth", "noise"],
)
def test_windows_that_say_too_little_are_refused(points, reason):
    result = fit_device_model(points)

    assert isinstance(result, FitRefused)
    assert reason in result.reason


@pytest.mark.parametrize("value", [math.nan, math.inf, 0.0, -1.0])
@pytest.mark.parametrize("field", ["outstanding_io", "latency_ms", "mean_io_bytes"])
def test_an_impossible_number_is_refused_with_its_field(field, value):
    fields = {"outstanding_io": 1.0, "latency_ms": 1.0, "mean_io_bytes": 1.0, "read_ratio": 0.5}

    with pytest.raises(ValueError, match=rf"^{field} is "):
        MixPoint(**(fields | {field: value}))
