"""The queue depths of a datastore and of its hosts, with the load they carried."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime

from django.db.models import Exists, OuterRef, Q

from advisor.advice.queue_depth.decide.queue_depth_answer import HostDepth, QueueDepthInputs
from advisor.history.load_points import device_day
from advisor.models import Attachment, Resource


def has_stated_depths(_now: datetime) -> Q:
    """Resources of which depths are stated on both sides."""
    stated = Attachment.objects.filter(resource=OuterRef("pk"), device_queue_depth__isnull=False)
    return Q(Exists(stated), lun_queue_depth__isnull=False)


def queue_depth_inputs(resource: Resource, now: datetime) -> list[QueueDepthInputs]:
    """For a datastore whose queue depths were stated, on its side and on the hosts'."""
    attachments = list(
        resource.attachments.filter(device_queue_depth__isnull=False).select_related("host")
    )
    if resource.lun_queue_depth is None or not attachments:
        return []
    shares: dict[int, int] = defaultdict(int)
    present = resource.allocations.filter(vanished_at=None)
    for allocation in present.select_related("workload"):
        shares[allocation.host_id] += allocation.weight
    points = [window.load_point for window in device_day(resource, until=now)]
    return [
        QueueDepthInputs(
            datastore=resource.name,
            lun_queue_depth=resource.lun_queue_depth,
            hosts=tuple(
                HostDepth(
                    host=attachment.host.name,
                    device_queue_depth=attachment.device_queue_depth or 1,
                    shares=float(shares.get(attachment.host_id, 1000)),
                )
                for attachment in attachments
            ),
            peak_outstanding_io=max((point.outstanding_io for point in points), default=None),
            peak_windows=len(points),
            points=tuple(points),
        )
    ]
