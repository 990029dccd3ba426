"""The readings of a turn, against one window at a time written out in plain loops."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from advisor.core.detection.nic_signals import NicWindow
from advisor.core.detection.reading import Reading
from advisor.core.detection.threshold import FixedThreshold
from advisor.history.history import AllocationColumns, History, Levels
from advisor.models import Resource
from advisor.resource_kinds.reader import Devices
from ingest.core.figures import DiskFigures, InterfaceFigures, TcpFigures
from ingest.core.grid import grid_of

SINCE = datetime(2026, 3, 2, 12, tzinfo=UTC)
WINDOW_S = 10.0
UNKNOWN = math.nan
HOSTS = ("h1", "h2", "h2")
"""The host of each disk; h2 reaches the datastore by two of them."""
CAPACITY = 1000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Disk:
    """One disk in one window; without I/O it has neither latency nor size."""

    reads: float
    writes: float
    latency_ms: float
    size: float
    in_flight: float
    busy: float

    @property
    def io_count(self) -> float:
        return (self.reads + self.writes) * WINDOW_S

    @property
    def cost(self) -> float:
        """Of one I/O, in those of 8 kB."""
        return 1.0 if math.isnan(self.size) else (51_000 + self.size) / 59_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """One allocation in one window."""

    rate: float
    backlogged: float
    throttled: bool
    size: float
    waiting: float
    drops: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """An interface in one window, with the TCP of its host, which may not have been read."""

    sent: float
    packets: float
    drops: float
    segments: float
    retransmits: float
    tcp_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """Whose an allocation is, and what is reserved for it."""

    workload: str
    host: str
    reservation: float


known = st.sampled_from([0.0, 1.0, 3.5, 190.0, 200.0, 210.0, 855.0, 4000.0])
maybe = known | st.just(UNKNOWN)
disks = st.none() | st.builds(
    Disk,
    reads=known,
    writes=st.sampled_from([0.0, 0.0, 7.0]),
    latency_ms=maybe,
    size=maybe,
    in_flight=maybe,
    busy=st.sampled_from([0.0, 0.5, 0.9, 1.0, UNKNOWN]),
)
used = st.builds(
    Used,
    rate=maybe,
    backlogged=st.sampled_from([UNKNOWN, 0.0, 1.0]),
    throttled=st.sampled_from([False, False, True]),
    size=maybe,
    waiting=maybe,
    drops=maybe,
)
links = st.none() | st.builds(
    Link,
    sent=st.sampled_from([0.0, 200.0, 799.0, 800.0, 900.0, 1200.0, UNKNOWN]),
    packets=maybe,
    drops=st.sampled_from([0.0, 0.0, 0.1, UNKNOWN]),
    segments=known,
    retransmits=known,
    tcp_seconds=st.sampled_from([0.0, 10.0]),
)
owners = st.lists(
    st.builds(
        Owner,
        workload=st.sampled_from(["web", "db", "mail", "etl"]),
        host=st.sampled_from(["h1", "h2", "h3"]),
        reservation=st.sampled_from([0.0, 200.0, 900.0]),
    ),
    max_size=5,
)


@st.composite
def turns(draw, device, count):
    """The owners, and of each window its devices and what each allocation got."""
    rows = draw(owners)
    windows = draw(
        st.lists(
            st.tuples(
                st.lists(device, min_size=count, max_size=count),
                st.lists(used, min_size=len(rows), max_size=len(rows)),
            ),
            max_size=4,
        )
    )
    return rows, windows


def columns(rows, name, width):
    """A field of each cell as a column, NaN without the cell."""
    values = [[UNKNOWN if one is None else getattr(one, name) for one in row] for row in rows]
    return np.array(values, dtype=np.float64).reshape(len(rows), width)


def history(kind, rows, windows, devices, *, unit="iops", capacity=CAPACITY):
    cells = [cell for _, cell in windows]

    def column(name):
        return columns(cells, name, len(rows))

    nothing = np.array([])
    return History(
        resource=Resource(kind=kind, unit=unit, window_s=WINDOW_S, capacity=capacity),
        grid=grid_of(SINCE, SINCE + timedelta(seconds=WINDOW_S * len(windows)), WINDOW_S),
        devices=devices,
        allocations=AllocationColumns(
            hosts=tuple(one.host for one in rows),
            workloads=tuple(one.workload for one in rows),
            reservation=np.array([one.reservation for one in rows], dtype=np.float64),
            rows=(),
            keys=np.zeros(0, dtype=np.int64),
            limit=np.zeros(0),
            shares=(),
            rate=column("rate"),
            backlogged=column("backlogged"),
            queued=column("backlogged") == 1,
            mean_io_bytes=column("size"),
            read_ratio=column("rate"),
            throttled=column("throttled") == 1,
            backlog_bytes=column("waiting"),
            drops=column("drops"),
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


def on_disks(rows, windows, **settings):
    cells = [cell for cell, _ in windows]

    def column(name):
        return columns(cells, name, len(HOSTS))

    unread = np.zeros((len(windows), len(HOSTS)))
    figures = DiskFigures(
        seconds=np.where(np.isnan(column("reads")), 0.0, WINDOW_S),
        read_iops=column("reads"),
        write_iops=column("writes"),
        read_bytes_per_s=unread,
        write_bytes_per_s=unread,
        latency_ms=column("latency_ms"),
        mean_io_bytes=column("size"),
        outstanding_io=column("in_flight"),
        utilisation_ratio=column("busy"),
    )
    found = Devices(hosts=HOSTS, names=("sda", "sda", "sdb"), figures=figures)
    return history("datastore", rows, windows, found, **settings)


def on_links(rows, windows, *, with_tcp=True, **settings):
    """Two interfaces, of which the second is looked at where the first was not measured."""
    cells = [cell for cell, _ in windows]

    def column(name):
        return columns(cells, name, 2)

    unread = np.zeros((len(windows), 2))
    figures = InterfaceFigures(
        seconds=np.where(np.isnan(column("segments")), 0.0, WINDOW_S),
        sent_bits_per_s=column("sent"),
        received_bits_per_s=unread,
        sent_packets_per_s=column("packets"),
        received_packets_per_s=unread,
        drops_per_s=unread,
        sent_drops_per_s=column("drops"),
        errors_per_s=unread,
    )
    tcp = TcpFigures(
        seconds=np.where(np.isnan(column("tcp_seconds")), 0.0, column("tcp_seconds")),
        segments_per_s=column("segments"),
        retransmits_per_s=column("retransmits"),
    )
    found = Devices(
        hosts=("h1", "h1"), names=("eth0", "eth1"), figures=figures, tcp=tcp if with_tcp else None
    )
    return history("uplink", rows, windows, found, **settings)


def is_held(disk: Disk, host: str, rows, cell, unit) -> bool:
    """Whether our own limits may have caused the latency of this disk."""
    held = calm = 0.0
    for owner, one in zip(rows, cell, strict=True):
        if owner.host != host or math.isnan(one.rate):
            continue
        if unit == "iops":
            ios = one.rate * WINDOW_S
        else:
            ios = one.rate / one.size * WINDOW_S if one.size > 0 else 0.0
        if one.throttled:
            held += ios
        elif one.backlogged == 1:
            return False
        elif one.backlogged == 0:
            calm += ios
    if held <= 0.05 * disk.io_count:
        return False
    return held + calm >= (1 - 0.05) * disk.io_count or held > 0.5 * disk.io_count


def slow_datastore(at, cell, rows, got, unit) -> Reading:
    load = device_load = waited = timed = 0.0
    held = False
    stalled = []
    for host, disk in zip(HOSTS, cell, strict=True):
        if disk is None:
            continue
        load += disk.io_count
        device_load += disk.io_count * disk.cost
        if disk.io_count == 0 and disk.busy >= 0.9:
            count = 0 if math.isnan(disk.in_flight) else round(disk.in_flight)
            stalled.append(f"{count} on {host}" if count else f"on {host}")
        if disk.io_count == 0:
            continue
        if is_held(disk, host, rows, got, unit):
            held = True
        elif not math.isnan(disk.latency_ms):
            waited += disk.latency_ms / disk.cost * disk.io_count
            timed += disk.io_count
    if timed:
        value, reason = waited / timed, ""
    elif load == 0:
        value, reason = None, "no I/O in the window"
    else:
        value = None
        reason = "latency was caused by our own limit" if held else "no latency was measured"
    names = " and ".join([", ".join(stalled[:-1]), stalled[-1]] if stalled[1:] else stalled)
    return Reading(
        at=at,
        window_s=WINDOW_S,
        value=value,
        load=load / WINDOW_S,
        reason=reason,
        own_limit=value is None and held,
        device_load=device_load / WINDOW_S,
        stall=f"I/O is in flight and none completes: {names}" if stalled else "",
    )


def number(value: float) -> float | None:
    return None if math.isnan(value) else value


def slow_uplink(at, cell, rows, got, capacity, *, with_tcp) -> Reading:
    (link, *_) = [one for one in cell if one is not None]
    seen = [(owner, one) for owner, one in zip(rows, got, strict=True) if one.rate == one.rate]
    free = [one for _, one in seen if not one.throttled]
    dropped = 0.0
    for one in free:
        dropped += 0.0 if math.isnan(one.drops) else one.drops
    drops = link.drops * WINDOW_S + dropped
    waiting = [one.waiting for one in free if one.waiting == one.waiting]
    is_read = with_tcp and link.tcp_seconds > 0 and len(free) == len(seen)
    used = None if capacity is None or math.isnan(link.sent) else link.sent / capacity
    is_busy = (used is not None and used >= 0.8) or drops > 0 or sum(waiting) > 0
    unmet = [
        owner.workload
        for owner, one in seen
        if one.rate < owner.reservation * (1 - 0.05)
        and one.backlogged == 1
        and not one.throttled
        and is_busy
    ]
    told = sum(one.rate for _, one in seen if one.backlogged == one.backlogged)
    nobody_waits = told >= 0.95 * link.sent and not any(
        one.backlogged == 1 and not one.throttled for _, one in seen
    )
    if math.isnan(link.sent):
        reason = "nothing was measured"
    else:
        reason = "the capacity is not known; set it" if capacity is None else ""
    return Reading(
        at=at,
        window_s=WINDOW_S,
        value=used,
        load=number(link.sent),
        reason=reason,
        nic=NicWindow(
            tx_bits_per_s=number(link.sent),
            capacity_bits_per_s=capacity,
            packets=number(link.packets * WINDOW_S),
            drops=number(drops),
            backlog_bytes=sum(waiting) if waiting else None,
            segments=link.segments * WINDOW_S if is_read else None,
            retransmits=link.retransmits * WINDOW_S if is_read else None,
            unmet=tuple(sorted(unmet)),
            nobody_waits=nobody_waits,
        ),
    )


def ends(windows):
    """The end of each window in which any device was measured, with the window."""
    return [
        (SINCE + timedelta(seconds=WINDOW_S * (place + 1)), cell, got)
        for place, (cell, got) in enumerate(windows)
        if any(one is not None for one in cell)
    ]


@given(turn=turns(disks, len(HOSTS)), unit=st.sampled_from(["iops", "bytes_per_s"]))
def test_datastore_is_read_as_each_window_alone(turn, unit) -> None:
    rows, windows = turn

    found = on_disks(rows, windows, unit=unit).readings()

    assert found == [slow_datastore(at, cell, rows, got, unit) for at, cell, got in ends(windows)]


@given(turn=turns(links, 2), capacity=st.sampled_from([None, CAPACITY]), with_tcp=st.booleans())
def test_uplink_is_read_as_each_window_alone(turn, capacity, with_tcp) -> None:
    rows, windows = turn

    found = on_links(rows, windows, capacity=capacity, with_tcp=with_tcp).readings()

    assert found == [
        slow_uplink(at, cell, rows, got, capacity, with_tcp=with_tcp)
        for at, cell, got in ends(windows)
    ]


def test_resource_without_devices_has_no_readings() -> None:
    def bare(whole: History) -> History:
        none = replace(
            whole.devices,
            hosts=(),
            names=(),
            figures=type(whole.devices.figures)(
                **{name: np.zeros((1, 0)) for name in whole.devices.figures.__dataclass_fields__}
            ),
            tcp=None,
        )
        return replace(whole, devices=none)

    window = ([None, None, None], [])
    link = ([None, None], [])

    assert bare(on_disks([], [window])).readings() == []
    assert bare(on_links([], [link])).readings() == []
