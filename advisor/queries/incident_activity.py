"""What people said of an incident, and what its resource went through before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Case, When
from django.db.models.fields.json import KT

from advisor.models import Incident
from advisor.models.incident_note import IncidentNote

BACK = timedelta(days=30)
MOST_BEFORE = 200
SAME_HOUR = timedelta(hours=1)
"""So far apart on the clock incidents of two days are of the same time of day."""
DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Earlier:
    """An incident of the same resource before; `aggressor` is the first, empty without one."""

    pk: int
    started_at: datetime
    ended_at: datetime | None
    peak_value: float | None
    aggressor: str
    same_aggressor: bool
    same_hour: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """The incidents of the last 30 days before one, newest first; `is_cut` if there were more."""

    rows: Sequence[Earlier]
    aggressor: str
    is_cut: bool

    @property
    def last_night(self) -> Earlier | None:
        """The newest with the same main aggressor at this time of day."""
        alike = (one for one in self.rows if one.same_aggressor and one.same_hour)
        return next(alike, None)

    @property
    def text(self) -> str:
        """What repeats itself, in a sentence; empty where nothing happened before."""
        if not self.rows:
            return ""
        often = f"{len(self.rows)}{' or more' if self.is_cut else ''}"
        times = "time" if often == "1" else "times"
        said = [f"It was congested {often} {times} in the {BACK.days} days before"]
        if same := sum(one.same_aggressor for one in self.rows):
            said.append(f"{self.aggressor} was its main aggressor in {same}")
        if hour := sum(one.same_hour for one in self.rows):
            said.append(f"{hour} began within an hour of this time of day")
        return "; ".join(said) + "."


def notes_of(incident: Incident) -> list[IncidentNote]:
    """What was said of it, oldest first."""
    return list(incident.notes.all())


def carer_of(notes: Sequence[IncidentNote]) -> str:
    """Who takes care of it; empty for nobody."""
    return next((note.carer_name for note in reversed(notes) if note.is_duty), "")


def carers_of(incidents: Sequence[int]) -> dict[int, str]:
    """Who takes care of each of these, by number; those of nobody are left out."""
    rows = IncidentNote.objects.filter(incident__in=incidents, is_duty=True).order_by("at", "pk")
    found = dict(rows.values_list("incident", "carer_name"))
    return {incident: name for incident, name in found.items() if name}


def past_of(incident: Incident) -> Past:
    """What happened to its resource before."""
    before = Incident.objects.filter(
        resource=incident.resource_id,
        started_at__lt=incident.started_at,
        started_at__gte=incident.started_at - BACK,
    )
    # Of a hundred aggressors the first alone is read.
    first_named = Case(
        When(cause__isnull=True, then=KT("aggressors__0__workload")),
        default=KT("cause__aggressors__0__workload"),
    )
    found = before.order_by("-started_at").values_list(
        "pk", "started_at", "ended_at", "peak_value", first_named
    )[: MOST_BEFORE + 1]
    culprits = incident.culprits
    aggressor = str(culprits[0]["workload"]) if culprits else ""
    rows = [
        Earlier(
            pk=pk, started_at=started_at, ended_at=ended_at, peak_value=peak_value,
            aggressor=first or "",
            same_aggressor=bool(aggressor) and first == aggressor,
            same_hour=_is_same_hour(started_at, incident.started_at),
        )
        for pk, started_at, ended_at, peak_value, first in found
    ]  # fmt: skip
    return Past(rows=rows[:MOST_BEFORE], aggressor=aggressor, is_cut=len(rows) > MOST_BEFORE)


def _is_same_hour(one: datetime, other: datetime) -> bool:
    """Whether the clock showed nearly the same on two days."""
    apart = abs(other - one)
    over = apart % DAY
    return apart >= DAY - SAME_HOUR and min(over, DAY - over) <= SAME_HOUR
