"""Judge what was imported, by the analysis that judges samples as they come."""

from __future__ import annotations

from datetime import datetime

from accounts.models import Organisation
from advisor.decisions.discovery import discover
from advisor.history.stored.retention import exact_since
from advisor.models import Resource, ResourceStatus
from advisor.pipeline.groups import judge_together
from ingest.models import Import, ImportRun


def kept_since(organisation: Organisation, *, now: datetime) -> datetime:
    """The time from which samples of the organisation are kept, and so can be imported."""
    return exact_since({organisation.pk}, now=now)[organisation.pk]


def judge_imported(run: ImportRun, *, now: datetime, limit_s: float | None = None) -> None:
    """Make resources of new devices, judge all windows of the hosts of a run, and end it.

    What others judge at this moment is left to them. After `limit_s` no other portion is begun.
    """
    discover(organisation=run.organisation, now=now, is_asked=True)
    resources = resources_of(run)
    # Samples that come again and again do not make anybody wait here: a person asked for these.
    ResourceStatus.objects.filter(resource__in=resources, history_until=None).update(
        rewound_at=None
    )
    judge_together(resources, now=now, limit_s=limit_s)
    run.ended_at = now
    run.save(update_fields=["ended_at"])


def resources_of(run: ImportRun) -> list[Resource]:
    """The resources of the hosts of a run, in order of their names."""
    found = Resource.objects.filter(
        organisation=run.organisation, attachments__host__name__in=hosts_of(run)
    )
    return list(found.distinct().order_by("name"))


def hosts_of(run: ImportRun) -> list[str]:
    """The names of the hosts whose samples the run has, in order."""
    rows = Import.objects.filter(run=run).values_list("hosts", flat=True)
    return sorted({host for hosts in rows for host in hosts})
