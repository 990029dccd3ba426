"""The numbers of an HTB tree."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcers.mechanisms.tc_htb import sizing
from enforcers.mechanisms.tc_htb.sizing import Guarantee, Packets
from enforcers.mechanisms.tc_htb.tc_text import parse_rate_bits_per_s
from tests.enforcers.fake_tc import shown_rate

FRAMES = Packets(frame_bytes=1518, largest_bytes=1518)
OFFLOAD = Packets(frame_bytes=1518, largest_bytes=65554)

rates = st.floats(min_value=8000, max_value=4e11)


@given(rates)
def test_shown_rate_is_read_back_exactly(rate: float) -> None:
    shown = sizing.shown_rate_bits_per_s(rate)

    assert parse_rate_bits_per_s(shown_rate(shown)) == shown


@given(rates)
def test_shown_rate_is_never_above_and_at_most_a_thousandth_below(rate: float) -> None:
    shown = sizing.shown_rate_bits_per_s(rate)

    # 8 bit/s more for whole bytes.
    assert rate - rate / 1000 - 8 <= shown <= rate


@pytest.mark.parametrize(
    ("rate", "shown"),
    [
        (80_612_345.9, 80_612_000),
        (1_234_567_000, 1_234_000_000),
        (999_999, 999_992),
        (75e6, 75_000_000),
    ],
)
def test_shown_rate_of_examples(rate: float, shown: int) -> None:
    assert sizing.shown_rate_bits_per_s(rate) == shown


@pytest.mark.parametrize(
    ("capacity", "host_rate"),
    [
        (1e6, 100_000),  # 10 %
        (94e6, 9_400_000),  # 10 %
        (100e6, 10_000_000),  # both
        (150e6, 10_000_000),  # 10 Mbit/s lie between 5 % and 10 %
        (1e9, 50_000_000),  # 5 %
        (50_000, 8_000),  # HTB's minimum is more than 10 %
    ],
)
def test_host_has_a_part_of_the_link(capacity: float, host_rate: int) -> None:
    assert sizing.host_rate_bits_per_s(capacity) == host_rate


def guarantees(**parts: tuple[float, float]) -> dict[str, Guarantee]:
    """By name: what is reserved, and what is entitled."""
    return {
        name: Guarantee(reservation=reservation, entitlement=entitlement)
        for name, (reservation, entitlement) in parts.items()
    }


amounts = st.floats(min_value=0, max_value=1e9)


@given(st.lists(st.tuples(amounts, amounts), max_size=20), st.floats(1.0, 3.0))
def test_fitted_rates_fit_the_room_and_keep_every_reservation(
    wanted: list[tuple[float, float]], headroom: float
) -> None:
    least = [max(reservation, 8000.0) for reservation, _ in wanted]
    room = sum(least) * headroom

    fitted = sizing.fit_rates(guarantees(**{f"n{i}": pair for i, pair in enumerate(wanted)}), room)

    assert sum(fitted.values()) <= room * (1 + 1e-9)
    # A rate is cut to what tc shows, by a thousandth and to whole bytes.
    assert all(
        rate >= own * (1 - 1e-3) - 8 for rate, own in zip(fitted.values(), least, strict=True)
    )


def test_fitted_rates_are_as_wanted_where_there_is_room() -> None:
    fitted = sizing.fit_rates(guarantees(a=(75e6, 0.0), b=(0.0, 0.0), c=(1e6, 5e6)), 84.6e6)

    assert fitted == {"a": 75_000_000, "b": 8000, "c": 5_000_000}


def test_room_that_is_full_raises_no_rate_by_a_bit() -> None:
    # 8007.5 bit/s are shown as 8000, whole bytes; a bit more would be 8008.
    assert sizing.fit_rates(guarantees(a=(8007.5, 9000.0)), 8007.5) == {"a": 8000}


def test_reservations_that_fill_the_room_give_way_to_the_minima() -> None:
    fitted = sizing.fit_rates(guarantees(a=(90e6, 0.0), b=(10e6, 0.0), c=(0.0, 0.0)), 100e6)

    # Three classes of 8 kbit/s leave 99.976 of 99.984 Mbit/s above the minima:
    # 8000 + 89.992e6 * 99.976/99.984 = 89,992,799; shown with five digits: 89,992,000.
    assert fitted == {"a": 89_992_000, "b": 9_999_000, "c": 8000}


@pytest.mark.parametrize(
    ("rate", "packets", "burst_bytes"),
    [
        (8000, FRAMES, 1518),
        (75e6, OFFLOAD, 10926),  # a sixth of 65554
        (7.5e9, OFFLOAD, 93750),  # what 0.1 ms bring
    ],
    ids=["one frame", "a sixth of the largest packet", "timer slack"],
)
def test_leaf_burst_is_the_largest_of_its_reasons(
    rate: float, packets: Packets, burst_bytes: int
) -> None:
    assert sizing.leaf_burst_bytes(rate, packets) == burst_bytes


@pytest.mark.parametrize(
    ("ceil", "burst_bytes"),
    [(94e6, 65554), (1e9, 250_000)],
    ids=["largest packet", "what 2 ms bring"],
)
def test_ceil_burst_is_the_larger_of_its_reasons(ceil: float, burst_bytes: int) -> None:
    assert sizing.ceil_burst_bytes(ceil, OFFLOAD) == burst_bytes


@pytest.mark.parametrize(
    ("round_s", "burst_bytes"),
    [
        (0.0167, 83_500),  # two rounds of 16.7 ms at 20 Mbit/s
        (0.001, 65_554),  # one largest packet is more
        (5.0, 625_000),  # at most what a quarter of a second brings
    ],
    ids=["two rounds", "largest packet", "quarter of a second"],
)
def test_limited_class_may_save_what_comes_while_it_waits(
    round_s: float, burst_bytes: int
) -> None:
    assert sizing.ceil_burst_bytes(20e6, OFFLOAD, round_s=round_s) == burst_bytes


@pytest.mark.parametrize(
    ("capacity", "shares", "packets", "quantum_bytes"),
    [
        (94e6, [100, 100], FRAMES, 9108),  # six frames
        (94e6, [100, 100], OFFLOAD, 65556),  # six bursts of 10926
        (94e6, [100, 10_000], OFFLOAD, 65556),  # round of 101 shares in a second: 116,336
        (10e6, [100, 10_000], OFFLOAD, 12376),  # round of 101 shares in a second
        (1e6, [100, 10_000], OFFLOAD, 9108),  # but never below six frames
    ],
    ids=["frames", "offload", "far apart", "far apart on a slow link", "slowest link"],
)
def test_base_quantum_covers_packets_and_keeps_rounds_short(
    capacity: float, shares: list[int], packets: Packets, quantum_bytes: int
) -> None:
    burst_bytes = sizing.leaf_burst_bytes(8000, packets)

    assert sizing.base_quantum_bytes(capacity, shares, burst_bytes, packets) == quantum_bytes


@given(st.integers(1, 1_000_000), st.integers(1, 1_000_000), st.integers(1500, 100_000))
def test_quantum_is_proportional_to_shares_up_to_the_kernels_limit(
    shares: int, smallest: int, base_bytes: int
) -> None:
    quantum = sizing.quantum_bytes(base_bytes, shares, min(shares, smallest))

    assert quantum == min(round(base_bytes * shares / min(shares, smallest)), 2**30)
