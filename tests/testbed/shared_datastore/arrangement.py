"""What the service knows of two hosts with one datastore: 12 workloads here and 4 there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils import timezone

from advisor.core.resource import ResourceKind, Tier, tier_controls
from advisor.decisions.enrolment import Enrolment, enroll
from advisor.models import Allocation, LimitScope
from tests.web.agents import publish
from tests.web.fleet import Fleet, empty_fleet

CAPACITY_IOPS = 600.0
THRESHOLD_MS = 40.0
RESERVED_IOPS = 75.0
DATASTORE = "shared"
HIGH, MEDIUM, LOW = Tier.HIGH, Tier.MEDIUM, Tier.LOW
HOSTS: Mapping[str, tuple[Tier, ...]] = {
    "esx1": (MEDIUM, *[HIGH] * 4, *[MEDIUM] * 3, *[LOW] * 4),
    "esx2": (MEDIUM, HIGH, MEDIUM, LOW),
}
"""The tiers of each host's workloads; the first one has a reservation."""
SHARES = {str(tier): float(tier_controls(tier).shares) for tier in Tier}
CLASSES = {host: ("reserved", *(str(tier) for tier in tiers[1:])) for host, tiers in HOSTS.items()}


def arrange() -> tuple[Fleet, list[dict[str, Any]]]:
    """Both hosts with a policy in force; and of each what its agent is given when enrolled."""
    fleet = empty_fleet(timezone.now())
    disks = {name: f"nullb{place}" for place, name in enumerate(HOSTS)}
    for name in HOSTS:
        fleet.add_host(name, last_sample_at=None)
    resource = fleet.add_resource(
        DATASTORE,
        ResourceKind.DATASTORE,
        capacity=CAPACITY_IOPS,
        threshold=THRESHOLD_MS,
        attachments=tuple(disks.items()),
    )
    for name, tiers in HOSTS.items():
        for place, tier in enumerate(tiers, start=1):
            allocation = fleet.add_allocation(resource, f"{name}-vm{place}", name, tier)
            Allocation.objects.filter(pk=allocation.pk).update(
                adapter=f"{_parent(name)}/vm{place}",
                reservation=RESERVED_IOPS if place == 1 else 0.0,
            )
    enrolled = [
        enroll(organisation=fleet.organisation, host_name=name, lease_s=3600) for name in HOSTS
    ]
    workloads = resource.allocations.values_list("workload__name", flat=True)
    # Agents compute what each is entitled to; this is what pages show.
    publish(
        resource,
        by=fleet.people.owner,
        now=fleet.now,
        entitlements=dict.fromkeys(workloads, 0.0),
    )
    return fleet, [
        _given(each, disks[each.host.name], workloads=len(HOSTS[each.host.name]))
        for each in enrolled
    ]


def arrange_joint_limit(limit_iops: float) -> list[dict[str, Any]]:
    """A workload that runs on both hosts under one limit; of each what its agent is given."""
    fleet = empty_fleet(timezone.now())
    disks = {name: f"nullb{place}" for place, name in enumerate(HOSTS)}
    for name in HOSTS:
        fleet.add_host(name, last_sample_at=None)
    resource = fleet.add_resource(
        DATASTORE,
        ResourceKind.DATASTORE,
        capacity=CAPACITY_IOPS,
        threshold=THRESHOLD_MS,
        attachments=tuple(disks.items()),
    )
    for name in HOSTS:
        allocation = fleet.add_allocation(resource, "db", name, MEDIUM, limit=limit_iops)
        Allocation.objects.filter(pk=allocation.pk).update(
            adapter=f"{_parent(name)}/vm1", limit_scope=LimitScope.POOLED
        )
    enrolled = [
        enroll(organisation=fleet.organisation, host_name=name, lease_s=3600) for name in HOSTS
    ]
    publish(resource, by=fleet.people.owner, now=fleet.now, entitlements={"db": 0.0})
    return [_given(each, disks[each.host.name], workloads=1) for each in enrolled]


def _given(enrolled: Enrolment, disk: str, *, workloads: int) -> dict[str, Any]:
    name = enrolled.host.name
    return {
        "name": name,
        "disk": disk,
        "parent": _parent(name),
        "workloads": workloads,
        "files": enrolled.files(),
    }


def _parent(host: str) -> str:
    return f"/{host}.slice"
