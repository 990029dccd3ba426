"""An uplink: one interface of one host; congestion is measured by its utilisation."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

from advisor.core.allocation import ReservationMode
from advisor.core.attribution.measure import SENT
from advisor.core.detection.nic_congestion import NicJudgement, judge_uplink
from advisor.core.detection.reading import nic_window
from advisor.core.detection.threshold import ThresholdMode
from advisor.core.interval_mean import mean_rate
from advisor.core.observation import Observation, UplinkObservation
from advisor.core.resource import PAYLOAD_RATIO, Unit
from advisor.resource_kinds.reader import DeviceSamples, Reader, ReadResource, SeenAllocation
from advisor.resource_kinds.traits import ChartPlan, Level, ResourceTraits, Words
from enforcers.contract import host_part_bits_per_s
from ingest.core.catalogue import NET
from ingest.core.rates import NetRates

THRESHOLD_RATIO = 0.9
"""An uplink above this utilisation has no capacity left for bursts."""

ACTIVE_RATIO = 0.01
ACTIVITY_FLOOR_BITS_PER_S = 1e6
"""Of an uplink without a known capacity."""


def _window(
    resource: ReadResource,
    at: datetime,
    devices: Sequence[DeviceSamples[NetRates]],
    allocations: Sequence[SeenAllocation],
) -> Observation:
    rates = devices[0].rates
    # Queues and drops at our own limits are no signal of the uplink, and it is unknown which of
    # the retransmits they cause.
    free = [one for one in allocations if not one.observation.throttled]
    waiting = [one.backlog_bytes for one in free if one.backlog_bytes is not None]
    tcp = devices[0].tcp if len(free) == len(allocations) else ()
    return UplinkObservation(
        at=at,
        window_s=resource.window_s,
        tx_bits_per_s=mean_rate(rates, [item.sent_bits_per_s for item in rates]),
        capacity_bits_per_s=resource.capacity,
        packets=sum(item.sent_packets_per_s * item.seconds for item in rates),
        drops=sum(item.sent_drops_per_s * item.seconds for item in rates)
        + sum(one.drops or 0.0 for one in free),
        backlog_bytes=sum(waiting) if waiting else None,
        segments=sum(item.segments_per_s * item.seconds for item in tcp) if tcp else None,
        retransmits=sum(item.retransmits_per_s * item.seconds for item in tcp) if tcp else None,
        allocations=tuple(one.observation for one in allocations),
    )


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
    reader=Reader(measurement=NET, window=_window, with_tcp=True),
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
