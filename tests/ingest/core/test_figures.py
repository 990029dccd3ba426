"""What counters on a grid say, by numbers worked out by hand."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.core.figures import CGROUP_IO, CONFLICT, DISK, INTERFACE, PRESSURE, TCP
from ingest.core.grid import Floats
from tests.ingest.core.readings import every

UNSENT = (None,)
"""The gauge of I/Os in flight that a collector does not send."""
COUNTS = st.integers(0, 10**9)


def window(figures: Any, place: int = 0) -> dict[str, float | None]:
    """All columns of one window, None where unknown."""
    values = {field.name: getattr(figures, field.name)[place, 0] for field in fields(figures)}
    return {name: None if np.isnan(value) else value for name, value in values.items()}


def column(values: Floats) -> list[float | None]:
    return [None if np.isnan(value) else value for value in values[:, 0].tolist()]


@given(st.lists(st.tuples(*[COUNTS] * 8), min_size=1, max_size=12))
def test_disk_rates_times_seconds_are_the_growth_of_the_counters(
    grown: list[tuple[int, ...]],
) -> None:
    # From 1 on: a counter that has never counted may stand still at a reset.
    totals = np.cumsum([(1,) * 8, *grown], axis=0)

    found = every(DISK, *((*row, None) for row in totals.tolist()))

    last = totals[-1] - 1
    assert (found.read_iops * found.seconds).sum() == pytest.approx(last[0])
    assert (found.write_iops * found.seconds).sum() == pytest.approx(last[1])
    assert (found.read_bytes_per_s * found.seconds).sum() == pytest.approx(last[2])
    assert (found.write_bytes_per_s * found.seconds).sum() == pytest.approx(last[3])
    # A device that does not count those in flight has as many as its transfers took time.
    in_flight = [more[7] or more[4] + more[5] for more in grown]
    assert (found.outstanding_io * found.seconds * 1000).sum() == pytest.approx(sum(in_flight))
    assert ((found.utilisation_ratio >= 0) & (found.utilisation_ratio <= 1)).all()
    idle = [more[0] + more[1] == 0 for more in grown]
    assert np.isnan(found.latency_ms[:, 0]).tolist() == idle


def test_disk_figures_of_ten_seconds() -> None:
    # 300 reads of 4 KiB took 600 ms, 100 writes of 16 KiB took 1000 ms: 1600 ms / 400 = 4 ms;
    # 4000 ms busy of 10 s; 1600 ms of waiting / 10 s = 0.16 in flight on average.
    before = (1000, 500, 8_192_000, 4_096_000, 7000, 3000, 20_000, 30_000)
    after = (1300, 600, 9_420_800, 5_734_400, 7600, 4000, 24_000, 31_600)

    assert window(every(DISK, before + UNSENT, after + UNSENT)) == {
        "seconds": 10,
        "read_iops": 30,
        "write_iops": 10,
        "read_bytes_per_s": 122_880,
        "write_bytes_per_s": 163_840,
        "latency_ms": 4,
        # (1,228,800 + 1,638,400) bytes / 400
        "mean_io_bytes": 7168,
        "outstanding_io": 0.16,
        "utilisation_ratio": 0.4,
    }


def test_idle_disk_has_no_latency_and_no_size() -> None:
    found = window(every(DISK, (5,) * 8 + UNSENT, (5,) * 8 + UNSENT))

    assert (found["read_iops"], found["latency_ms"], found["mean_io_bytes"]) == (0, None, None)


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

    found = window(every(DISK, (*STANDING, before), (*grown, after)))

    assert found["latency_ms"] is None
    assert found["outstanding_io"] == outstanding_io
    assert found["utilisation_ratio"] == utilisation_ratio


def test_what_is_in_flight_says_nothing_where_i_o_completes() -> None:
    # One more read: 63 in flight may all be new.
    found = window(every(DISK, (*STANDING, 63), (301, *STANDING[1:], 63)))

    assert (found["outstanding_io"], found["utilisation_ratio"]) == (0.0, 0.0)


def test_what_is_in_flight_is_that_of_the_ends_of_each_window() -> None:
    # The host starts again between 10 s and 20 s, so the second window is unknown.
    started = (1,) * 8

    found = every(DISK, (*STANDING, 2), (*STANDING, 4), (*started, 6), (*started, 10))

    # The mean of 2 and 4, and that of 6 and 10.
    assert column(found.outstanding_io) == [3, None, 8]
    assert column(found.utilisation_ratio) == [1, None, 1]


def test_restarted_host_has_no_rate_until_it_counted_twice() -> None:
    found = every(DISK, (900,) * 8 + UNSENT, (5,) * 8 + UNSENT, (25,) * 8 + UNSENT)

    assert column(found.read_iops) == [None, 2]


def test_interface_figures_of_ten_seconds() -> None:
    before = (1_000, 2_000, 10, 20, 0, 1, 2, 3)
    # 12.5 MB sent = 100 Mbit in 10 s; 1.25 MB received = 10 Mbit
    after = (12_501_000, 1_252_000, 8_343, 1_020, 10, 21, 5, 4)

    assert window(every(INTERFACE, before, after)) == {
        "seconds": 10,
        "sent_bits_per_s": 10_000_000,
        "received_bits_per_s": 1_000_000,
        "sent_packets_per_s": 833.3,
        "received_packets_per_s": 100,
        # Dropped packets of both ways, those sent alone, errors of both ways.
        "drops_per_s": 3,
        "sent_drops_per_s": 2,
        "errors_per_s": 0.4,
    }


def test_tcp_figures_of_ten_seconds() -> None:
    # 2000 segments and 20 of them again
    found = window(every(TCP, (1000, 7), (3000, 27)))

    assert found == {"seconds": 10, "segments_per_s": 200, "retransmits_per_s": 2}


def test_conflict_figures_of_ten_seconds() -> None:
    # 500 commands and 20 conflicts
    found = window(every(CONFLICT, (100, 7), (600, 27)))

    assert found == {"seconds": 10, "commands_per_s": 50, "conflicts_per_s": 2}


def test_cgroup_figures_of_ten_seconds() -> None:
    found = every(CGROUP_IO, (0, 0, 0, 0), (500, 100, 5_000_000, 1_000_000))

    assert window(found) == {
        "seconds": 10,
        "read_iops": 50,
        "write_iops": 10,
        "read_bytes_per_s": 500_000,
        "write_bytes_per_s": 100_000,
        # 6,000,000 bytes / 600
        "mean_io_bytes": 10_000,
    }


def test_pressure_is_the_part_of_the_time_that_was_waited() -> None:
    # 2.5 s of 10 s some task waited, 1 s all of them.
    found = window(every(PRESSURE, (0, 0), (2_500_000, 1_000_000)))

    assert found == {"seconds": 10, "some_ratio": 0.25}


def test_pressure_that_was_not_sent_is_unknown() -> None:
    found = every(PRESSURE, (0, 0), (1_000_000, None), (2_000_000, 0))

    assert column(found.some_ratio) == [None, None]


def test_pressure_is_at_most_all_the_time() -> None:
    assert window(every(PRESSURE, (1, 0), (10_000_002, 0)))["some_ratio"] == 1.0
