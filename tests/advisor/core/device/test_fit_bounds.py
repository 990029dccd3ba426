"""Which windows of a device are enough for a fit, at the exact value of each rule."""

from collections.abc import Sequence

import numpy as np
import pytest

from advisor.core.device import device_fit
from advisor.core.device.device_fit import DeviceFit, FitRefused, LoadPoint, fit_device
from advisor.core.device.device_model import MixPoint, fit_device_model
from advisor.core.device.queueing import (
    Saturation,
    Scalability,
    fit_scalability,
    little_latency_ms,
    saturation_of,
)

DEPTHS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)


def line(depths: Sequence[float], *, error: float = 0.0) -> list[LoadPoint]:
    """Windows of 3 + 0.5 · depth ms, whose rate is off by this fraction of Little's law."""
    return [
        LoadPoint(
            outstanding_io=depth,
            latency_ms=3.0 + 0.5 * depth,
            iops=1000 * depth / (3.0 + 0.5 * depth) * (1 + error),
        )
        for depth in depths
    ]


def reason(points: Sequence[LoadPoint]) -> str:
    found = fit_device(points)
    return found.reason if isinstance(found, FitRefused) else ""


def fitted(points: Sequence[LoadPoint]) -> DeviceFit:
    found = fit_device(points)
    assert isinstance(found, DeviceFit)
    return found


def test_three_depths_over_four_times_are_enough() -> None:
    assert reason(line([2.0, 4.0, 8.0])) == ""
    assert reason(line([2.0, 4.0, 7.9])) == (
        "3 depths from 2 to 7.9 outstanding I/Os; 3 over a span of 4 times are needed"
    )
    assert reason(line([2.0, 8.0])).startswith("2 depths from 2 to 8")
    assert reason(line([2.0])).startswith("1 depth from 2 to 2")


@pytest.mark.parametrize(
    ("depth", "found"),
    # A quarter octave around 16 ends at 16 · 2^(1/8) = 17.45.
    [(17.4, "1 depth from 16.7 to 16.7"), (17.5, "2 depths from 16 to 17.5")],
)
def test_depths_within_a_quarter_octave_are_one(depth: float, found: str) -> None:
    assert reason(line([16.0, depth])).startswith(found)


@pytest.mark.parametrize(("error", "is_refused"), [(0.099, False), (0.101, True)])
@pytest.mark.parametrize("sign", [1, -1], ids=["more", "less"])
def test_window_may_break_littles_law_by_a_tenth(
    error: float, is_refused: bool, sign: int
) -> None:
    assert bool(reason(line(DEPTHS, error=sign * error))) is is_refused


def test_half_of_the_windows_must_obey_littles_law() -> None:
    good, bad = line(DEPTHS), line(DEPTHS, error=1.0)

    assert fitted(good + bad).point_count == 6
    assert reason(good + bad + bad[:1]) == "7 of 13 windows break N = X·R"


def test_depth_in_three_windows_counts_and_in_two_does_not() -> None:
    # Two depths in ten windows each and a third in three, or in two.
    two = line([1.0] * 10 + [64.0] * 10)

    assert reason(two + line([8.0] * 3)) == ""
    assert reason(two + line([8.0] * 2)).startswith("2 depths")


def test_depths_a_quarter_of_an_octave_apart_are_two() -> None:
    # 4 · 2^(1/4) = 4.757; with 1.06 times they fall together.
    assert reason(line([4.0, 4.757, 16.0])) == ""
    assert reason(line([4.0, 4.24, 16.0, 16.0])).startswith("2 depths")


def test_fit_is_refused_below_four_fifths_of_what_varies() -> None:
    # Latencies 1, 2 + e, 3, 4 + e ... over depths 1 to 6 octaves are no line at all.
    def bent(strength: float) -> list[LoadPoint]:
        return [
            LoadPoint(
                outstanding_io=depth,
                latency_ms=(latency := 10.0 + depth + strength * (-1) ** place),
                iops=1000 * depth / latency,
            )
            for place, depth in enumerate((4.0, 8.0, 12.0, 16.0, 20.0, 24.0))
        ]

    weak, strong = fit_device(bent(2.0)), fit_device(bent(6.0))

    assert isinstance(weak, DeviceFit)
    assert 0.8 <= weak.r_squared < 1
    assert isinstance(strong, FitRefused)
    assert "of the latency; 80% are needed" in strong.reason


def test_fit_tells_how_much_of_the_latency_it_explains() -> None:
    # Over depths 4, 8, 16 the latencies 10, 11, 16 have slopes 0.25, 0.5 and 0.625 between them:
    # 0.5 is the median, and 8, 7, 8 the intercepts: 8 + 0.5 · depth is 10, 12, 16.
    # Off by 1 in all, of a spread of (7/3)² + (4/3)² + (11/3)² = 186/9.
    points = [
        LoadPoint(outstanding_io=depth, latency_ms=ms, iops=1000 * depth / ms)
        for depth, ms in ((4.0, 10.0), (8.0, 11.0), (16.0, 16.0))
    ]

    fit = fitted(points)

    assert (fit.slope_ms, fit.intercept_ms) == (0.5, 8.0)
    assert fit.r_squared == pytest.approx(1 - 9 / 186)
    assert fit.peak_iops == 2000.0


def test_line_that_does_not_rise_from_a_positive_base_is_refused() -> None:
    def points(*latencies: float) -> list[LoadPoint]:
        return [
            LoadPoint(outstanding_io=depth, latency_ms=ms, iops=1000 * depth / ms)
            for depth, ms in zip((2.0, 4.0, 8.0), latencies, strict=True)
        ]

    flat, from_nothing, rising = points(5, 5, 5), points(2, 4, 8), points(3, 5, 9)

    assert "does not rise" in reason(flat)
    assert "from a positive base" in reason(from_nothing)
    assert reason(rising) == ""


def test_peak_is_the_highest_seen_where_that_is_more_than_the_line_allows() -> None:
    fit = DeviceFit(intercept_ms=3.0, slope_ms=0.5, r_squared=1.0, peak_iops=4000.0, point_count=9)

    # 0.5 ms · 0.4 · 4000 / s is 0.8 busy; at a half of 4000 the line has no latency.
    assert fit.latency_at_part_of_peak_ms(0.4) == pytest.approx(15.0)
    assert fit.latency_at_part_of_peak_ms(0.5) is None


def mix_points(count: int, *, deepest: float = 8.0, error: float = 0.0) -> list[MixPoint]:
    """2 ms + 0.5 ms per I/O outstanding, every other window off by this fraction either way."""
    rng = np.random.default_rng(1)
    return [
        MixPoint(
            outstanding_io=(depth := 2.0 + (deepest - 2.0) * place / (count - 1)),
            latency_ms=(2.0 + 0.5 * depth) * (1 + error * (-1) ** (place // 2)),
            mean_io_bytes=float(rng.choice([4000.0, 8000.0, 64_000.0])),
            read_ratio=float(rng.uniform(0, 1)),
        )
        for place in range(count)
    ]


@pytest.mark.parametrize(
    ("points", "refused"),
    [
        (mix_points(40), ""),
        (mix_points(39), "39 windows; 40 are needed"),
        (mix_points(40, deepest=7.9), "2 to 7.9 outstanding I/Os; a span of 4 times is needed"),
        (mix_points(80, error=0.2), ""),
        (mix_points(80, error=0.35), "in the middle; 25% are allowed"),
    ],
    ids=["enough", "few", "narrow", "noisy", "too noisy"],
)
def test_device_model_needs_forty_windows_over_four_times_of_depth(
    points: list[MixPoint], refused: str
) -> None:
    found = fit_device_model(points)

    text = found.reason if isinstance(found, FitRefused) else ""
    assert (text == "") is (refused == "")
    assert refused in text


def test_saturation_ignores_the_slowest_and_the_most_unusual_windows() -> None:
    # Latencies of 0 to 100 and rates likewise: the 5th and the 99th percentile.
    points = [
        LoadPoint(outstanding_io=1.0, latency_ms=1.0 + number, iops=1.0 + number)
        for number in range(101)
    ]

    assert saturation_of(points) == Saturation(base_ms=6.0, peak_iops=100.0)
    assert saturation_of([]) is None


def test_little_counts_in_milliseconds() -> None:
    assert little_latency_ms(8.0, 4000.0) == 2.0


def test_throughput_of_a_law_by_hand() -> None:
    law = Scalability(first_iops=100.0, contention=0.1, crosstalk=0.01)

    # 100 · 5 / (1 + 0.1 · 4 + 0.01 · 5 · 4); below one in proportion.
    assert law.iops(5.0) == pytest.approx(500 / 1.6)
    assert (law.iops(0.5), law.iops(1.0), law.iops(0.0)) == (50.0, 100.0, 0.0)
    assert law.best_outstanding_io == pytest.approx(90**0.5)
    never = Scalability(first_iops=100.0, contention=0.1, crosstalk=0.0)
    assert never.best_outstanding_io is None


@pytest.mark.parametrize(
    ("levels", "is_fitted"),
    [((1, 2, 4, 8), True), ((1, 2, 4), False), ((2, 3, 6, 12), True), ((1, 1.5, 3, 5.9), True)],
)
def test_law_needs_four_levels(levels: Sequence[float], is_fitted: bool) -> None:
    law = Scalability(first_iops=100.0, contention=0.1, crosstalk=0.01)
    points = [
        LoadPoint(outstanding_io=n, iops=law.iops(n), latency_ms=1000 * n / law.iops(n))
        for n in levels
    ]

    assert (fit_scalability(points) is not None) is is_fitted


def test_line_may_explain_just_as_much_of_the_latency_as_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    points = line(DEPTHS)
    points[2] = LoadPoint(outstanding_io=4.0, latency_ms=6.0, iops=4000 / 6)
    explained = fitted(points).r_squared
    assert explained < 1

    monkeypatch.setattr(device_fit, "ENOUGH_R_SQUARED", explained)
    assert reason(points) == ""

    monkeypatch.setattr(device_fit, "ENOUGH_R_SQUARED", np.nextafter(explained, 1.0))
    assert reason(points).startswith("the line explains")


def test_slope_is_the_median_over_all_pairs_of_depths() -> None:
    points = [
        LoadPoint(outstanding_io=depth, latency_ms=ms, iops=1000 * depth / ms)
        for depth, ms in ((2.0, 4.0), (4.0, 5.0), (8.0, 6.8), (16.0, 12.0))
    ]

    fit = fitted(points)

    # Slopes are 0.45, 0.467, 0.5, 8/14, 0.583 and 0.65; latencies less it 2.93, 2.86, 2.51, 3.43.
    slope = (0.5 + 8 / 14) / 2
    assert fit.slope_ms == pytest.approx(slope)
    assert fit.intercept_ms == pytest.approx((4 - 2 * slope + 5 - 4 * slope) / 2)
