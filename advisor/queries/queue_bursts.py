"""Devices of a resource whose queue fills in bursts that averages hide."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from advisor.core.detection.queue_burst import NoQueueBurst, QueueBurst, find_queue_burst
from advisor.core.stored_hour import WINDOW_S
from advisor.history.queue_looks import read_device_windows
from advisor.models import Attachment, Resource
from ingest.core.grid import grid_of

LOOKED_BACK = timedelta(days=1)
"""A look each ten seconds: in a shorter time few of them meet a burst."""


def queue_bursts(
    row: Resource, attachments: Sequence[Attachment], *, now: datetime
) -> list[QueueBurst | NoQueueBurst | None]:
    """What is found of each of its devices, in their order; None of what has no such queue."""
    if not row.traits.costs_by_size:
        return [None] * len(attachments)
    status = getattr(row, "status", None)
    threshold_ms = (status.threshold if status else None) or row.threshold
    grid = grid_of(now - LOOKED_BACK, now, float(WINDOW_S))
    return [
        find_queue_burst(one, threshold_ms=threshold_ms)
        for one in read_device_windows(attachments, grid)
    ]
