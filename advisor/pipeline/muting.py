"""What keeps an incident from alarm or advice: maintenance windows, and load from outside."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import OuterRef
from django.db.models.functions import JSONObject

from accounts.models import Organisation
from advisor.core.canonical import from_plain
from advisor.core.detection import maintenance_windows as core
from advisor.core.detection.external_workload import ExternalLoad, ExternalState
from advisor.core.detection.maintenance_windows import Muting, SlowTime, mute
from advisor.errors import InventoryError
from advisor.models import Incident, MaintenanceWindow, Resource, Workload

UNMET_TOLERANCE = 0.05
"""A reservation that is missed by less counts as met."""


def maintenance_windows_of(organisation: int) -> list[core.MaintenanceWindow]:
    """All maintenance windows of the organisation with this key, as input of the core."""
    rows = MaintenanceWindow.objects.filter(organisation=organisation).annotate(
        resource_names=_names_of(Resource), workload_names=_names_of(Workload)
    )
    return [
        read_maintenance_window(row, tuple(row.resource_names), tuple(row.workload_names))
        for row in rows
    ]


def maintenance_windows_beside(organisation: OuterRef) -> ArraySubquery:
    """Those of the organisation of a row as plain values, to be read with that row."""
    rows = MaintenanceWindow.objects.filter(organisation=organisation).order_by()
    stated = {name: name for name in ("name", "starts_at", "length_s", "recurrence", "zone")}
    names = {"resource_names": _names_of(Resource), "workload_names": _names_of(Workload)}
    return ArraySubquery(rows.values(plain=JSONObject(**stated, **names)))


def maintenance_windows_in(plain: Iterable[Mapping[str, Any]]) -> list[core.MaintenanceWindow]:
    """What was read so, as input of the core."""
    found = []
    for one in plain:
        stated = dict(one)
        resources, workloads = stated.pop("resource_names"), stated.pop("workload_names")
        stated["starts_at"] = datetime.fromisoformat(stated["starts_at"])
        row = MaintenanceWindow(**stated)
        found.append(read_maintenance_window(row, tuple(resources), tuple(workloads)))
    return found


def _names_of(model: type[Resource | Workload]) -> ArraySubquery:
    rows = model.objects.filter(maintenance_windows=OuterRef("pk")).order_by("name")
    return ArraySubquery(rows.values("name"))


def read_maintenance_window(
    row: MaintenanceWindow, resources: tuple[str, ...], workloads: tuple[str, ...]
) -> core.MaintenanceWindow:
    """The row as input of the core. Raises InventoryError if it is inconsistent."""
    try:
        zone = ZoneInfo(row.zone)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise InventoryError(
            f'"{row.zone}" is not a time zone; write it like Europe/Berlin'
        ) from error
    try:
        return core.MaintenanceWindow(
            name=row.name,
            starts_at=row.starts_at.astimezone(zone),
            length_s=row.length_s,
            recurrence=core.Recurrence(row.recurrence),
            resources=resources,
            workloads=workloads,
        )
    except ValueError as error:
        raise InventoryError(str(error)) from error


def muting_of(
    incident: Incident, planned: Sequence[core.MaintenanceWindow], *, now: datetime
) -> Muting:
    """Whether a maintenance window explains the incident, and why or why not."""
    slow = SlowTime(
        resource=incident.resource.name,
        began_at=incident.started_at,
        ended_at=incident.ended_at,
        aggressors=tuple(
            item["workload"] for item in (*incident.culprits, *incident.only_took_more)
        ),
        reservation_unmet=reservation_is_missed(incident),
        stalled=incident.stalled_windows > 0,
    )
    return mute(slow, planned, now=max(now, incident.started_at))


def reservation_is_missed(incident: Incident) -> bool:
    """Whether a victim gets less than is reserved for it."""
    return any(_is_unmet(item) for item in incident.victims if item.get("reservation"))


def _is_unmet(victim: Mapping[str, Any]) -> bool:
    rate, reservation = victim.get("rate"), victim.get("reservation")
    if rate is None or not reservation:
        return False
    return bool(rate < reservation * (1 - UNMET_TOLERANCE))


def muted_resources(organisation: Organisation, *, now: datetime) -> dict[int, str]:
    """The resources whose open incident a maintenance window explains, with its name."""
    planned = maintenance_windows_of(organisation.pk)
    rows = Incident.objects.filter(organisation=organisation, ended_at=None)
    muted = {}
    for row in rows.select_related("resource") if planned else ():
        maintenance = muting_of(row, planned, now=now).maintenance
        if maintenance is not None:
            muted[row.resource_id] = maintenance
    return muted


def external_load(incident: Incident) -> ExternalLoad | None:
    """The newest conclusion; None on an uplink and before the first."""
    if incident.external is None:
        return None
    return from_plain(ExternalLoad, incident.external)


def comes_from_outside(incident: Incident) -> str:
    """Why control by this incident is suspended; empty if it is not."""
    found = external_load(incident)
    return found.reason if found is not None and found.state is ExternalState.EXTERNAL else ""
