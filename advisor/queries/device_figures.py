"""What hosts say of the devices of a resource, how their queues fill, and what was delivered."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from advisor.core.detection.queue_burst import NoQueueBurst, QueueBurst
from advisor.core.device.seen_capacity import SeenCapacity
from advisor.history.seen_capacity import capacity_seen
from advisor.models import Attachment, Resource
from advisor.queries.queue_bursts import queue_bursts
from advisor.queries.size_terms import SizeTermFacts, size_term_facts
from ingest.core.identity.facts import Facts, Kind, Place
from ingest.facts import current_facts

MOST_DEVICES = 50
BITS_PER_MBIT = 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceFigures:
    """One device; what is None nobody said. `depth_source` says who stated the queue depth.

    `queue` is whether its queue filled in bursts in the last day; None where there is no queue.
    """

    host: str
    device: str
    queue_depth: int | None
    depth_source: str
    scheduler: str | None
    size_bytes: float | None
    line_rate_bits_per_s: float | None
    queue: QueueBurst | NoQueueBurst | None

    @property
    def burst(self) -> QueueBurst | None:
        """The bursts in which its queue fills, if it does."""
        return self.queue if isinstance(self.queue, QueueBurst) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceDevices:
    """The devices, how many more there are, the capacity as it was seen, and the size term."""

    devices: tuple[DeviceFigures, ...]
    more: int
    seen: SeenCapacity | None
    size_term: SizeTermFacts | None


def resource_devices(row: Resource, *, now: datetime) -> ResourceDevices:
    """The devices of a resource in order of their hosts."""
    every = list(row.attachments.select_related("host").order_by("host__name", "device"))
    shown = every[:MOST_DEVICES]
    hosts = {at.host.name for at in shown}
    facts = Facts.of(current_facts(row.organisation, now=now, hosts=hosts))
    return ResourceDevices(
        devices=tuple(
            _figures(at, facts, queue)
            for at, queue in zip(shown, queue_bursts(row, shown, now=now), strict=True)
        ),
        more=len(every) - len(shown),
        seen=capacity_seen(row, now=now),
        size_term=size_term_facts(row, now=now),
    )


def _figures(
    at: Attachment, facts: Facts, queue: QueueBurst | NoQueueBurst | None
) -> DeviceFigures:
    device = Place(at.host.name, Kind.DEVICE, at.device)
    speed = _number(facts, Place(at.host.name, Kind.NIC, at.device), "speed")
    stated = at.device_queue_depth != at.derived_queue_depth
    return DeviceFigures(
        host=at.host.name,
        device=at.device,
        queue_depth=at.device_queue_depth,
        depth_source="stated" if stated else "said by the host",
        scheduler=facts.value(device, "scheduler"),
        size_bytes=_number(facts, device, "size_bytes"),
        line_rate_bits_per_s=None if speed is None else speed * BITS_PER_MBIT,
        queue=queue,
    )


def _number(facts: Facts, place: Place, name: str) -> float | None:
    text = facts.value(place, name) or ""
    return float(text) if text.isdecimal() else None


def device_document(one: DeviceFigures) -> dict[str, Any]:
    """The same for commands and the API."""
    burst = one.burst
    return {
        "host": one.host,
        "device": one.device,
        "queue_depth": one.queue_depth,
        "depth_source": None if one.queue_depth is None else one.depth_source,
        "scheduler": one.scheduler,
        "size_bytes": one.size_bytes,
        "line_rate_bits_per_s": one.line_rate_bits_per_s,
        "burst": None if burst is None else asdict(burst) | {"text": burst.text},
        "reason": one.queue.reason if isinstance(one.queue, NoQueueBurst) else "",
    }
