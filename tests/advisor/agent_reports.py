"""Reports of the agent of host h1, as records that the service stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from advisor.models import ComplianceRecord
from advisor.models.workload import allocation_id
from tests.advisor.scenario import Cluster

REPORT_S = 30.0
SAMPLES = 3


def tell(cluster: Cluster, queues: Sequence[Mapping[str, int]], *, at: datetime) -> None:
    """One report over 30 s; by allocation how many of 3 samples saw a queue, bytes and drops.

    With a `limit` it was applied, a `rate` was measured under it, and it held packets back.
    """
    ComplianceRecord.objects.bulk_create(
        ComplianceRecord(
            organisation=cluster.organisation,
            host=allocation.host,
            resource=allocation.resource,
            workload=allocation.workload,
            allocation=allocation_id(allocation),
            reported_at=at,
            desired={},
            applied={"limit": queue["limit"]} if "limit" in queue else None,
            measured=queue.get("rate"),
            overlimits=queue.get("overlimits"),
            window_s=REPORT_S,
            sample_count=SAMPLES,
            backlogged_samples=queue.get("backlogged", 0),
            backlog_bytes=queue.get("bytes", 0),
            drops=queue.get("drops", 0),
            outcome="unchanged",
            verdict="unknown",
        )
        for allocation, queue in zip(cluster.allocations, queues, strict=False)
    )
