"""Reports of the agent of host h1, as records that the service stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from advisor.models import Allocation, ComplianceRecord
from advisor.models.workload import allocation_id
from tests.advisor.scenario import Cluster

REPORT_S = 30.0
SAMPLES = 3


def tell(cluster: Cluster, queues: Sequence[Mapping[str, int]], *, at: datetime) -> None:
    """One report over 30 s; by allocation how many of 3 samples saw a queue, bytes and drops."""
    ComplianceRecord.objects.bulk_create(
        ComplianceRecord(
            organisation=cluster.organisation,
            host=allocation.host,
            resource=allocation.resource,
            workload=allocation.workload,
            allocation=allocation_id(allocation),
            reported_at=at,
            desired={},
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


def tell_bursts(allocation: Allocation, *, now: datetime) -> None:
    """An hour of reports of 3 of 10 Mbit/s, of which every sixth finds 80 ms of queue."""
    _tell_hour(
        allocation,
        [
            {
                "applied": {"limit": 10e6},
                "measured": 3e6,
                "backlog_bytes": 0 if place % 6 else 100_000,
                "overlimits": 9,
            }
            for place in range(120)
        ],
        now=now,
    )


def tell_disk_bursts(allocation: Allocation, *, now: datetime) -> None:
    """An hour of reports of 200 of 1000 IOPS with three looks, one of them full in every fifth.

    Every fourth report is of an agent that was started anew and has no looks yet.
    """
    own = {"applied": {"limit": 1000.0}, "measured": 200.0}
    _tell_hour(
        allocation,
        [
            own | ({"short_looks": 3, "full_looks": place % 5 // 4} if place % 4 else {})
            for place in range(120)
        ],
        now=now,
    )


def _tell_hour(
    allocation: Allocation, reports: Sequence[Mapping[str, object]], *, now: datetime
) -> None:
    ComplianceRecord.objects.filter(allocation=allocation_id(allocation)).delete()
    ComplianceRecord.objects.bulk_create(
        ComplianceRecord(
            organisation=allocation.resource.organisation,
            host=allocation.host,
            resource=allocation.resource,
            workload=allocation.workload,
            allocation=allocation_id(allocation),
            reported_at=now - timedelta(seconds=REPORT_S * place),
            desired={},
            outcome="unchanged",
            verdict="unknown",
            **columns,
        )
        for place, columns in enumerate(reports)
    )
