"""Claims of clusters with the pods that use them, and the changes of their class."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Q, QuerySet

from advisor.decisions.kubernetes.class_changes import PlannedChange
from advisor.models import ClassChange, ClusterClaim, ClusterPod

_AT_ONCE = 200
_Key = tuple[int, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedClaim:
    """A claim, the pods that use it, and the newest change of its class, if there was one."""

    claim: ClusterClaim
    pods: Sequence[ClusterPod]
    change: ClassChange | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedChange:
    """A change of a class; `claim_id` is None if the claim is gone."""

    change: ClassChange
    claim_id: int | None


def claim_rows(claims: QuerySet[ClusterClaim]) -> QuerySet[ClusterClaim]:
    """Those of them whose source was not removed, with what is shown of each."""
    return claims.filter(source__removed_at=None).select_related("source", "resource")


def used_by(claims: QuerySet[ClusterClaim], pods: QuerySet[ClusterPod]) -> QuerySet[ClusterClaim]:
    """Those of the claims that some of these pods use."""
    wanted = Q()
    for pod in pods.order_by("pk"):
        if pod.claims:
            wanted |= Q(source=pod.source_id, namespace=pod.namespace, name__in=pod.claims)
    return claims.filter(wanted) if wanted else claims.none()


def listed_claims(claims: Sequence[ClusterClaim]) -> list[ListedClaim]:
    """The claims as they are listed, in their order; two queries for each 200 of them."""
    found: list[ListedClaim] = []
    for begin in range(0, len(claims), _AT_ONCE):
        some = claims[begin : begin + _AT_ONCE]
        pods, newest = _pods_of(some), _newest_changes(some)
        found += [
            ListedClaim(
                claim=one,
                pods=pods.get((one.source_id, one.namespace, one.name), ()),
                change=newest.get((one.source_id, one.uid)),
            )
            for one in some
        ]
    return found


def _pods_of(claims: Sequence[ClusterClaim]) -> Mapping[_Key, Sequence[ClusterPod]]:
    """By claim the pods that name it."""
    names = {one.name for one in claims}
    rows = ClusterPod.objects.filter(
        source__in={one.source_id for one in claims},
        namespace__in={one.namespace for one in claims},
        claims__has_any_keys=sorted(names),
    )
    found: dict[_Key, list[ClusterPod]] = {}
    for pod in rows.select_related("workload").order_by("name", "pk"):
        for name in pod.claims:
            found.setdefault((pod.source_id, pod.namespace, name), []).append(pod)
    return found


def _newest_changes(claims: Sequence[ClusterClaim]) -> Mapping[tuple[int, str], ClassChange]:
    rows = change_rows(ClassChange.objects.all()).filter(
        source__in={one.source_id for one in claims}, uid__in={one.uid for one in claims}
    )
    return {(one.source_id, one.uid): one for one in rows.order_by("pk")}


def change_rows(changes: QuerySet[ClassChange]) -> QuerySet[ClassChange]:
    """The changes with what is shown of each."""
    rows = changes.select_related("source", "undone_by", "recommendation__resource")
    return rows.defer("recommendation__inputs", "recommendation__answer")


def listed_changes(changes: Sequence[ClassChange]) -> Iterator[ListedChange]:
    """The changes as they are listed, in their order."""
    claims = ClusterClaim.objects.filter(
        source__in={one.source_id for one in changes}, uid__in={one.uid for one in changes},
        source__removed_at=None,
    )  # fmt: skip
    numbers = {(source, uid): pk for pk, source, uid in claims.values_list("pk", "source", "uid")}
    for one in changes:
        yield ListedChange(change=one, claim_id=numbers.get((one.source_id, one.uid)))


def claim_document(one: ListedClaim) -> dict[str, Any]:
    """The same for commands and the API; None is what is not known or not set."""
    claim = one.claim
    newest = None
    if one.change is not None:
        newest = change_document(ListedChange(change=one.change, claim_id=claim.pk))
    return {
        "id": claim.pk,
        "source_id": claim.source_id,
        "source": claim.source.name,
        "namespace": claim.namespace,
        "name": claim.name,
        "labels": claim.labels,
        "size_bytes": claim.size_bytes,
        "storage_class": claim.storage_class or None,
        "attributes_class": claim.current_class or None,
        "asked_attributes_class": claim.asked_class or None,
        "driver_says": claim.change or None,
        "volume": claim.volume or None,
        "driver": claim.driver or None,
        "resource_id": claim.resource_id,
        "resource": None if claim.resource is None else claim.resource.name,
        "pods": [_pod_document(pod) for pod in one.pods],
        "newest_change": newest,
    }


def _pod_document(pod: ClusterPod) -> dict[str, Any]:
    return {
        "name": pod.name,
        "node": pod.node or None,
        "owner": pod.owner or None,
        "workload_id": pod.workload_id,
        "workload": None if pod.workload is None else pod.workload.name,
    }


def change_document(one: ListedChange) -> dict[str, Any]:
    """The same for commands and the API."""
    change = one.change
    undone_by = getattr(change, "undone_by", None)
    return {
        "id": change.pk,
        "recommendation_id": change.recommendation_id,
        "claim_id": one.claim_id,
        "source_id": change.source_id,
        "source": change.source.name,
        "namespace": change.namespace,
        "name": change.name,
        "workload": change.workload,
        "former_class": change.former or None,
        "wanted_class": change.wanted or None,
        "limit": change.limit,
        "unit": change.recommendation.resource.unit,
        "state": change.state,
        "said": change.said,
        "asked_at": change.asked_at,
        "asked_by": change.asked_by,
        "changed_at": change.changed_at,
        "ended_at": change.ended_at,
        "undoes_id": change.undoes_id,
        "undone_by_id": None if undone_by is None else undone_by.pk,
        "can_be_undone": change.can_be_undone,
    }


def plan_document(one: PlannedChange) -> dict[str, Any]:
    """What an approval would make of a claim's class, or why it leaves it."""
    return {
        "claim_id": one.claim.pk,
        "source": one.claim.source.name,
        "namespace": one.claim.namespace,
        "name": one.claim.name,
        "workload": one.workload,
        "limit": one.limit,
        "former_class": one.claim.asked_class or None,
        "wanted_class": one.wanted or None,
        "why_not": one.why_not,
    }
