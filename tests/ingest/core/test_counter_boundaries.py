"""Counters and rates at the exact values where their rules change."""

from datetime import UTC, datetime, timedelta

import pytest
from ingest.core.counters import (
    WRAP_32,
    NoRate,
    NoRateReason,
    Reading,
    Step,
    steps,
)

from ingest.core.rates import (
    derive_conflict_rates,
    derive_net_rates,
    derive_tcp_rates,
)

START = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
# The kernel's 32-bit counters may wrap; half of their range tells a wrap from a reset.
HALF_32 = 2**31


def readings(*values: tuple[int, ...], every_s: float = 10.0) -> list[Reading]:
    return [
        Reading(at=START + timedelta(seconds=every_s * number), counters=counters)
        for number, counters in enumerate(values)
    ]


def growth(before: tuple[int, int], after: tuple[int, int]) -> tuple[int, ...] | NoRateReason:
    """Of a 64-bit counter beside a 32-bit one."""
    [step] = steps(readings(before, after), wide=1, longest_interval_s=900.0)
    return step.growth if isinstance(step, Step) else step.reason


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        # From 2^31 + 1 to 0 is 2^31 - 1 through the wrap: less than half of the range.
        (HALF_32 + 1, (2, HALF_32 - 1)),
        # From 2^31 to 0 is exactly half.
        (HALF_32, NoRateReason.RESET),
        # A counter beyond 2^32 is 64 bits wide, so a wrap cannot explain that it went down.
        (WRAP_32, NoRateReason.RESET),
        (WRAP_32 - 1, (2, 1)),
    ],
)
def test_counter_that_went_down_wrapped_if_it_grew_by_less_than_half_its_range(
    before: int, expected: tuple[int, ...] | NoRateReason
) -> None:
    assert growth((10, before), (12, 0)) == expected


@pytest.mark.parametrize(
    ("longest_interval_s", "is_gap"), [(10.0, False), (9.999, True)], ids=["equal", "longer"]
)
def test_interval_of_the_longest_length_has_a_rate(
    longest_interval_s: float, is_gap: bool
) -> None:
    [step] = steps(readings((1,), (2,)), wide=1, longest_interval_s=longest_interval_s)

    assert isinstance(step, NoRate) is is_gap


def test_conflict_rates_are_growth_by_second() -> None:
    # 10 s: 500 commands and 20 conflicts.
    derived = derive_conflict_rates(readings((100, 7), (600, 27)), longest_interval_s=900.0)

    [rates] = derived.rates
    assert (rates.commands_per_s, rates.conflicts_per_s) == (50.0, 2.0)
    assert (rates.at, rates.seconds) == (START + timedelta(seconds=10), 10.0)


def test_tcp_rates_are_growth_by_second() -> None:
    derived = derive_tcp_rates(readings((100, 7), (600, 27)), longest_interval_s=900.0)

    [rates] = derived.rates
    assert (rates.segments_per_s, rates.retransmits_per_s) == (50.0, 2.0)


def test_network_rates_are_growth_by_second_and_bytes_are_eight_bits() -> None:
    # Sent and received bytes, packets each, drops in and out, errors in and out; in 10 s.
    grown = (1000, 2000, 30, 40, 10, 20, 50, 70)
    derived = derive_net_rates(readings((0,) * 8, grown), longest_interval_s=900.0)

    [rates] = derived.rates
    assert (rates.sent_bits_per_s, rates.received_bits_per_s) == (800.0, 1600.0)
    assert (rates.sent_packets_per_s, rates.received_packets_per_s) == (3.0, 4.0)
    # Dropped packets of both ways, those sent alone, errors of both ways.
    assert (rates.drops_per_s, rates.sent_drops_per_s, rates.errors_per_s) == (3.0, 2.0, 12.0)
