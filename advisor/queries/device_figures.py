"""What hosts say of the devices of a resource, and what the resource delivered under load."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from advisor.core.device.seen_capacity import SeenCapacity
from advisor.history.seen_capacity import capacity_seen
from advisor.models import Attachment, Resource
from ingest.core.identity.facts import Facts, Kind, Place
from ingest.facts import current_facts

MOST_DEVICES = 50
BITS_PER_MBIT = 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceFigures:
    """One device; what is None nobody said. `depth_source` says who stated the queue depth."""

    host: str
    device: str
    queue_depth: int | None
    depth_source: str
    scheduler: str | None
    size_bytes: float | None
    line_rate_bits_per_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceDevices:
    """The devices, how many more there are, and the capacity as it was seen."""

    devices: tuple[DeviceFigures, ...]
    more: int
    seen: SeenCapacity | None


def resource_devices(row: Resource, *, now: datetime) -> ResourceDevices:
    """The devices of a resource in order of their hosts."""
    every = list(row.attachments.select_related("host").order_by("host__name", "device"))
    shown = every[:MOST_DEVICES]
    hosts = {at.host.name for at in shown}
    facts = Facts.of(current_facts(row.organisation, now=now, hosts=hosts))
    return ResourceDevices(
        devices=tuple(_figures(at, facts) for at in shown),
        more=len(every) - len(shown),
        seen=capacity_seen(row, now=now),
    )


def _figures(at: Attachment, facts: Facts) -> DeviceFigures:
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
    )


def _number(facts: Facts, place: Place, name: str) -> float | None:
    text = facts.value(place, name) or ""
    return float(text) if text.isdecimal() else None
