"""Numbers and times read the same everywhere."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from web.formatting import (
    EN_DASH,
    MILLISECONDS,
    absolute_text,
    grouped,
    level_scale,
    rate_scale,
    rate_text,
    relative_text,
)

UNITS = ("iops", "bytes_per_s", "bits_per_s")
NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)

rates = st.floats(min_value=0.01, max_value=1e14, allow_nan=False)
units = st.sampled_from(UNITS)


def plain(text: str) -> float:
    return float(text.replace("\N{NARROW NO-BREAK SPACE}", ""))


@given(rates, units)
def test_number_in_its_scale_is_the_rate_to_three_digits(rate: float, unit: str) -> None:
    scale = rate_scale(unit, rate)

    shown = plain(scale.text(rate)) * scale.factor

    # Half of the third digit is at most 0.5 %.
    assert shown == pytest.approx(rate, rel=0.00501, abs=0.0051 * scale.factor)


@given(rates, units)
def test_number_in_its_scale_never_needs_a_larger_prefix(rate: float, unit: str) -> None:
    scale = rate_scale(unit, rate)

    assert plain(scale.text(rate)) < (1e6 if unit == "iops" and scale.factor == 1.0 else 1e3) or (
        rate >= 1e15 * 0.9995
    )


@given(units)
def test_missing_rate_is_an_en_dash(unit: str) -> None:
    assert rate_text(None, unit) == EN_DASH
    assert rate_scale(unit, None).with_unit(None) == EN_DASH


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (94e6, "bits_per_s", "94.0 Mbit/s"),
        (6.4e6, "bits_per_s", "6.40 Mbit/s"),
        (10e9, "bits_per_s", "10.0 Gbit/s"),
        (999.96e6, "bits_per_s", "1.00 Gbit/s"),
        (1500.0, "iops", "1500 IOPS"),
        (51.2e6, "bytes_per_s", "51.2 MB/s"),
        (0.0, "iops", "0 IOPS"),
    ],
)
def test_rate_reads_with_the_unit_that_fits(value: float, unit: str, text: str) -> None:
    assert rate_text(value, unit).replace("\N{NO-BREAK SPACE}", " ") == text


@pytest.mark.parametrize(
    ("scale", "value", "text"),
    [
        (MILLISECONDS, 38.04, "38.0 ms"),
        (MILLISECONDS, 0.4, "0.400 ms"),
        (level_scale("uplink"), 0.888, "88.8 %"),
    ],
)
def test_level_reads_in_the_unit_of_its_threshold(scale, value, text) -> None:  # type: ignore[no-untyped-def]
    assert scale.with_unit(value).replace("\N{NO-BREAK SPACE}", " ") == text


@pytest.mark.parametrize(
    ("rate", "largest", "unit", "text"),
    [
        (0.4, 10e9, "bits_per_s", "0 Gbit/s"),
        (0.6e6, 10e9, "bits_per_s", "0.001 Gbit/s"),
        (0.0436, 5000.0, "iops", "0.044 IOPS"),
        (-0.0001, 5000.0, "iops", "0 IOPS"),
    ],
)
def test_number_shows_no_dust_in_the_scale_of_its_column(
    rate: float, largest: float, unit: str, text: str
) -> None:
    shown = rate_scale(unit, largest).with_unit(rate)

    assert shown.replace("\N{NO-BREAK SPACE}", " ") == text


@pytest.mark.parametrize(
    ("rate", "text"),
    [(0.4, "0.400 bit/s"), (0.0436, "0.044 bit/s"), (4e-10, "0 bit/s"), (-4e-10, "0 bit/s")],
)
def test_rate_alone_shows_no_dust(rate: float, text: str) -> None:
    assert rate_text(rate, "bits_per_s").replace("\N{NO-BREAK SPACE}", " ") == text


@pytest.mark.parametrize(
    ("digits", "text"), [("1234", "1234"), ("12345", "12 345"), ("1234567.8", "1 234 567.8")]
)
def test_five_digits_and_more_are_grouped(digits: str, text: str) -> None:
    assert grouped(digits).replace("\N{NARROW NO-BREAK SPACE}", " ") == text


@given(st.integers(min_value=0, max_value=10**8))
def test_past_and_future_of_one_distance_read_alike(seconds: int) -> None:
    distance = timedelta(seconds=seconds)

    past, future = relative_text(NOW - distance, NOW), relative_text(NOW + distance, NOW)

    if seconds:
        assert past.removesuffix(" ago") == future.removeprefix("in ")
    else:
        assert past == future == "now"


def test_full_time_names_its_zone() -> None:
    assert absolute_text(NOW) == "2026-11-20 12:00:00 UTC"
