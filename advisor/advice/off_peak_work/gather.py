"""SCSI reservation conflicts of a datastore's LUN, all hosts together."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime, timedelta

from advisor.advice.off_peak_work.decide.scsi_conflicts import ConflictInputs, ConflictWindow
from advisor.history.windows import Span
from advisor.models import Resource
from ingest import queries

HISTORY = timedelta(days=14)
RECENT = timedelta(days=3)
"""What is normal was so before the last three days."""

WINDOW_S = 3600.0
"""Administrative work is moved by whole hours, so hours are what is compared."""

LEAST_PART = 0.8
MOST_POINTS = 2000


def conflict_inputs(resource: Resource, now: datetime) -> list[ConflictInputs]:
    """For a datastore whose hosts send SCSI reservation conflicts."""
    if "lun_queue_depth" not in resource.traits.facts:  # No LUN, no SCSI reservations.
        return []
    span = Span(since=now - HISTORY, until=now, window_s=WINDOW_S)
    commands: dict[datetime, float] = defaultdict(float)
    conflicts: dict[datetime, float] = defaultdict(float)
    for attachment in resource.attachments.select_related("host"):
        rates = queries.conflict_rates(
            host=attachment.host,
            device=attachment.device,
            since=span.read_since,
            until=span.read_until,
            max_points=MOST_POINTS,
        )
        for at, found in span.group(rates).items():
            if sum(item.seconds for item in found) < LEAST_PART * WINDOW_S:
                # An hour that was hardly measured would look quiet.
                continue
            commands[at] += sum(item.commands_per_s * item.seconds for item in found)
            conflicts[at] += sum(item.conflicts_per_s * item.seconds for item in found)
    if not commands:
        return []
    return [
        ConflictInputs(
            datastore=resource.name,
            windows=tuple(
                ConflictWindow(at=at, commands=commands[at], conflicts=conflicts[at])
                for at in sorted(commands)
            ),
            normal_until=now - RECENT,
        )
    ]
