"""The pods of the clusters that are read, as far as collectors show them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from django.db.models import Q

from accounts.models import Organisation
from advisor.core.labelled_tier import labelled_tier
from advisor.models import ClusterClaim, ClusterPod
from ingest.core.identity.pods import KnownPod, KnownPods, pod_name, uids_of
from ingest.core.identity.workloads import FoundWorkload

_Labels = Mapping[tuple[int, str, str], Mapping[str, str]]
"""By source, namespace and name of a claim."""
BY_LABEL = "label "
"""How the reason of a tier begins that a label gives."""


def known_pods(organisation: Organisation, workloads: Sequence[FoundWorkload]) -> KnownPods:
    """Those among the workloads whose source takes over what it reads."""
    uids = {uid for one in workloads for uid in uids_of(one)}
    names = {name for one in workloads if (name := pod_name(one)) is not None}
    if not (uids or names):
        return KnownPods(())
    rows = ClusterPod.objects.filter(
        Q(uid__in=uids) | Q(name__in={name for _, name in names}),
        organisation=organisation, source__takes_over=True, source__removed_at=None,
    )  # fmt: skip
    found = list(rows.select_related("source").order_by("source", "pk"))
    return KnownPods(_known(found, _labels_of_claims(organisation, found)))


def _labels_of_claims(organisation: Organisation, pods: Iterable[ClusterPod]) -> _Labels:
    """The labels of the claims of these pods."""
    names = {name for pod in pods for name in pod.claims}
    rows = ClusterClaim.objects.filter(organisation=organisation, name__in=names)
    return {
        (source, namespace, name): labels
        for source, namespace, name, labels in rows.values_list(
            "source", "namespace", "name", "labels"
        )
    }


def _known(rows: Iterable[ClusterPod], claims: _Labels) -> Iterable[KnownPod]:
    for row in rows:
        label = row.source.tier_label
        own: dict[str, str] = {}
        for name in row.claims:
            own |= claims.get((row.source_id, row.namespace, name), {})
        tier = labelled_tier(row.labels, label) if label else None
        yield KnownPod(
            number=row.pk,
            uid=row.uid,
            namespace=row.namespace,
            name=row.name,
            # Of one name the pod's own counts.
            labels={**own, **row.labels},
            tier=tier,
            reason=f"{BY_LABEL}{label}={tier} of the pod, by source {row.source}" if tier else "",
        )
