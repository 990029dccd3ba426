"""The pods of the clusters that are read, as far as collectors show them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from django.db.models import Q

from accounts.models import Organisation
from advisor.core.labelled_tier import labelled_tier
from advisor.models import ClusterPod
from ingest.core.identity.pods import KnownPod, KnownPods, pod_name, uids_of
from ingest.core.identity.workloads import FoundWorkload

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
    return KnownPods(_known(rows.select_related("source").order_by("source", "pk")))


def _known(rows: Iterable[ClusterPod]) -> Iterable[KnownPod]:
    for row in rows:
        label = row.source.tier_label
        tier = labelled_tier(row.labels, label) if label else None
        yield KnownPod(
            uid=row.uid,
            namespace=row.namespace,
            name=row.name,
            source=row.source.name,
            labels=row.labels,
            tier=tier,
            reason=f"{BY_LABEL}{label}={tier} of the pod, by source {row.source}" if tier else "",
        )
