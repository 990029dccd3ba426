"""Windows of a datastore of one host, ten seconds each: measured, or with I/O that hangs."""

from datetime import UTC, datetime, timedelta

from advisor.core.detection.congestion import DetectorSettings
from advisor.core.observation import DatastoreObservation, HostLatency

START = datetime(2026, 3, 2, 12, tzinfo=UTC)
WINDOW_S = 10.0
SETTINGS = DetectorSettings(activity_floor=5.0, longest_gap_s=30.0)


def datastore(index, latency_ms, allocations=()):
    ios = sum(allocation.rate for allocation in allocations) * WINDOW_S or 1000.0
    host = HostLatency(host="h1", latency_ms=latency_ms, io_count=ios)
    at = START + timedelta(seconds=WINDOW_S * (index + 1))
    return DatastoreObservation(
        at=at, window_s=WINDOW_S, hosts=(host,), allocations=tuple(allocations)
    )


def stall(index, allocations=()):
    """A window in which 47 I/Os are in flight and none completes."""
    host = HostLatency(
        host="h1", latency_ms=None, io_count=0.0, outstanding_io=47.0, busy_ratio=1.0
    )
    at = START + timedelta(seconds=WINDOW_S * (index + 1))
    return DatastoreObservation(
        at=at, window_s=WINDOW_S, hosts=(host,), allocations=tuple(allocations)
    )
