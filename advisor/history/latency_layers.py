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
from ingest.core.catalogue import DISKIO, GAUGE
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
            {
                "hosts": [host for host, _ in devices],
                "devices": [device for _, device in devices],
                "since": since,
                "until": until,
                "rate": Form.RATE.value,
                "carried": DISKIO.name,
                "gauge": GAUGE.name,
                "guest": GUEST,
                "kernel": KERNEL,
                "queue": QUEUE,
            },
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


_MEANS = f"""
WITH device AS (
    SELECT * FROM unnest(%(hosts)s::bigint[], %(devices)s::text[]) AS own(host_id, subject)
), carried AS (
    SELECT device.*, sample.time, sample.reads + sample.writes AS ios,
           sample.read_time + sample.write_time AS took
      FROM device
      JOIN ingest_series AS series USING (host_id, subject)
      JOIN {DISKIO.table} AS sample ON sample.series_id = series.id
     WHERE series.measurement = %(carried)s AND series.form = %(rate)s
       AND sample.time > %(since)s AND sample.time <= %(until)s
), said AS (
    SELECT device.*, series.tags ->> 'field' AS field, sample.time, sample.value
      FROM device
      JOIN ingest_series AS series USING (host_id, subject)
      JOIN {GAUGE.table} AS sample ON sample.series_id = series.id
     WHERE series.measurement = %(gauge)s
       AND series.tags ->> 'field' IN (%(guest)s, %(kernel)s, %(queue)s)
       AND sample.time > %(since)s AND sample.time <= %(until)s
), weighed AS (
    SELECT host_id, subject, field, sum(value * ios) / nullif(sum(ios), 0) AS ms,
           sum(took)::float8 / nullif(sum(ios), 0) AS device_ms
      FROM carried JOIN said USING (host_id, subject, time)
     GROUP BY host_id, subject, field
)
SELECT host.name, subject,
       max(ms) FILTER (WHERE field = %(guest)s), max(ms) FILTER (WHERE field = %(kernel)s),
       max(ms) FILTER (WHERE field = %(queue)s), max(device_ms) FILTER (WHERE field = %(guest)s)
  FROM weighed JOIN ingest_host AS host ON host.id = host_id
 GROUP BY host.name, subject
 ORDER BY host.name, subject
"""  # noqa: S608  # of this file
"""Each I/O counts once, so that means of the parts are of the same I/Os as that of the whole."""
