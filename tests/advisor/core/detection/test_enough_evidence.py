"""How much is enough: windows of an uplink, points of a device, numbers of a workload."""

from datetime import UTC, datetime

import pytest

from advisor.core.attribution.measure import SENT
from advisor.core.attribution.workload_series import LARGEST, WorkloadSeries
from advisor.core.detection.nic_signals import ENOUGH_WINDOWS, NicFinding, NicWindow, judge_uplink
from advisor.core.detection.observed import readings_of
from advisor.core.device.device_fit import FitRefused, LoadPoint, fit_device
from advisor.core.observation import AllocationObservation, UplinkObservation

START = datetime(2026, 3, 2, 12, tzinfo=UTC)


@pytest.mark.parametrize(("missing", "is_judged"), [(0, True), (1, False)])
def test_uplink_is_judged_from_the_needed_windows_on(missing: int, is_judged: bool) -> None:
    windows = [
        NicWindow(
            tx_bits_per_s=1e6,
            capacity_bits_per_s=1e9,
            packets=1e4,
            drops=0.0,
            backlog_bytes=0.0,
            segments=1e4,
            retransmits=0.0,
        )
        for _ in range(ENOUGH_WINDOWS - missing)
    ]

    judgement = judge_uplink(windows)

    assert (judgement.finding is not NicFinding.UNKNOWN) is is_judged
    assert ("are needed" in judgement.reason) is not is_judged


@pytest.mark.parametrize(("seen_bits_per_s", "nobody_waits"), [(95.0, True), (94.0, False)])
def test_nobody_waits_if_the_queues_of_95_percent_of_the_traffic_are_known(
    seen_bits_per_s: float, nobody_waits: bool
) -> None:
    window = UplinkObservation(
        at=START,
        window_s=10.0,
        tx_bits_per_s=100.0,
        capacity_bits_per_s=100.0,
        allocations=(
            AllocationObservation(workload="db", rate=seen_bits_per_s, backlogged=False),
            AllocationObservation(workload="web", rate=100.0 - seen_bits_per_s),
        ),
    )

    (reading,) = readings_of([window])
    assert reading.nic is not None
    assert reading.nic.nobody_waits is nobody_waits


@pytest.mark.parametrize(("error", "is_refused"), [(0.09, False), (0.15, True)])
def test_windows_that_break_littles_law_by_more_than_a_tenth_are_no_points(
    error: float, is_refused: bool
) -> None:
    # N = X·R: at a depth of N and 10 ms there are 100·N I/Os per second.
    points = [
        LoadPoint(outstanding_io=depth, latency_ms=10.0, iops=100 * depth * (1 + error))
        for depth in (1.0, 2.0, 4.0, 8.0)
        for _ in range(5)
    ]

    found = fit_device(points)

    reason = found.reason if isinstance(found, FitRefused) else ""
    assert ("20 of 20 windows break N = X·R" in reason) is is_refused


def test_largest_number_of_a_workload_is_accepted_and_a_larger_one_is_not() -> None:
    WorkloadSeries(workload="db", load=(LARGEST, 0.0))
    with pytest.raises(ValueError, match="load 1 of db"):
        WorkloadSeries(workload="db", load=(0.0, LARGEST * 1.01))


def test_shortfall_on_an_uplink_is_told_in_percent_of_what_was_due() -> None:
    assert SENT.per_unit == 100.0
    assert SENT.told(0.3, 0.1, 0.5).startswith("30 (10 to 50)")
