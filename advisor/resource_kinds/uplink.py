"""An uplink: one interface of one host; congestion is measured by its utilisation."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

import numpy as np

from advisor.core.allocation import ReservationMode
from advisor.core.attribution.measure import SENT
from advisor.core.detection.nic_signals import NicJudgement, judge_uplink
from advisor.core.detection.reading import nic_window
from advisor.core.detection.threshold import ThresholdMode
from advisor.core.observation import Observation, UplinkObservation
from advisor.core.resource import PAYLOAD_RATIO, Unit
from advisor.resource_kinds.reader import Devices, Reader, ReadResource, SeenAllocation
from advisor.resource_kinds.traits import ChartPlan, Level, ResourceTraits, Words
from enforcers.contract import host_part_bits_per_s
from ingest.core.figures import INTERFACE, InterfaceFigures, TcpFigures
from ingest.core.grid import Floats

THRESHOLD_RATIO = 0.9
"""An uplink above this utilisation has no capacity left for bursts."""

ACTIVE_RATIO = 0.01
ACTIVITY_FLOOR_BITS_PER_S = 1e6
"""Of an uplink without a known capacity."""


def _window(
    resource: ReadResource,
    at: datetime,
    place: int,
    devices: Devices[InterfaceFigures],
    allocations: Sequence[SeenAllocation],
) -> Observation:
    cell, found = (place, devices.places(place)[0]), devices.figures
    # Queues and drops at our own limits are no signal of the uplink, and it is unknown which of
    # the retransmits they cause.
    free = [one for one in allocations if not one.observation.throttled]
    waiting = [one.backlog_bytes for one in free if one.backlog_bytes is not None]
    segments, retransmits = (
        _segments(resource, devices.tcp, cell) if len(free) == len(allocations) else (None, None)
    )
    return UplinkObservation(
        at=at,
        window_s=resource.window_s,
        tx_bits_per_s=float(found.sent_bits_per_s[cell]),
        capacity_bits_per_s=resource.capacity,
        packets=float(found.sent_packets_per_s[cell]) * resource.window_s,
        drops=float(found.sent_drops_per_s[cell]) * resource.window_s
        + sum(one.drops or 0.0 for one in free),
        backlog_bytes=sum(waiting) if waiting else None,
        segments=segments,
        retransmits=retransmits,
        allocations=tuple(one.observation for one in allocations),
    )


def _segments(
    resource: ReadResource, tcp: TcpFigures | None, cell: tuple[int, int]
) -> tuple[float | None, float | None]:
    """TCP segments that the host sent in the window, and those sent again; None if not read."""
    if tcp is None or not tcp.seconds[cell]:
        return None, None
    return (
        float(tcp.segments_per_s[cell]) * resource.window_s,
        float(tcp.retransmits_per_s[cell]) * resource.window_s,
    )


def _delivered(_resource: ReadResource, devices: Devices[InterfaceFigures]) -> Floats:
    total: Floats = np.nansum(devices.figures.sent_bits_per_s, axis=1)
    return total


def _judge_signals(seen: Sequence[Observation]) -> NicJudgement:
    return judge_uplink([nic_window(one) for one in seen if isinstance(one, UplinkObservation)])


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
    reader=Reader(figures=INTERFACE, delivered=_delivered, window=_window, with_tcp=True),
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
