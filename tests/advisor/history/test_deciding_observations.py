"""The detector sees what it decides by: the readings are those of all allocations."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from advisor.core.detection.reading import read
from advisor.core.detection.threshold import FixedThreshold
from advisor.history.history import AllocationColumns, History, Levels
from advisor.models import Allocation, Resource, Workload
from advisor.resource_kinds.reader import Devices
from ingest.core.figures import DiskFigures, InterfaceFigures, TcpFigures
from ingest.core.grid import grid_of
from ingest.models import Host

SINCE = datetime(2026, 3, 2, 12, tzinfo=UTC)
WINDOWS = 2
UNKNOWN = float("nan")

allocations = st.lists(
    st.tuples(
        st.sampled_from(["h1", "h2"]),
        st.sampled_from([UNKNOWN, 0.0, 30.0, 200.0, 500.0]),  # rate
        st.sampled_from([UNKNOWN, 0.0, 1.0]),  # backlogged
        st.booleans(),  # throttled
        st.sampled_from([0.0, 400.0]),  # reservation
        st.sampled_from([UNKNOWN, 0.0, 9000.0]),  # bytes in its queue
    ),
    max_size=5,
)


def _history(kind: str, devices: Devices[object], rows: list[tuple[object, ...]]) -> History:
    hosts, rate, backlogged, throttled, reservation, waiting = (
        zip(*rows, strict=True) if rows else ((),) * 6
    )

    def columns(values: object) -> np.ndarray:
        return np.array([values] * WINDOWS, dtype=np.float64).reshape(WINDOWS, len(rows))

    own = tuple(
        Allocation(workload=Workload(name=f"vm{place}"), host=Host(name=host), reservation=least)
        for place, (host, least) in enumerate(zip(hosts, reservation, strict=True))
    )
    nothing = np.array([])
    return History(
        resource=Resource(kind=kind, unit="iops", window_s=10.0, capacity=1000.0),
        grid=grid_of(SINCE, SINCE + timedelta(seconds=10 * WINDOWS), 10.0),
        devices=devices,
        allocations=AllocationColumns(
            rows=own,
            shares=tuple(1000 for _ in own),
            rate=columns(rate),
            backlogged=columns(backlogged),
            mean_io_bytes=columns([8000.0] * len(rows)),
            read_ratio=columns([0.5] * len(rows)),
            throttled=columns(throttled) == 1,
            backlog_bytes=columns(waiting),
            drops=columns([2.0 if one == one else UNKNOWN for one in waiting]),
        ),
        levels=Levels(
            at_us=np.array([], dtype=np.int64),
            state=np.array([], dtype=np.object_),
            value=nothing,
            threshold=nothing,
            load=nothing,
            device_load=nothing,
        ),
        threshold=FixedThreshold(value=30.0),
    )


def _disks() -> Devices[object]:
    """h1 and h2 do 400 I/Os a second each."""
    each = np.full((WINDOWS, 2), 1.0)
    figures = DiskFigures(
        seconds=10 * each,
        read_iops=300 * each,
        write_iops=100 * each,
        read_bytes_per_s=8000 * 300 * each,
        write_bytes_per_s=8000 * 100 * each,
        latency_ms=np.array([[4.0, 60.0]] * WINDOWS),
        mean_io_bytes=8000 * each,
        outstanding_io=1.6 * each,
        utilisation_ratio=0.5 * each,
    )
    return Devices(hosts=("h1", "h2"), names=("sda", "sda"), figures=figures)


def _link() -> Devices[object]:
    """It sends 900 of 1,000 bits a second."""
    each = np.full((WINDOWS, 1), 1.0)
    figures = InterfaceFigures(
        seconds=10 * each,
        sent_bits_per_s=900 * each,
        received_bits_per_s=0 * each,
        sent_packets_per_s=4 * each,
        received_packets_per_s=0 * each,
        drops_per_s=0 * each,
        sent_drops_per_s=0 * each,
        errors_per_s=0 * each,
    )
    tcp = TcpFigures(seconds=10 * each, segments_per_s=4 * each, retransmits_per_s=1 * each)
    return Devices(hosts=("h1",), names=("eth0",), figures=figures, tcp=tcp)


@given(rows=allocations, kind=st.sampled_from(["datastore", "uplink"]))
def test_readings_are_those_of_all_allocations(rows: list[tuple[object, ...]], kind: str) -> None:
    history = _history(kind, _disks() if kind == "datastore" else _link(), rows)
    every = history.observations()
    deciding = history.deciding_observations()
    assert len(every) == WINDOWS
    assert [read(one) for one in deciding] == [read(one) for one in every]


def test_allocations_that_decide_nothing_are_left_out() -> None:
    quiet = ("h1", 30.0, UNKNOWN, False, 0.0, UNKNOWN)
    waits = ("h1", 30.0, 1.0, False, 0.0, UNKNOWN)
    held = ("h1", 30.0, 1.0, True, 0.0, UNKNOWN)

    def seen(kind: str, *rows: tuple[object, ...]) -> list[str]:
        devices = _disks() if kind == "datastore" else _link()
        found = _history(kind, devices, list(rows)).deciding_observations()[0]
        return [one.workload for one in found.allocations]

    assert seen("uplink", quiet, waits, held) == ["vm1", "vm2"]
    assert seen("datastore", quiet, waits) == []
    assert seen("datastore", quiet, waits, held) == ["vm1", "vm2"]
