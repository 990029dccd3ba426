"""Where the volumes of clusters lie, and which workloads their pods are, as hosts show it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from django.db.models import Q

from accounts.models import Organisation
from advisor.decisions.found.look import Look
from advisor.history.recordset import update_rows
from advisor.models import ClusterClaim, ClusterPod, Resource
from ingest.core.identity.datastores import FoundDatastore
from ingest.core.identity.facts import Kind


def keep_clusters(
    organisation: Organisation,
    seen: Look,
    *,
    workloads: Mapping[int, int],
    resources: Mapping[tuple[str, ...], Resource],
) -> None:
    """Say of each pod which workload it is, and of each claim on which datastore its volume lies.

    `workloads` are those found now, by the number of the pod; `resources` those of datastores, by
    their keys.
    """
    if ClusterPod.objects.filter(organisation=organisation).exists():
        _keep_pods(organisation, workloads)
        _keep_claims(organisation, seen, resources)


def _keep_pods(organisation: Organisation, workloads: Mapping[int, int]) -> None:
    rows = ClusterPod.objects.filter(
        Q(workload__isnull=False) | Q(pk__in=workloads), organisation=organisation
    )
    changed = []
    for row in rows.order_by("pk").only("workload"):
        if row.workload_id != workloads.get(row.pk):
            row.workload_id = workloads.get(row.pk)
            changed.append(row)
    update_rows(changed, ["workload"])


def _keep_claims(
    organisation: Organisation, seen: Look, resources: Mapping[tuple[str, ...], Resource]
) -> None:
    claims = ClusterClaim.objects.filter(organisation=organisation).exclude(volume="")
    rows = list(claims.order_by("pk").only("source", "volume", "resource"))
    # A name that two clusters give to their volumes tells nothing.
    sources: dict[str, set[int]] = defaultdict(set)
    for row in rows:
        sources[row.volume].add(row.source_id)
    lies = {
        volume: resources[one.keys].pk
        for volume, one in _volumes(seen)
        if one.keys in resources and len(sources[volume]) == 1
    }
    changed = [row for row in rows if row.resource_id != lies.get(row.volume)]
    for row in changed:
        row.resource_id = lies.get(row.volume)
    update_rows(changed, ["resource"])


def _volumes(seen: Look) -> Iterable[tuple[str, FoundDatastore]]:
    """Each persistent volume that a host has, and the datastore under its device or mount."""
    mounts = seen.storage.by_place()
    for place in (*seen.facts.places(Kind.DEVICE), *seen.facts.places(Kind.MOUNT)):
        volumes = seen.facts.values(place, "volume")
        if not volumes:
            continue
        if place.kind == Kind.MOUNT:
            one = mounts.get(place)
        else:
            one = seen.backing.datastore_of(place.host, place.subject)
        if one is not None:
            for volume in volumes:
                yield volume, one
