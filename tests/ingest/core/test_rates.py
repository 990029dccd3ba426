from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.core.rates import DISK, INTERFACE, TCP, DiskRates, NetRates, TcpRates
from tests.ingest.core.readings import at, columns, derive, every

UNSENT = (None,)
"""The gauge of I/Os in flight that a collector does not send."""

COUNTS = st.integers(0, 10**9)


@given(
    st.lists(st.tuples(st.integers(1, 10**7), *[COUNTS] * 8), min_size=1, max_size=12),
)
def test_disk_rates_times_seconds_are_the_growth_of_the_counters(
    grown: list[tuple[int, ...]],
) -> None:
    readings = [(0.0, (0,) * 8)]
    for microseconds, *more in grown:
        last_s, last = readings[-1]
        total = tuple(a + b for a, b in zip(last, more, strict=True))
        readings.append((last_s + microseconds / 1e6, total))

    rates = derive(DISK, columns(*((s, counters + UNSENT) for s, counters in readings)))

    _, last = readings[-1]
    assert sum(r.read_iops * r.seconds for r in rates) == pytest.approx(last[0])
    assert sum(r.write_iops * r.seconds for r in rates) == pytest.approx(last[1])
    assert sum(r.read_bytes_per_s * r.seconds for r in rates) == pytest.approx(last[2])
    assert sum(r.write_bytes_per_s * r.seconds for r in rates) == pytest.approx(last[3])
    assert sum(r.outstanding_io * r.seconds * 1000 for r in rates) == pytest.approx(last[7])
    assert all(0 <= r.utilisation_ratio <= 1 for r in rates)
    assert [r.latency_ms is None for r in rates] == [more[1] + more[2] == 0 for more in grown]


def test_disk_rates_of_ten_seconds() -> None:
    # 300 reads of 4 KiB took 600 ms, 100 writes of 16 KiB took 1000 ms: 1600 ms / 400 = 4 ms;
    # 4000 ms busy of 10 s; 1600 ms of waiting / 10 s = 0.16 in flight on average.
    before = (1000, 500, 8_192_000, 4_096_000, 7000, 3000, 20_000, 30_000)
    after = (1300, 600, 9_420_800, 5_734_400, 7600, 4000, 24_000, 31_600)

    assert derive(DISK, every(before + UNSENT, after + UNSENT)) == [
        DiskRates(
            at=at(10),
            seconds=10,
            read_iops=30,
            write_iops=10,
            read_bytes_per_s=122_880,
            write_bytes_per_s=163_840,
            latency_ms=4,
            # (1,228,800 + 1,638,400) bytes / 400
            mean_io_bytes=7168,
            outstanding_io=0.16,
            utilisation_ratio=0.4,
        )
    ]


def test_idle_disk_has_no_latency_and_no_size() -> None:
    rates = derive(DISK, every((5,) * 8 + UNSENT, (5,) * 8 + UNSENT))

    assert [(r.read_iops, r.latency_ms, r.mean_io_bytes) for r in rates] == [(0, None, None)]


# Nothing completed: kernels count the time of an I/O when it ends, so the counters stand still.
STANDING = (300, 100, 4096, 4096, 900, 500, 1400, 1400)


@pytest.mark.parametrize(
    ("busy_ms", "in_flight", "outstanding_io", "utilisation_ratio"),
    [
        # In flight at both ends and none ended: they were in flight all the time. (47 + 63) / 2.
        (0, (47, 63), 55.0, 1.0),
        # Only the newer kernels count the time of what is still in flight: 10 s of 10 s.
        (10_000, (None, None), 0.0, 1.0),
        # One may have come a moment before the sample.
        (0, (0, 1), 0.0, 0.0),
        (0, (0, 0), 0.0, 0.0),
        (0, (None, None), 0.0, 0.0),
    ],
    ids=["both ends", "counted as busy", "just begun", "idle", "an old collector"],
)
def test_what_is_in_flight_at_both_ends_was_so_all_the_time(
    busy_ms: int,
    in_flight: tuple[int | None, int | None],
    outstanding_io: float,
    utilisation_ratio: float,
) -> None:
    grown = (*STANDING[:6], STANDING[6] + busy_ms, STANDING[7])
    before, after = in_flight

    (rates,) = derive(DISK, every((*STANDING, before), (*grown, after)))

    assert rates.latency_ms is None
    assert rates.outstanding_io == outstanding_io
    assert rates.utilisation_ratio == utilisation_ratio


def test_what_is_in_flight_says_nothing_where_i_o_completes() -> None:
    # One more read: 63 in flight may all be new.
    (rates,) = derive(DISK, every((*STANDING, 63), (301, *STANDING[1:], 63)))

    assert (rates.outstanding_io, rates.utilisation_ratio) == (0.0, 0.0)


def test_what_is_in_flight_is_that_of_the_ends_of_each_interval() -> None:
    # The host starts again between 10 s and 20 s, so the second interval is none.
    started = (1,) * 8
    readings = every((*STANDING, 2), (*STANDING, 4), (*started, 6), (*started, 10))

    # The mean of 2 and 4, and that of 6 and 10.
    assert [(r.at, r.outstanding_io) for r in derive(DISK, readings)] == [(at(10), 3), (at(30), 8)]


def test_restarted_host_has_no_rate_until_it_counted_twice() -> None:
    rates = derive(DISK, every((900,) * 8 + UNSENT, (5,) * 8 + UNSENT, (25,) * 8 + UNSENT))

    assert [(r.at, r.read_iops) for r in rates] == [(at(20), 2)]


def test_net_rates_of_ten_seconds() -> None:
    before = (1_000, 2_000, 10, 20, 0, 1, 2, 3)
    # 12.5 MB sent = 100 Mbit in 10 s; 1.25 MB received = 10 Mbit
    after = (12_501_000, 1_252_000, 8_343, 1_020, 10, 21, 5, 4)

    assert derive(INTERFACE, every(before, after)) == [
        NetRates(
            at=at(10),
            seconds=10,
            sent_bits_per_s=10_000_000,
            received_bits_per_s=1_000_000,
            sent_packets_per_s=833.3,
            received_packets_per_s=100,
            drops_per_s=3,
            sent_drops_per_s=2,
            errors_per_s=0.4,
        )
    ]


def test_tcp_rates_of_ten_seconds() -> None:
    # 2000 segments and 20 of them again
    assert derive(TCP, every((1000, 7), (3000, 27))) == [
        TcpRates(at=at(10), seconds=10, segments_per_s=200, retransmits_per_s=2)
    ]
