"""Counters and rates at the exact values where their rules change."""

import pytest

from ingest.core.grid import WRAP_32
from ingest.core.growth_columns import NoRateReason, growth_columns, no_rate_reasons
from ingest.core.rates import CONFLICT, INTERFACE, TCP
from tests.ingest.core.readings import NEVER, derive, every, rows_of

# The kernel's 32-bit counters may wrap; half of their range tells a wrap from a reset.
HALF_32 = 2**31


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
    # A 64-bit counter beside a 32-bit one.
    readings = every((10, before), (12, 0))

    [reason] = no_rate_reasons(*readings, longest_s=NEVER, wide=1)
    grown = rows_of(growth_columns(*readings, longest_s=NEVER, wide=1).growth)

    assert [reason or grown[0]] == [expected]


@pytest.mark.parametrize(
    ("longest_s", "reason"), [(10.0, None), (9.999, NoRateReason.GAP)], ids=["equal", "longer"]
)
def test_interval_of_the_longest_length_has_a_rate(
    longest_s: float, reason: NoRateReason | None
) -> None:
    assert no_rate_reasons(*every((1,), (2,)), longest_s=longest_s, wide=1) == [reason]


def test_conflict_rates_are_growth_by_second() -> None:
    # 10 s: 500 commands and 20 conflicts.
    [rates] = derive(CONFLICT, every((100, 7), (600, 27)))

    assert (rates.commands_per_s, rates.conflicts_per_s) == (50.0, 2.0)
    assert rates.seconds == 10.0


def test_tcp_rates_are_growth_by_second() -> None:
    [rates] = derive(TCP, every((100, 7), (600, 27)))

    assert (rates.segments_per_s, rates.retransmits_per_s) == (50.0, 2.0)


def test_network_rates_are_growth_by_second_and_bytes_are_eight_bits() -> None:
    # Sent and received bytes, packets each, drops in and out, errors in and out; in 10 s.
    [rates] = derive(INTERFACE, every((0,) * 8, (1000, 2000, 30, 40, 10, 20, 50, 70)))

    assert (rates.sent_bits_per_s, rates.received_bits_per_s) == (800.0, 1600.0)
    assert (rates.sent_packets_per_s, rates.received_packets_per_s) == (3.0, 4.0)
    # Dropped packets of both ways, those sent alone, errors of both ways.
    assert (rates.drops_per_s, rates.sent_drops_per_s, rates.errors_per_s) == (3.0, 2.0, 12.0)
