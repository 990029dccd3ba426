"""The pods that workloads are, the volumes that they claim, and those that lie on a resource."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Q

from advisor.models import ClusterClaim, ClusterPod, Resource, Workload

MOST_CLAIMS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """Those that are shown, and how many more there are."""

    rows: tuple[ClusterClaim, ...]
    more: int = 0


def pods_of(workload: Workload) -> list[ClusterPod]:
    """The pods that a workload is, as clusters show them: one, but where collectors unite some."""
    return list(
        ClusterPod.objects.filter(workload=workload, source__removed_at=None)
        .select_related("source")
        .order_by("pk")
    )


def claims_of(workload: Workload, pods: Iterable[ClusterPod]) -> Claims:
    """What the pods of a workload claim, by name."""
    wanted = Q()
    for pod in pods:
        if pod.claims:
            wanted |= Q(source=pod.source_id, namespace=pod.namespace, name__in=pod.claims)
    if not wanted:
        return Claims(rows=())
    rows = ClusterClaim.objects.filter(wanted, organisation=workload.organisation_id)
    return _first(rows.select_related("resource").order_by("namespace", "name", "pk"))


def claims_on(resource: Resource) -> Claims:
    """Those whose volume lies on a resource, by name; none on what has no room for volumes."""
    if "size_bytes" not in resource.traits.facts:
        return Claims(rows=())
    rows = ClusterClaim.objects.filter(resource=resource, source__removed_at=None)
    return _first(rows.select_related("source").order_by("namespace", "name", "pk"))


def _first(rows: Iterable[ClusterClaim]) -> Claims:
    found = list(rows)
    return Claims(rows=tuple(found[:MOST_CLAIMS]), more=max(len(found) - MOST_CLAIMS, 0))
