"""What an incident said before samples that came late changed it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Q

from advisor.models import Incident


@dataclass(frozen=True, slots=True, kw_only=True)
class Amendment:
    """What it said until `replaced_at`; `victims` and `aggressors` are names of workloads."""

    replaced_at: datetime
    started_at: datetime
    ended_at: datetime | None
    peak_value: float | None
    victims: tuple[str, ...]
    aggressors: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Withdrawal:
    """When an incident was withdrawn; `successor` is the number of the one of its time, if any."""

    at: datetime
    successor: int | None


def amendments(incident: Incident) -> list[Amendment]:
    """The earlier versions, the newest first."""
    if incident.withdrawn_at is not None:
        # It says what it said last.
        return []
    rows = incident.versions.order_by("-replaced_at").values_list("replaced_at", "figures")
    return [_amendment(replaced_at, figures) for replaced_at, figures in rows]


def _amendment(replaced_at: datetime, figures: dict[str, Any]) -> Amendment:
    ended_at = figures.get("ended_at")
    return Amendment(
        replaced_at=replaced_at,
        started_at=datetime.fromisoformat(figures["started_at"]),
        ended_at=None if ended_at is None else datetime.fromisoformat(ended_at),
        peak_value=figures["peak_value"],
        victims=tuple(one["workload"] for one in figures["victims"]),
        aggressors=tuple(one["workload"] for one in figures["aggressors"]),
    )


def withdrawal(incident: Incident) -> Withdrawal | None:
    """None for an incident in force."""
    if incident.withdrawn_at is None:
        return None
    overlaps = Q(ended_at=None) | Q(ended_at__gt=incident.started_at)
    rows = Incident.objects.filter(overlaps, resource=incident.resource_id)
    if incident.ended_at is not None:
        rows = rows.filter(started_at__lt=incident.ended_at)
    successor = rows.order_by("started_at").values_list("pk", flat=True).first()
    return Withdrawal(at=incident.withdrawn_at, successor=successor)
