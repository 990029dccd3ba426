"""Incidents that are judged again: which row goes on, what it said before, which is withdrawn.

The rule is written in docs/operations.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from math import isclose
from typing import Any

from django.db.models import Q

from advisor.history.stored.retention import exact_since
from advisor.models import (
    Incident,
    IncidentVersion,
    Recommendation,
    Resource,
    ResourceStatus,
)
from advisor.pipeline.recommendation_life import supersede

FIGURES = ("peak_value", "threshold", "windows", "stalled_windows", "victims", "aggressors",
           "evidence", "signals")  # fmt: skip
"""What an incident says, beside its times."""
TIMES = ("started_at", "ended_at")


def figures_of(row: Incident) -> dict[str, Any]:
    """An incident's times and figures as JSON."""
    times = {name: at.isoformat() for name in TIMES if (at := getattr(row, name)) is not None}
    return {name: getattr(row, name) for name in FIGURES} | times


_PAIRS = ", ".join(f"'{name}', incident.{name}" for name in (*FIGURES, "started_at"))
JSON_OF_FIGURES = f"jsonb_build_object({_PAIRS})"
"""The same of an open incident, by the database."""


def set_aside(resource: Resource, *, after: datetime, now: datetime) -> None:
    """Keep what incidents of the time after `after` say, and withdraw them for now."""
    rows = list(_after(resource, after))
    IncidentVersion.objects.bulk_create(
        IncidentVersion(incident=row, replaced_at=now, figures=figures_of(row)) for row in rows
    )
    Incident.objects.filter(pk__in=[row.pk for row in rows]).update(withdrawn_at=now)


def reinstate(status: ResourceStatus, *, since: datetime, until: datetime) -> None:
    """Incidents that were set aside and ended in (since, until] say again what they said.

    What was found meanwhile in their place is no more: the rest of them cannot be judged again.
    """
    after, rewound_at = status.rewound_to, status.rewound_at
    assert after is not None
    assert rewound_at is not None
    versions = IncidentVersion.objects.filter(
        incident__resource=status.resource, replaced_at=rewound_at
    )
    former = {version.incident_id: version.figures for version in versions}
    found = [row for row in _after(status.resource, after) if row.pk not in former]
    for row in Incident.every.in_bulk(former).values():
        for name, value in former[row.pk].items():
            setattr(row, name, datetime.fromisoformat(value) if name in TIMES else value)
        if row.ended_at is None or not since < row.ended_at <= until:
            continue
        for other in [one for one in found if _overlap(one, row)]:
            found.remove(other)
            other.delete()
        row.withdrawn_at = None
        row.save(update_fields=[*FIGURES, *TIMES, "withdrawn_at"])


def restore(
    resource: Resource, figures: Mapping[str, Any], tally: bytes | None, *, now: datetime
) -> None:
    """The incident that was open at a checkpoint goes on from there."""
    started_at = datetime.fromisoformat(figures["started_at"])
    same = Incident.every.filter(resource=resource, started_at=started_at)
    row = same.filter(Q(withdrawn_at=now) | Q(withdrawn_at=None)).first()
    if row is None:
        row = Incident(
            resource=resource, organisation=resource.organisation, started_at=started_at
        )
    elif row.withdrawn_at is None:
        # It ended before the checkpoint, as was known only later.
        IncidentVersion.objects.create(incident=row, replaced_at=now, figures=figures_of(row))
    for name in FIGURES:
        setattr(row, name, figures[name])
    row.ended_at, row.withdrawn_at, row.tally = None, None, tally
    row.save()


def finish(status: ResourceStatus, *, now: datetime) -> None:
    """All is judged again: incidents take the place of those that they overlap.

    One that began before what is kept keeps its begin, which nobody can judge again. What is left
    of those that were set aside stays withdrawn, and so does advice on it that nobody has decided
    on.
    """
    resource, after, rewound_at = status.resource, status.rewound_to, status.rewound_at
    assert after is not None
    assert rewound_at is not None
    versions = IncidentVersion.objects.filter(incident__resource=resource, replaced_at=rewound_at)
    former = {version.incident_id: version for version in versions}
    rows = Incident.every.in_bulk(former)
    found = [row for row in _after(resource, after) if row.pk not in former]
    kept = exact_since([resource.organisation_id], now=now)[resource.organisation_id]
    for row in sorted(rows.values(), key=lambda one: one.started_at):
        if row.withdrawn_at is not None:
            successor = next((one for one in found if _overlap(one, row)), None)
            if successor is not None:
                found.remove(successor)
                if row.started_at < kept:
                    successor.started_at = min(row.started_at, successor.started_at)
                _take_place(row, successor)
        if row.withdrawn_at is None and alike(former[row.pk].figures, figures_of(row)):
            former[row.pk].delete()
    gone = [row.pk for row in rows.values() if row.withdrawn_at is not None]
    Incident.every.filter(pk__in=gone, ended_at=None).update(ended_at=now)
    reason = "samples that came late show no such incident"
    supersede(
        Recommendation.objects.filter(incident__in=gone, created_by=None),
        now=now,
        reason=reason,
        decided_at=now,
        decision_reason=reason,
    )


def alike(one: Any, other: Any) -> bool:
    """Whether two JSON values say the same; sums in another order differ in their last digits."""
    if isinstance(one, float) and isinstance(other, float):
        return isclose(one, other, rel_tol=1e-9)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(alike(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(alike, one, other))
    return bool(one == other)


def _after(resource: Resource, after: datetime) -> list[Incident]:
    """Those in force that reach beyond a time, in order."""
    rows = Incident.objects.filter(
        Q(ended_at=None) | Q(ended_at__gt=after) | Q(started_at__gte=after), resource=resource
    )
    return list(rows.order_by("started_at"))


def _overlap(one: Incident, other: Incident) -> bool:
    return (one.ended_at is None or one.ended_at > other.started_at) and (
        other.ended_at is None or other.ended_at > one.started_at
    )


def _take_place(row: Incident, successor: Incident) -> None:
    """The row keeps its number and says what its successor says, which is no more."""
    successor.delete()
    for name in (*FIGURES, *TIMES, "tally", "external", "looked_outside_until"):
        setattr(row, name, getattr(successor, name))
    row.withdrawn_at = None
    row.save()
