"""Claims of a Kubernetes cluster in the fleet, and changes of their class."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

from advisor.models import (
    ClassChange,
    ClusterClaim,
    ClusterPod,
    ReadSource,
    Recommendation,
    VolumeClass,
    Workload,
)
from advisor.models.source import SourceKind
from tests.web.fleet import Fleet
from tests.web.test_advice_pages import advise


def cluster(fleet: Fleet, name: str = "main", **columns: Any) -> ReadSource:
    """A cluster that is read as a source."""
    return ReadSource.objects.create(
        organisation=fleet.organisation, kind=SourceKind.KUBERNETES, name=name,
        address="https://k.example.org", password="x", next_at=fleet.now + timedelta(days=1),
        **columns,
    )  # fmt: skip


def claimed(fleet: Fleet, count: int = 1, **columns: Any) -> ReadSource:
    """The workload db-orders is a pod with claims on nfs-07."""
    source = cluster(fleet)
    names = [f"data-{number:03}" for number in range(count)]
    ClusterPod.objects.create(
        organisation=fleet.organisation, source=source, uid="p-1", namespace="shop", name="db-0",
        owner="StatefulSet/db", node="node-1", claims=names,
        workload=Workload.objects.get(name="db-orders"),
    )  # fmt: skip
    ClusterClaim.objects.bulk_create(
        ClusterClaim(
            organisation=fleet.organisation, source=source, uid=name, namespace="shop", name=name,
            volume=f"pvc-{name}", storage_class="fast", resource=fleet.resources["nfs-07"],
            **columns,
        )
        for name in names
    )  # fmt: skip
    return source


def changed(fleet: Fleet, claim: ClusterClaim, **columns: Any) -> ClassChange:
    """The claim was given the class gold by an owner; it had silver."""
    about = {
        "former": "silver", "wanted": "gold", "limit": 200.0, "state": "done",
        "recommendation": Recommendation.objects.order_by("pk")[0], "workload": "db-orders",
        "asked_at": fleet.now, "asked_by": "owner", "look_at": fleet.now,
        "changed_at": fleet.now, "ended_at": fleet.now,
    }  # fmt: skip
    return ClassChange.objects.create(
        organisation=fleet.organisation, source=claim.source, uid=claim.uid,
        namespace=claim.namespace, name=claim.name, **{**about, **columns},
    )  # fmt: skip


def advised_limit(fleet: Fleet) -> Recommendation:
    """A limit that nothing holds, of a pod whose claim could have a class that does."""
    row = advise(fleet, "limit_check")
    (limit,) = json.loads(row.answer)["limits"]
    source = cluster(fleet, class_rates="iops=IOPS")
    workload, _ = Workload.objects.get_or_create(organisation=fleet.organisation, name=row.subject)
    ClusterPod.objects.create(
        organisation=fleet.organisation, source=source, uid="p-1", namespace="shop", name="db-0",
        claims=["data"], workload=workload,
    )  # fmt: skip
    ClusterClaim.objects.create(
        organisation=fleet.organisation, source=source, uid="c-1", namespace="shop", name="data",
        driver="csi.example.net", resource=row.resource, asked_class="silver",
    )  # fmt: skip
    VolumeClass.objects.create(
        organisation=fleet.organisation, source=source, name="gold", driver="csi.example.net",
        parameters={"iops": str(int(limit["limit_iops"]))},
    )  # fmt: skip
    return row
