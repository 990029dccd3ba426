"""Planned jobs as rows, and the episodes that they explain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.db import IntegrityError, transaction

from advisor.core.detection import planned_jobs as core
from advisor.core.detection.planned_jobs import Muting, SlowTime, mute
from advisor.errors import InventoryError
from advisor.models import Episode, PlannedJob, Recurrence, Resource, Workload
from ingest.models import Organisation

UNMET_TOLERANCE = 0.05
"""A reservation that is missed by less is not a broken promise."""


@transaction.atomic
def add_job(
    *,
    organisation: Organisation,
    name: str,
    starts_at: datetime,
    length: timedelta,
    recurrence: Recurrence = Recurrence.ONCE,
    zone: str = "UTC",
    resources: Sequence[str] = (),
    workloads: Sequence[str] = (),
) -> PlannedJob:
    """State planned work; resources and workloads are named.

    Raises InventoryError if a name, the zone or the length is wrong, or the job is there already.
    """
    row = PlannedJob(
        organisation=organisation,
        name=name.strip(),
        starts_at=starts_at,
        length_s=length.total_seconds(),
        recurrence=recurrence,
        zone=zone,
    )
    if not row.name:
        raise InventoryError("a planned job needs a name")
    found = [
        _named(Resource, organisation, resources, "resource"),
        _named(Workload, organisation, workloads, "workload"),
    ]
    _core_job(row, (), ())
    try:
        with transaction.atomic():
            row.save()
    except IntegrityError as error:
        raise InventoryError(f'there is a planned job "{row.name}" already') from error
    row.resources.set(found[0])
    row.workloads.set(found[1])
    return row


def _named(
    model: type[Resource | Workload], organisation: Organisation, names: Sequence[str], kind: str
) -> list[Resource | Workload]:
    rows = {row.name: row for row in model.objects.filter(organisation=organisation)}
    for name in names:
        if name not in rows:
            raise InventoryError(
                f'there is no {kind} "{name}"; there are: {", ".join(sorted(rows)) or "none"}'
            )
    return [rows[name] for name in names]


def remove_job(*, organisation: Organisation, name: str) -> None:
    """Forget planned work; what it explained is told as congestion again."""
    deleted, _ = PlannedJob.objects.filter(organisation=organisation, name=name).delete()
    if not deleted:
        names = PlannedJob.objects.filter(organisation=organisation).values_list("name", flat=True)
        raise InventoryError(
            f'there is no planned job "{name}"; there are: {", ".join(names) or "none"}'
        )


def jobs_of(organisation: Organisation) -> list[core.PlannedJob]:
    """All planned jobs of the organisation, as the core knows them."""
    rows = PlannedJob.objects.filter(organisation=organisation)
    return [
        _core_job(
            row,
            tuple(resource.name for resource in row.resources.all()),
            tuple(workload.name for workload in row.workloads.all()),
        )
        for row in rows.prefetch_related("resources", "workloads")
    ]


def _core_job(
    row: PlannedJob, resources: tuple[str, ...], workloads: tuple[str, ...]
) -> core.PlannedJob:
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
