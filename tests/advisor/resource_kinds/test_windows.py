"""Figures of devices become windows of a resource, and what each kind of resource promises."""

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest

from advisor.core.observation import (
    AllocationObservation,
    DatastoreObservation,
    UplinkObservation,
)
from advisor.core.resource import Unit
from advisor.resource_kinds.datastore import DATASTORE
from advisor.resource_kinds.reader import Devices, ReadResource, SeenAllocation
from advisor.resource_kinds.registry import (
    KINDS,
    area_words,
    kind_choices,
    kind_names,
    plural_words,
    stated_kinds,
    traits_of,
)
from advisor.resource_kinds.traits import Level, Words
from advisor.resource_kinds.uplink import UPLINK
from ingest.core.figures import DiskFigures, InterfaceFigures, TcpFigures
from ingest.core.grid import Floats

AT = datetime(2026, 3, 2, 12, tzinfo=UTC)
DATASTORE_10S = ReadResource(window_s=10.0, capacity=None, unit=Unit.IOPS)
UPLINK_10S = ReadResource(window_s=10.0, capacity=1e9, unit=Unit.BITS_PER_S)


def table(*row: float) -> Floats:
    """Two windows alike, each with these values."""
    return np.array([row, row])


def seen(
    host: str = "h1",
    *,
    rate: float = 100.0,
    size: float | None = 8000.0,
    throttled: bool = False,
    backlog_bytes: float | None = None,
    drops: float | None = None,
) -> SeenAllocation:
    return SeenAllocation(
        host=host,
        observation=AllocationObservation(
            workload="db", rate=rate, mean_io_bytes=size, throttled=throttled, backlogged=False
        ),
        backlog_bytes=backlog_bytes,
        drops=drops,
    )


# h1 does 300 reads and 100 writes a second, h2 nothing; h3 sent nothing.
DISKS = Devices(
    hosts=("h1", "h2", "h3"),
    names=("sda", "sdb", "sdc"),
    figures=DiskFigures(
        seconds=table(10.0, 0.5, 0.0),
        read_iops=table(300.0, 0.0, np.nan),
        write_iops=table(100.0, 0.0, np.nan),
        read_bytes_per_s=table(0.0, 0.0, np.nan),
        write_bytes_per_s=table(0.0, 0.0, np.nan),
        latency_ms=table(4.0, np.nan, np.nan),
        mean_io_bytes=table(8000.0, np.nan, np.nan),
        outstanding_io=table(1.6, 7.0, np.nan),
        utilisation_ratio=table(0.5, 1.0, np.nan),
    ),
)


def of_disks(*allocations: SeenAllocation, unit: Unit = Unit.IOPS) -> DatastoreObservation:
    found = DATASTORE.reader.window(
        replace(DATASTORE_10S, unit=unit), AT, 1, DISKS, list(allocations)
    )
    assert isinstance(found, DatastoreObservation)
    return found


def test_datastore_window_has_each_host_that_was_measured() -> None:
    found = of_disks()

    assert (found.at, found.window_s, found.unit) == (AT, 10.0, Unit.IOPS)
    busy, idle = found.hosts
    # 400 I/Os a second for 10 s.
    assert (busy.host, busy.io_count, busy.latency_ms, busy.mean_io_bytes) == (
        "h1",
        4000.0,
        4.0,
        8000.0,
    )
    assert (busy.outstanding_io, busy.busy_ratio) == (1.6, 0.5)
    # Without I/O there is neither latency nor size.
    assert (idle.host, idle.io_count, idle.latency_ms, idle.mean_io_bytes) == (
        "h2",
        0.0,
        None,
        None,
    )
    assert (idle.outstanding_io, idle.busy_ratio) == (7.0, 1.0)
    assert DATASTORE.shared_harm is not None
    assert DATASTORE.shared_harm(found) == 4.0


def test_devices_of_a_window_are_those_with_any_measured_time() -> None:
    assert DISKS.measured.tolist() == [[True, True, False]] * 2
    assert DISKS.places(1) == [0, 1]


@pytest.mark.parametrize(
    ("allocation", "unit", "throttled"),
    [
        # More than half of the 4000 I/Os are held back by a limit of our own, or less.
        (seen(rate=201.0, throttled=True), Unit.IOPS, True),
        (seen(rate=199.0, throttled=True), Unit.IOPS, False),
        (seen("h2", rate=399.0, throttled=True), Unit.IOPS, False),
        # In bytes per second of 8 kB each.
        (seen(rate=201.0 * 8000, throttled=True), Unit.BYTES_PER_S, True),
        (seen(rate=199.0 * 8000, throttled=True), Unit.BYTES_PER_S, False),
        (seen(rate=399.0 * 8000, size=None, throttled=True), Unit.BYTES_PER_S, False),
    ],
    ids=["most", "less", "elsewhere", "most bytes", "less bytes", "size unknown"],
)
def test_host_is_throttled_where_most_of_its_io_is_held_back(
    allocation: SeenAllocation, unit: Unit, throttled: bool
) -> None:
    assert of_disks(allocation, unit=unit).hosts[0].throttled is throttled


def links(*, tcp_seconds: float | None = 10.0) -> Devices[InterfaceFigures]:
    """The one interface sends 5 Mbit/s; the first column is of one that was not measured."""
    tcp = TcpFigures(
        seconds=table(0.0, tcp_seconds or 0.0),
        segments_per_s=table(np.nan, 500.0),
        retransmits_per_s=table(np.nan, 3.0),
    )
    return Devices(
        hosts=("h1", "h1"),
        names=("eth9", "eth0"),
        figures=InterfaceFigures(
            seconds=table(0.0, 10.0),
            sent_bits_per_s=table(np.nan, 5e6),
            received_bits_per_s=table(np.nan, 0.0),
            sent_packets_per_s=table(np.nan, 400.0),
            received_packets_per_s=table(np.nan, 0.0),
            drops_per_s=table(np.nan, 9.0),
            sent_drops_per_s=table(np.nan, 2.0),
            errors_per_s=table(np.nan, 0.0),
        ),
        tcp=None if tcp_seconds is None else tcp,
    )


def of_links(*allocations: SeenAllocation, tcp_seconds: float | None = 10.0) -> UplinkObservation:
    found = UPLINK.reader.window(
        UPLINK_10S, AT, 1, links(tcp_seconds=tcp_seconds), list(allocations)
    )
    assert isinstance(found, UplinkObservation)
    return found


def test_uplink_window_counts_packets_drops_and_segments_of_its_length() -> None:
    found = of_links()

    assert (found.tx_bits_per_s, found.capacity_bits_per_s) == (5e6, 1e9)
    # 400, 2, 500 and 3 per second for 10 s.
    assert (found.packets, found.drops) == (4000.0, 20.0)
    assert (found.segments, found.retransmits) == (5000.0, 30.0)
    assert found.backlog_bytes is None


@pytest.mark.parametrize("tcp_seconds", [None, 0.0], ids=["not read", "not measured"])
def test_uplink_without_measured_tcp_has_no_segments(tcp_seconds: float | None) -> None:
    found = of_links(tcp_seconds=tcp_seconds)

    assert (found.segments, found.retransmits) == (None, None)


def test_queues_and_drops_at_our_own_limits_are_no_signal_of_the_uplink() -> None:
    waiting = seen(backlog_bytes=300.0, drops=4.0)
    unseen = seen()
    limited = seen(backlog_bytes=9000.0, drops=90.0, throttled=True)

    free = of_links(waiting, waiting, unseen)
    beside = of_links(waiting, limited)

    assert (free.backlog_bytes, free.drops, free.segments) == (600.0, 28.0, 5000.0)
    # Which of the retransmits the limit caused is not known.
    assert (beside.backlog_bytes, beside.drops, beside.segments) == (300.0, 24.0, None)


def test_conclusion_on_an_uplink_is_that_of_its_windows() -> None:
    assert UPLINK.judge_signals is not None
    assert UPLINK.judge_signals([of_links()] * 3).finding == "bursts"


@pytest.mark.parametrize(
    ("capacity", "floors"), [(None, (10.0, 1e6)), (1e9, (10.0, 1e7)), (5e6, (10.0, 5e4))]
)
def test_activity_floor_is_ten_ios_or_a_hundredth_of_the_uplink(
    capacity: float | None, floors: tuple[float, float]
) -> None:
    assert (DATASTORE.activity_floor(capacity), UPLINK.activity_floor(capacity)) == floors


def test_kinds_differ_in_what_is_documented() -> None:
    def promises(kind: str) -> set[str]:
        names = (
            "fixed_capacity",
            "costs_by_size",
            "shows_queues",
            "needs_capacity",
            "counts_before_limit",
            "hides_load",
            "carries_others",
        )
        return {name for name in names if getattr(traits_of(kind), name)}

    assert promises("datastore") == {"costs_by_size", "hides_load"}
    assert promises("uplink") == {
        "fixed_capacity",
        "shows_queues",
        "needs_capacity",
        "counts_before_limit",
        "carries_others",
    }
    assert (DATASTORE.threshold, UPLINK.threshold) == (30.0, 0.9)
    assert {one.reservable_ratio for one in KINDS} == {0.75}
    assert (DATASTORE.reader.with_tcp, UPLINK.reader.with_tcp) == (False, True)
    assert (DATASTORE.reader.measurement.name, UPLINK.reader.measurement.name) == (
        "diskio",
        "net",
    )


def test_kinds_are_found_by_name_and_by_the_noun_for_one_host() -> None:
    assert kind_names() == ["datastore", "uplink"]
    assert kind_choices() == [("datastore", "Datastore"), ("uplink", "Uplink")]
    assert {word: one.name for word, one in stated_kinds().items()} == {
        "datastore": "datastore",
        "uplink": "uplink",
        "volume": "datastore",
    }
    assert (plural_words(), area_words()) == ("datastores and uplinks", "Storage and network")
    with pytest.raises(ValueError, match='no kind "lun"; there are: datastore, uplink'):
        traits_of("lun")


@pytest.mark.parametrize(("hosts", "noun"), [(1, "volume"), (2, "datastore"), (0, "datastore")])
def test_resource_of_one_host_has_a_noun_of_its_own(hosts: int, noun: str) -> None:
    assert DATASTORE.words.of(hosts) == noun
    assert Words(area="a", noun="uplink", plural="uplinks").of(hosts) == "uplink"


def test_level_is_told_in_its_unit() -> None:
    assert UPLINK.level.text(0.456) == "46%"
    assert DATASTORE.level.text(12.345) == "12.3 ms"
    assert Level(noun="load", unit="s", per_unit=4.0).text(2.0) == "8.00 s"
