"""Add and remove maintenance windows."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TypeVar

from django.db import IntegrityError, transaction

from accounts.models import Organisation
from advisor.core.enumeration import listed
from advisor.errors import InventoryError
from advisor.models import MaintenanceWindow, Recurrence, Resource, Workload
from advisor.pipeline.muting import read_maintenance_window

Named = TypeVar("Named", Resource, Workload)


@transaction.atomic
def add_maintenance_window(
    *,
    organisation: Organisation,
    name: str,
    starts_at: datetime,
    length: timedelta,
    recurrence: Recurrence = Recurrence.ONCE,
    zone: str = "UTC",
    resources: Sequence[str] = (),
    workloads: Sequence[str] = (),
) -> MaintenanceWindow:
    """Add a maintenance window; resources and workloads are given by name.

    Raises InventoryError if a name, the zone or the length is wrong, or if the maintenance window
    exists already.
    """
    row = MaintenanceWindow(
        organisation=organisation,
        name=name.strip(),
        starts_at=starts_at,
        length_s=length.total_seconds(),
        recurrence=recurrence,
        zone=zone,
    )
    if not row.name:
        raise InventoryError("a maintenance window needs a name")
    found_resources = _named(Resource, organisation, resources, "resource")
    found_workloads = _named(Workload, organisation, workloads, "workload")
    read_maintenance_window(row, (), ())
    try:
        with transaction.atomic():
            row.save()
    except IntegrityError as error:
        raise InventoryError(f'there is a maintenance window "{row.name}" already') from error
    row.resources.set(found_resources)
    row.workloads.set(found_workloads)
    return row


def _named(
    model: type[Named], organisation: Organisation, names: Sequence[str], kind: str
) -> list[Named]:
    rows = {row.name: row for row in model.objects.filter(organisation=organisation)}
    for name in names:
        if name not in rows:
            raise InventoryError(
                f'there is no {kind} "{name}"; there are: {listed(sorted(rows)) or "none"}'
            )
    return [rows[name] for name in names]


def remove_maintenance_window(*, organisation: Organisation, name: str) -> None:
    """Remove a maintenance window; the congestion that it explained raises alarms again."""
    deleted, _ = MaintenanceWindow.objects.filter(organisation=organisation, name=name).delete()
    if not deleted:
        names = MaintenanceWindow.objects.filter(organisation=organisation).values_list(
            "name", flat=True
        )
        raise InventoryError(
            f'there is no maintenance window "{name}"; there are: {listed(names) or "none"}'
        )
