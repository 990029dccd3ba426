"""Read a Kubernetes cluster that is a source: its pods, and the volumes that they claim."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from django.db import transaction

from advisor.core.labelled_tier import unknown_tiers
from advisor.decisions.kubernetes.class_runner import carry_out_changes
from advisor.decisions.kubernetes.keep import keep_cluster
from advisor.decisions.kubernetes.own_cluster import (
    SETTING,
    is_by_own_account,
    may_use_own_account,
    own_account,
)
from advisor.models import ReadSource
from ingest.core.kubernetes.cluster import Cluster
from ingest.core.source_errors import AnswerError
from ingest.imports.connection import Trust, Way
from ingest.imports.kubernetes import Api, greet, read_live

MOST_TOLD = 3
"""Of tiers that there are not."""


def greeting(row: ReadSource, way: Way) -> str:
    """Which version it has, once it has let the token list pods; else SourceError."""
    return f"{greet(*_reached(row, way))} lets pods be listed"


def read(row: ReadSource, way: Way, *, now: datetime) -> str:
    """Read all of it, and say in words what was found; SourceError says why nothing was."""
    cluster = read_live(*_reached(row, way))
    with transaction.atomic():
        # Who pauses or removes it meanwhile wins.
        stands = ReadSource.objects.select_for_update().filter(
            pk=row.pk, paused_at=None, removed_at=None
        )
        if stands.exists():
            keep_cluster(row, cluster, now=now)
    return _words(row, cluster)


def change(row: ReadSource, way: Way, *, now: datetime) -> None:
    """Make the changes of classes that wait, look at those before; SourceError says why not."""
    carry_out_changes(row, *_reached(row, way), now=now)


def _reached(row: ReadSource, way: Way) -> tuple[Api, Way]:
    """Who asks, and how it is reached: the server's own cluster as its pod is told."""
    if not is_by_own_account(row.address, row.password):
        return Api(url=row.address, token=row.password), way
    if not may_use_own_account(row.organisation):
        raise AnswerError(
            f"{row.address} is the cluster of the server, which {SETTING} does not let "
            f"{row.organisation.slug} read; give the source a token"
        )
    token, authority = own_account()
    # It is where the installation says, whatever the addresses are to which sources may lead.
    return Api(url=row.address, token=token), replace(
        way, trust=Trust(authority=authority), choose=None
    )


def _words(row: ReadSource, cluster: Cluster) -> str:
    pods, claims = len(cluster.pods), len(cluster.claims)
    said = [f"{pods} pods and {claims} claims read"]
    if not row.takes_over:
        labelled = sum(1 for one in cluster.pods if one.labels)
        said.append(f"not taken over: labels of {labelled} pods")
    if row.tier_label:
        unknown = unknown_tiers((one.labels for one in cluster.pods), row.tier_label)
        said.extend(
            f"{row.tier_label}={tier} of {count} pods is no tier and is ignored"
            for tier, count in unknown.most_common(MOST_TOLD)
        )
    if cluster.unreadable:
        said.append(f"{cluster.unreadable} objects could not be read")
    return "; ".join([*said, *cluster.unread])
