"""SCSI reservation conflicts of a datastore's LUN, all hosts together."""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np
from django.db.models import Exists, OuterRef, Q

from advisor.advice.off_peak_work.decide.scsi_conflicts import ConflictInputs, ConflictWindow
from advisor.history.measured import read_measured
from advisor.models import Attachment, Resource
from advisor.resource_kinds import registry
from ingest.core.figures import CONFLICT
from ingest.core.grid import grid_of
from ingest.grid_reader import Subject
from ingest.models import Series

HISTORY = timedelta(days=14)
RECENT = timedelta(days=3)
"""What is normal was so before the last three days."""

WINDOW_S = 3600.0
"""Administrative work is moved by whole hours, so hours are what is compared."""

LEAST_PART = 0.8


def sends_conflicts(now: datetime) -> Q:
    """Resources on LUNs that some host sent conflicts of in the time that is looked at."""
    kinds = [traits.name for traits in registry.KINDS if "lun_queue_depth" in traits.facts]
    told = Series.objects.filter(
        measurement=CONFLICT.measurement.name,
        host=OuterRef("host"),
        subject=OuterRef("device"),
        last_sample_at__gt=now - HISTORY,
    )
    return Q(
        Exists(Attachment.objects.filter(Exists(told), resource=OuterRef("pk"))), kind__in=kinds
    )


def conflict_inputs(resource: Resource, now: datetime) -> list[ConflictInputs]:
    """For a datastore whose hosts send SCSI reservation conflicts."""
    if "lun_queue_depth" not in resource.traits.facts:  # No LUN, no SCSI reservations.
        return []
    grid = grid_of(now - HISTORY, now, WINDOW_S)
    attached = resource.attachments.order_by("pk").values_list("host_id", "device")
    devices = [Subject(host=host, name=device) for host, device in attached]
    found = read_measured({CONFLICT: devices}, grid).figures(CONFLICT, devices)
    # An hour that was hardly measured would look quiet.
    whole = found.seconds >= LEAST_PART * WINDOW_S
    commands, conflicts = (
        np.where(whole, rate * found.seconds, 0.0).sum(axis=1)
        for rate in (found.commands_per_s, found.conflicts_per_s)
    )
    measured = np.flatnonzero(whole.any(axis=1)).tolist()
    if not measured:
        return []
    ends = grid.ends
    return [
        ConflictInputs(
            datastore=resource.name,
            windows=tuple(
                ConflictWindow(
                    at=ends[place],
                    commands=float(commands[place]),
                    conflicts=float(conflicts[place]),
                )
                for place in measured
            ),
            normal_until=now - RECENT,
        )
    ]
