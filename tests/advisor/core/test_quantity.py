"""Rates are read as people write them and shown with three digits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.core.quantity import (
    QuantityError,
    format_rate,
    parse_rate,
    significant,
    written_rate,
)


@given(st.floats(min_value=1, max_value=1e15), st.sampled_from(["bits_per_s", "bytes_per_s"]))
def test_shown_rate_reads_back_within_its_three_digits(value: float, unit: str) -> None:
    shown = format_rate(value, unit)

    assert parse_rate(shown.replace(" ", "", 1), unit) == pytest.approx(value, rel=0.0051)


@given(
    st.floats(min_value=0, max_value=1e15).filter(lambda value: value == 0 or value >= 1e-6),
    st.sampled_from(["bits_per_s", "bytes_per_s", "iops"]),
)
def test_rate_in_a_field_reads_back_as_it_was(value: float, unit: str) -> None:
    assert parse_rate(written_rate(value, unit), unit) == pytest.approx(value, rel=1e-12)


@given(st.integers(min_value=1, max_value=10**15))
def test_whole_rate_in_a_field_reads_back_exactly(value: int) -> None:
    assert parse_rate(written_rate(float(value), "bits_per_s"), "bits_per_s") == value


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (94e6, "bits_per_s", "94Mbit"),
        (1.5e9, "bits_per_s", "1.5Gbit"),
        (20e6, "bytes_per_s", "20MB"),
        (2500.0, "iops", "2500"),
        (0.0, "iops", "0"),
        (None, "iops", ""),
    ],
)
def test_rate_is_written_into_a_field_as_people_do(
    value: float | None, unit: str, text: str
) -> None:
    assert written_rate(value, unit) == text


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("94Mbit", "bits_per_s", 94e6),
        ("94 mbit/s", "bits_per_s", 94e6),
        ("1.5Gbps", "bits_per_s", 1.5e9),
        ("20MB", "bytes_per_s", 20e6),
        ("500", "iops", 500.0),
        ("2k", "iops", 2000.0),
        ("500 IOPS", "iops", 500.0),
    ],
)
def test_rate_is_read_as_written(text: str, unit: str, value: float) -> None:
    assert parse_rate(text, unit) == value


@pytest.mark.parametrize(
    "text", ["", "fast", "-5", "nan", "inf", "1e999", "94Mparsec", "20MBit/day", "5 5"]
)
def test_what_is_no_rate_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(QuantityError, match="write it like 94Mbit"):
        parse_rate(text, "bits_per_s")


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (94e6, "bits_per_s", "94.0 Mbit/s"),
        (6_333_333, "bits_per_s", "6.33 Mbit/s"),
        (999_600, "bits_per_s", "1.00 Mbit/s"),
        (1624, "iops", "1624 IOPS"),
        (0.0, "iops", "0 IOPS"),
        (None, "iops", "\N{EN DASH}"),
    ],
)
def test_rate_is_shown_with_three_significant_digits(
    value: float | None, unit: str, text: str
) -> None:
    assert format_rate(value, unit) == text


def test_small_number_keeps_three_significant_digits() -> None:
    assert significant(0.012345) == "0.0123"
