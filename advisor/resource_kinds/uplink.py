"""An uplink: one interface of one host; congestion is measured by its utilisation."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from operator import attrgetter

import numpy as np

from advisor.core.allocation import ReservationMode
from advisor.core.attribution.measure import SENT
from advisor.core.detection.nic_signals import NicJudgement, judge_uplink
from advisor.core.detection.reading import Reading, UplinkColumns, in_order, uplink_readings
from advisor.core.detection.threshold import ThresholdMode
from advisor.core.resource import PAYLOAD_RATIO, Unit
from advisor.resource_kinds.reader import Devices, Reader, ReadResource, SeenAllocations
from advisor.resource_kinds.traits import ChartPlan, Level, ResourceTraits, Words
from enforcers.contract import host_part_bits_per_s
from ingest.core.figures import INTERFACE, InterfaceFigures, TcpFigures
from ingest.core.grid import Flags, Floats, Integers

THRESHOLD_RATIO = 0.9
"""An uplink above this utilisation has no capacity left for bursts."""

ACTIVE_RATIO = 0.01
ACTIVITY_FLOOR_BITS_PER_S = 1e6
"""Of an uplink without a known capacity."""


def _readings(
    resource: ReadResource,
    ends: Sequence[datetime],
    devices: Devices[InterfaceFigures],
    seen: SeenAllocations,
) -> list[Reading]:
    found = devices.figures
    # Queues and drops at our own limits are no signal of the uplink, and it is unknown which of
    # the retransmits they cause.
    held, free = seen.measured & seen.throttled, seen.measured & ~seen.throttled
    waiting = free & ~np.isnan(seen.backlog_bytes)
    dropped = in_order(np.where(free & ~np.isnan(seen.drops), seen.drops, 0.0))
    # The device that was measured in each window.
    cells = np.arange(len(ends)), devices.measured.argmax(axis=1)
    segments, retransmits = _segments(
        resource, devices.tcp, cells, known=~np.logical_or.reduce(held, axis=1)
    )
    columns = UplinkColumns(
        tx_bits_per_s=found.sent_bits_per_s[cells],
        capacity_bits_per_s=np.full(len(ends), resource.capacity, dtype=np.float64),
        packets=found.sent_packets_per_s[cells] * resource.window_s,
        drops=found.sent_drops_per_s[cells] * resource.window_s + dropped,
        backlog_bytes=np.where(
            waiting.any(axis=1), in_order(np.where(waiting, seen.backlog_bytes, 0.0)), np.nan
        ),
        segments=segments,
        retransmits=retransmits,
        workloads=seen.workloads,
        rate=seen.rate,
        reservation=seen.reservation,
        backlogged=seen.backlogged,
        throttled=seen.throttled,
    )
    return uplink_readings(ends, resource.window_s, columns)


def _segments(
    resource: ReadResource,
    tcp: TcpFigures | None,
    cells: tuple[Integers, Integers],
    *,
    known: Flags,
) -> tuple[Floats, Floats]:
    """TCP segments that the host sent in each window, and those sent again; NaN if not read."""
    if tcp is None:
        return np.full(len(known), np.nan), np.full(len(known), np.nan)
    is_read = known & (tcp.seconds[cells] > 0)
    return (
        np.where(is_read, tcp.segments_per_s[cells] * resource.window_s, np.nan),
        np.where(is_read, tcp.retransmits_per_s[cells] * resource.window_s, np.nan),
    )


def _delivered(_resource: ReadResource, devices: Devices[InterfaceFigures]) -> Floats:
    total: Floats = np.nansum(devices.figures.sent_bits_per_s, axis=1)
    return total


def _judge_signals(readings: Sequence[Reading]) -> NicJudgement:
    return judge_uplink([one.nic for one in readings if one.nic is not None])


def _activity_floor(capacity: float | None) -> float:
    return ACTIVITY_FLOOR_BITS_PER_S if capacity is None else ACTIVE_RATIO * capacity


UPLINK = ResourceTraits(
    name="uplink",
    words=Words(area="Network", noun="uplink", plural="uplinks"),
    level=Level(noun="load", unit="%", per_unit=100.0),
    measure=SENT,
    units=(Unit.BITS_PER_S,),
    modes=(ReservationMode.ADDITIVE, ReservationMode.FLOOR),
    threshold=THRESHOLD_RATIO,
    # Peak throughput is learnt from latency over outstanding I/O.
    threshold_modes=(ThresholdMode.FIXED, ThresholdMode.BASELINE),
    activity_floor=_activity_floor,
    reader=Reader(
        figures=INTERFACE,
        carried=attrgetter("sent_bits_per_s"),
        delivered=_delivered,
        readings=_readings,
        with_tcp=True,
    ),
    charts=(
        ChartPlan(key="level", title="Utilisation", form="line"),
        ChartPlan(key="workloads", title="Rate per workload", form="stack"),
        ChartPlan(key="rate", title="Sent and received", form="line"),
        ChartPlan(key="losses", title="Dropped and broken packets", form="line"),
    ),
    adapter="vnic",
    adapter_option="--vnic INTERFACE",
    load_unit=Unit.BITS_PER_S,
    device_pattern=re.compile(r"(eth|en|bond|team|wl|ib)\w*"),
    payload_ratio=PAYLOAD_RATIO,
    host_part=host_part_bits_per_s,
    found_by_identity=True,
    one_device="an uplink is one interface of one host",
    facts=frozenset({"line_rate"}),
    fixed_capacity=True,
    shows_queues=True,
    needs_capacity=True,
    counts_before_limit=True,
    carries_others=True,
    latency_gap="an uplink has no latency of its own that is measured",
    judge_signals=_judge_signals,
)
