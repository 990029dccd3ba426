"""In which layers of its hosts the latency of a resource's devices arose, where they say it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db import connection

from advisor.core.device.latency_layers import (
    LatencyLayers,
    NoLayers,
    SentLatency,
    split_latency,
)
from advisor.models import Resource
from ingest.core.mapping import Form

GUEST, KERNEL, QUEUE = (
    f"average_{part}_millisec_per_command" for part in ("guest", "kernel", "queue")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceLayers:
    """One device of a host, and its layers or why there are none."""

    host: str
    device: str
    found: LatencyLayers | NoLayers


def read_latency_layers(
    resource: Resource, *, since: datetime, until: datetime
) -> list[DeviceLayers]:
    """The means over the I/Os of (since, until], by host and device; empty if nobody says them.

    They are in rows of samples alone, which are kept for hours.
    """
    devices = [(one.host_id, one.device) for one in resource.attachments.all()]
    if not devices:
        return []
    with connection.cursor() as cursor:
        cursor.execute(
            _MEANS,
            [
                [host for host, _ in devices],
                [device for _, device in devices],
                since,
                until,
                Form.RATE.value,
                GUEST,
                KERNEL,
                QUEUE,
            ],
        )
        rows = cursor.fetchall()
    return [
        DeviceLayers(
            host=host,
            device=device,
            found=split_latency(
                SentLatency(
                    guest_ms=guest_ms, kernel_ms=kernel_ms, queue_ms=queue_ms, device_ms=device_ms
                )
            ),
        )
        for host, device, guest_ms, kernel_ms, queue_ms, device_ms in rows
    ]


_MEANS = """
SELECT * FROM ingest_read_latency_layers(
    %s::bigint[], %s::text[], %s::timestamptz, %s::timestamptz,
    %s::text, %s::text, %s::text, %s::text
)
"""
"""Each I/O counts once, so that means of the parts are of the same I/Os as that of the whole."""
