"""Planned jobs as the core knows them, and the episodes that they explain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from advisor.core.detection import planned_jobs as core
from advisor.core.detection.planned_jobs import Muting, SlowTime, mute
from advisor.errors import InventoryError
from advisor.models import Episode, PlannedJob
from ingest.models import Organisation

UNMET_TOLERANCE = 0.05
"""A reservation that is missed by less is not a broken promise."""


def jobs_of(organisation: Organisation) -> list[core.PlannedJob]:
    """All planned jobs of the organisation, as the core knows them."""
    rows = PlannedJob.objects.filter(organisation=organisation)
    return [
        read_job(
            row,
            tuple(resource.name for resource in row.resources.all()),
            tuple(workload.name for workload in row.workloads.all()),
        )
        for row in rows.prefetch_related("resources", "workloads")
    ]


def read_job(
    row: PlannedJob, resources: tuple[str, ...], workloads: tuple[str, ...]
) -> core.PlannedJob:
    """The row as the core knows it. Raises InventoryError if it contradicts itself."""
    try:
        zone = ZoneInfo(row.zone)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise InventoryError(
            f'"{row.zone}" is not a time zone; write it like Europe/Berlin'
        ) from error
    try:
        return core.PlannedJob(
            name=row.name,
            starts_at=row.starts_at.astimezone(zone),
            length_s=row.length_s,
            recurrence=core.Recurrence(row.recurrence),
            resources=resources,
            workloads=workloads,
        )
    except ValueError as error:
        raise InventoryError(str(error)) from error


def muting_of(episode: Episode, jobs: Sequence[core.PlannedJob], *, now: datetime) -> Muting:
    """Whether a planned job explains the episode, and why or why not."""
    slow = SlowTime(
        resource=episode.resource.name,
        began_at=episode.started_at,
        ended_at=episode.ended_at,
        aggressors=tuple(item["workload"] for item in episode.aggressors),
        reservation_unmet=any(_is_unmet(item) for item in episode.victims),
    )
    return mute(slow, jobs, now=max(now, episode.started_at))


def _is_unmet(victim: Mapping[str, Any]) -> bool:
    rate, reservation = victim.get("rate"), victim.get("reservation")
    if rate is None or not reservation:
        return False
    return bool(rate < reservation * (1 - UNMET_TOLERANCE))


def muted_resources(organisation: Organisation, *, now: datetime) -> dict[int, str]:
    """The resources whose open episode a planned job explains, with the job's name."""
    jobs = jobs_of(organisation)
    rows = Episode.objects.filter(organisation=organisation, ended_at=None)
    muted = {}
    for row in rows.select_related("resource") if jobs else ():
        job = muting_of(row, jobs, now=now).job
        if job is not None:
            muted[row.resource_id] = job
    return muted
