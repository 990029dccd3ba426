"""Figures of devices become windows of a resource, and what each kind of resource promises."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime

import numpy as np
import pytest

from advisor.core.detection.nic_signals import NicWindow
from advisor.core.detection.reading import Reading
from advisor.core.resource import Unit
from advisor.resource_kinds.datastore import DATASTORE
from advisor.resource_kinds.reader import Devices, ReadResource, SeenAllocations
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

ENDS = [datetime(2026, 3, 2, 12, tzinfo=UTC), datetime(2026, 3, 2, 13, tzinfo=UTC)]
DATASTORE_10S = ReadResource(window_s=10.0, capacity=None, unit=Unit.IOPS)
UPLINK_10S = ReadResource(window_s=10.0, capacity=1e9, unit=Unit.BITS_PER_S)


def table(*row: float) -> Floats:
    """Two windows alike, each with these values."""
    return np.array([row, row])


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One allocation, the same in both windows; NaN is unknown."""

    host: str = "h1"
    rate: float = 100.0
    size: float = 8000.0
    throttled: bool = False
    backlogged: float = 0.0
    backlog_bytes: float = np.nan
    drops: float = np.nan


def seen_of(*rows: Seen) -> SeenAllocations:
    """As columns."""
    return SeenAllocations(
        hosts=tuple(one.host for one in rows),
        workloads=tuple(f"vm{place}" for place, _ in enumerate(rows)),
        reservation=np.zeros(len(rows)),
        rate=table(*(one.rate for one in rows)),
        backlogged=table(*(one.backlogged for one in rows)),
        queued=table(*(one.backlogged for one in rows)) == 1,
        mean_io_bytes=table(*(one.size for one in rows)),
        throttled=table(*(one.throttled for one in rows)) == 1,
        backlog_bytes=table(*(one.backlog_bytes for one in rows)),
        drops=table(*(one.drops for one in rows)),
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


def of_disks(*allocations: Seen, unit: Unit = Unit.IOPS) -> Reading:
    resource = replace(DATASTORE_10S, unit=unit)
    first, second = DATASTORE.reader.readings(resource, ENDS, DISKS, seen_of(*allocations))
    assert replace(first, at=second.at) == second
    return first


def test_datastore_is_read_from_each_host_that_was_measured() -> None:
    found = of_disks()

    assert (found.at, found.window_s) == (ENDS[0], 10.0)
    # 400 I/Os a second of the reference size, all on h1.
    assert (found.value, found.load, found.device_load) == (4.0, 400.0, 400.0)
    # h2 completes none of 7, and was busy all the time.
    assert found.stall == "I/O is in flight and none completes: 7 on h2"
    assert (found.reason, found.own_limit, found.nic) == ("", False, None)
    assert (DATASTORE.harms_all, UPLINK.harms_all) == (True, False)


def test_devices_of_a_window_are_those_with_any_measured_time() -> None:
    assert DISKS.measured.tolist() == [[True, True, False]] * 2


def held(rate: float) -> Seen:
    return Seen(rate=rate, throttled=True, backlogged=1.0)


@pytest.mark.parametrize(
    ("allocations", "unit", "throttled"),
    [
        # More than half of the 4000 I/Os are held back by a limit of our own, or less.
        ([held(201.0)], Unit.IOPS, True),
        ([held(199.0)], Unit.IOPS, False),
        ([Seen(host="h2", rate=399.0, throttled=True)], Unit.IOPS, False),
        # Of those that are held back some are counted in another place.
        ([held(101.0), held(100.0)], Unit.IOPS, True),
        # In bytes per second of 8 kB each.
        ([held(201.0 * 8000)], Unit.BYTES_PER_S, True),
        ([held(199.0 * 8000)], Unit.BYTES_PER_S, False),
        ([Seen(rate=399.0 * 8000, size=np.nan, throttled=True)], Unit.BYTES_PER_S, False),
        ([Seen(rate=399.0 * 8000, size=0.0, throttled=True)], Unit.BYTES_PER_S, False),
        # The rest does not wait, waits, or may wait.
        ([held(100.0), Seen(rate=300.0)], Unit.IOPS, True),
        ([held(240.0), Seen(rate=160.0, backlogged=1.0)], Unit.IOPS, False),
        ([held(100.0), Seen(rate=300.0, backlogged=np.nan)], Unit.IOPS, False),
        ([held(240.0), Seen(host="h2", rate=0.0, backlogged=1.0)], Unit.IOPS, True),
        # Nobody knows what the other did, if anything.
        ([held(240.0), Seen(rate=np.nan, backlogged=1.0)], Unit.IOPS, True),
        # Too little to change the mean.
        ([held(12.0), Seen(rate=388.0)], Unit.IOPS, False),
        ([Seen(rate=400.0)], Unit.IOPS, False),
        # Whose I/O is not known counts for nothing, at the very edge: half, and 95 of 100.
        ([held(200.0), Seen(rate=0.0, backlogged=np.nan)], Unit.IOPS, False),
        ([held(200.0), Seen(rate=np.nan, throttled=True)], Unit.IOPS, False),
        (
            [held(200.0 * 8000), Seen(rate=8e5, size=np.nan, throttled=True)],
            Unit.BYTES_PER_S,
            False,
        ),
        (
            [held(100.0), Seen(rate=279.95), Seen(rate=0.0, backlogged=np.nan)],
            Unit.IOPS,
            False,
        ),
        ([Seen(rate=201.0, size=1.0, throttled=True)], Unit.BYTES_PER_S, True),
    ],
    ids=[
        "most", "less", "elsewhere", "two", "most bytes", "less bytes", "size unknown", "no size",
        "rest is calm", "rest waits", "rest may wait", "other host waits", "rate unknown",
        "little", "no limit", "half", "half and unknown", "half and a size unknown",
        "too few are calm", "single bytes",
    ],
)  # fmt: skip
def test_host_is_throttled_where_most_of_its_io_is_held_back(
    allocations: list[Seen], unit: Unit, *, throttled: bool
) -> None:
    found = of_disks(*allocations, unit=unit)

    assert (found.own_limit, found.value) == (throttled, None if throttled else 4.0)


def test_devices_of_one_host_share_its_limits() -> None:
    both = replace(DISKS, hosts=("h1", "h1", "h1"))

    (found, _) = DATASTORE.reader.readings(DATASTORE_10S, ENDS, both, seen_of(held(201.0)))

    assert found.own_limit


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


def nic_of(*allocations: Seen, tcp_seconds: float | None = 10.0) -> NicWindow:
    found, other = UPLINK.reader.readings(
        UPLINK_10S, ENDS, links(tcp_seconds=tcp_seconds), seen_of(*allocations)
    )
    assert replace(found, at=other.at) == other
    assert found.nic is not None
    # 5 Mbit/s of 1 Gbit/s.
    assert (found.value, found.load, found.reason) == (0.005, 5e6, "")
    return found.nic


def test_uplink_window_counts_packets_drops_and_segments_of_its_length() -> None:
    found = nic_of()

    assert (found.tx_bits_per_s, found.capacity_bits_per_s) == (5e6, 1e9)
    # 400, 2, 500 and 3 per second for 10 s.
    assert (found.packets, found.drops) == (4000.0, 20.0)
    assert (found.segments, found.retransmits) == (5000.0, 30.0)
    assert found.backlog_bytes is None


@pytest.mark.parametrize("tcp_seconds", [None, 0.0], ids=["not read", "not measured"])
def test_uplink_without_measured_tcp_has_no_segments(tcp_seconds: float | None) -> None:
    found = nic_of(tcp_seconds=tcp_seconds)

    assert (found.segments, found.retransmits) == (None, None)


def test_tcp_of_any_part_of_a_window_counts() -> None:
    found = nic_of(tcp_seconds=0.5)

    assert (found.segments, found.retransmits) == (5000.0, 30.0)


def test_queues_and_drops_at_our_own_limits_are_no_signal_of_the_uplink() -> None:
    waiting = Seen(backlog_bytes=300.0, drops=4.0)
    limited = Seen(backlog_bytes=9000.0, drops=90.0, throttled=True)
    gone = Seen(rate=np.nan, backlog_bytes=9000.0, drops=90.0)

    free = nic_of(waiting, waiting, Seen(), gone)
    beside = nic_of(waiting, limited)

    assert (free.backlog_bytes, free.drops, free.segments) == (600.0, 28.0, 5000.0)
    # Which of the retransmits the limit caused is not known.
    assert (beside.backlog_bytes, beside.drops, beside.segments) == (300.0, 24.0, None)
    assert beside.retransmits is None


def test_conclusion_on_an_uplink_is_that_of_its_windows() -> None:
    readings = UPLINK.reader.readings(UPLINK_10S, ENDS, links(), seen_of())
    latency_alone = [replace(readings[0], nic=None)]

    assert UPLINK.judge_signals is not None
    assert DATASTORE.judge_signals is None
    assert UPLINK.judge_signals([*readings, *readings, *latency_alone]).finding == "bursts"
    assert UPLINK.judge_signals([*readings, *latency_alone]).finding == "unknown"


def test_delivered_is_what_all_measured_devices_carried() -> None:
    in_bytes = replace(DATASTORE_10S, unit=Unit.BYTES_PER_S)
    moved = replace(DISKS.figures, read_bytes_per_s=table(6e6, 1e6, np.nan))
    moved = replace(moved, write_bytes_per_s=table(2e6, 0.0, np.nan))

    assert DATASTORE.reader.delivered(DATASTORE_10S, DISKS).tolist() == [400.0, 400.0]
    found = DATASTORE.reader.delivered(in_bytes, replace(DISKS, figures=moved))
    assert found.tolist() == [9e6, 9e6]
    assert UPLINK.reader.delivered(UPLINK_10S, links()).tolist() == [5e6, 5e6]


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
