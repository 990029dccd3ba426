"""Incidents for pages and commands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, overload

from django.db.models import QuerySet

from advisor.core.detection.correlation import CongestedResource, CorrelatedIncidents, correlate
from advisor.core.detection.maintenance_windows import MaintenanceWindow, Muting
from advisor.core.detection.nic_signals import signal_text
from advisor.core.reporting.promise import lost_minutes
from advisor.models import (
    POLICY_TOPIC,
    Incident,
    Recommendation,
    Resource,
    State,
)
from advisor.pipeline.muting import comes_from_outside, maintenance_windows_of, muting_of
from advisor.queries.resources import ResourceLine, resource_line
from advisor.queries.scope import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Party:
    """A workload in an incident with its means over it, in the resource's unit.

    Victims have a reservation and the fraction of their entitlement that they missed, and may have
    been seen to wait, so that it is known that they want more; aggressors
    have their share of device time and of everything taken above entitlements.
    """

    workload: str
    rate: float | None
    entitlement: float | None
    reservation: float | None
    shortfall_ratio: float | None
    is_demand_known: bool | None
    part_ratio: float | None
    excess_ratio: float | None


@dataclass(frozen=True, slots=True)
class PartyLines(Sequence[Party]):
    """The parties in the order in which they were stored: the worst first.

    A list of incidents names three of a hundred, so a party is made when it is asked for.
    """

    stored: Sequence[dict[str, Any]]

    def __len__(self) -> int:
        return len(self.stored)

    @overload
    def __getitem__(self, place: int) -> Party: ...

    @overload
    def __getitem__(self, place: slice) -> PartyLines: ...

    def __getitem__(self, place: int | slice) -> Party | PartyLines:
        if isinstance(place, slice):
            return PartyLines(self.stored[place])
        item = self.stored[place]
        return Party(
            workload=item["workload"],
            rate=item.get("rate"),
            entitlement=item.get("entitlement"),
            reservation=item.get("reservation"),
            shortfall_ratio=item.get("shortfall_ratio"),
            is_demand_known=item.get("is_demand_known"),
            part_ratio=item.get("part_ratio"),
            excess_ratio=item.get("excess_ratio"),
        )

    @property
    def names(self) -> list[str]:
        """Those of all."""
        return [item["workload"] for item in self.stored]

    @property
    def has_unknown_demand(self) -> bool:
        """Whether of some victim nothing showed that it waited."""
        return any(item.get("is_demand_known") is False for item in self.stored)


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalLine:
    """A signal of an uplink: windows beyond its threshold, the worst value, the threshold."""

    name: str
    windows: int
    worst: str
    threshold: str


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentLine:
    """One incident; `current` is the resource now, and counts only while the incident is open.

    `aggressors` are those who cause it, where that was studied, and then `cause` is the reason;
    others took more than their due, and are no cause. Where it is not known, all who took more are
    aggressors. `muting` says whether a maintenance window explains it, so that it is no alarm;
    `outside` is the evidence of external load, empty without.
    """

    pk: int
    resource: Resource
    current: ResourceLine
    started_at: datetime
    ended_at: datetime | None
    peak_value: float | None
    threshold: float | None
    stalled_windows: int
    victims: PartyLines
    aggressors: PartyLines
    only_took_more: PartyLines
    cause: str | None
    signals: tuple[SignalLine, ...]
    recommendation_pk: int | None
    muting: Muting
    outside: str

    @property
    def is_open(self) -> bool:
        return self.ended_at is None

    @property
    def is_silent(self) -> bool:
        """Whether it is stale, so that it is unknown if it is ongoing."""
        return self.is_open and self.current.state == State.UNKNOWN

    @property
    def is_stalled(self) -> bool:
        """Whether I/O is in flight now and none completes."""
        return self.is_open and self.current.state == State.STALLED

    @property
    def mark(self) -> str:
        """The state to show for it now."""
        if self.is_silent:
            return "unknown"
        if not self.is_open:
            return "clear"
        return "stalled" if self.is_stalled else "congested"

    @property
    def value(self) -> float | None:
        """The value to show: the newest while it is ongoing, else the worst; None if stalled."""
        if self.is_open and self.current.value is not None:
            return self.current.value
        return self.peak_value

    @property
    def main_aggressor(self) -> Party | None:
        return self.aggressors[0] if self.aggressors else None

    @property
    def why_nobody(self) -> str:
        """Why there is no aggressor."""
        if self.cause is None:
            return "nobody took more than it was entitled to"
        return f"no cause identified: {self.cause}"

    @property
    def victim_names(self) -> list[str]:
        return self.victims.names


@dataclass(frozen=True, slots=True, kw_only=True)
class Affected:
    """A victim, and the minutes of full service that the incident took from it."""

    party: Party
    lost_min: float


def affected_by(line: IncidentLine, *, now: datetime) -> list[Affected]:
    """The victims, who lost most first; planned maintenance takes nothing, as in reports."""
    lasted_min = ((line.ended_at or now) - line.started_at).total_seconds() / 60
    of_min = 0.0 if line.muting.maintenance else lasted_min
    found = [
        Affected(party=one, lost_min=lost_minutes(one.shortfall_ratio or 0.0, of_min=of_min))
        for one in line.victims
    ]
    return sorted(found, key=lambda one: -(one.party.shortfall_ratio or 0.0))


def incident_rows(scope: Scope) -> QuerySet[Incident]:
    """The organisation's incidents with their resource, newest first.

    What only the page of one incident or the detector wants is left out: it may be long.
    """
    rows: QuerySet[Incident] = scope.rows(Incident).defer("evidence", "tally")
    return rows.select_related("resource__status", "organisation").order_by("-started_at", "pk")


def open_incident_lines(scope: Scope, *, now: datetime) -> list[IncidentLine]:
    """The ongoing incidents: stalled ones first, then the longest."""
    lines = incident_lines(incident_rows(scope).filter(ended_at=None).reverse(), now=now)
    return sorted(lines, key=lambda line: not line.is_stalled)


def incident_lines(
    rows: QuerySet[Incident] | Sequence[Incident], *, now: datetime
) -> list[IncidentLine]:
    """The rows as lines, each with its open recommendation."""
    found = list(rows)
    advice = _open_recommendations(found, now)
    # All rows are of one organisation: a page shows one at a time.
    planned = maintenance_windows_of(found[0].organisation_id) if found else []
    return [_line(row, advice.get(row.resource_id), planned, now) for row in found]


def _open_recommendations(rows: Sequence[Incident], now: datetime) -> dict[int, int]:
    resources = [row.resource_id for row in rows if row.ended_at is None]
    open_rows = Recommendation.objects.open_at(now).filter(
        topic=POLICY_TOPIC, resource__in=resources
    )
    return dict(open_rows.values_list("resource_id", "pk"))


def _line(
    row: Incident,
    recommendation_pk: int | None,
    planned: Sequence[MaintenanceWindow],
    now: datetime,
) -> IncidentLine:
    return IncidentLine(
        pk=row.pk,
        resource=row.resource,
        current=resource_line(row.resource, now=now),
        started_at=row.started_at,
        ended_at=row.ended_at,
        peak_value=row.peak_value,
        threshold=row.threshold,
        stalled_windows=row.stalled_windows,
        victims=PartyLines(row.victims),
        aggressors=PartyLines(row.culprits),
        only_took_more=PartyLines(row.only_took_more),
        cause=None if row.cause is None else row.cause["reason"],
        signals=signal_lines(row),
        recommendation_pk=recommendation_pk,
        muting=muting_of(row, planned, now=now),
        outside=comes_from_outside(row),
    )


def signal_lines(row: Incident) -> tuple[SignalLine, ...]:
    """The signals in an uplink's incident."""
    return tuple(
        SignalLine(
            name=item["signal"].replace("_", " "),
            windows=item["windows"],
            worst=signal_text(item["worst"], item["unit"]),
            threshold=signal_text(item["threshold"], item["unit"]),
        )
        for item in row.signals
    )


def correlated_lines(lines: Sequence[IncidentLine]) -> list[CorrelatedIncidents]:
    """The groups with more than one of these incidents, such as those on shared disks."""
    congested = [
        CongestedResource(
            resource=line.resource.name,
            began_at=line.started_at,
            ended_at=line.ended_at,
            carries_others=line.resource.traits.carries_others,
            disks=line.resource.disks,
        )
        for line in lines
    ]
    return [one for one in correlate(congested, []) if len(one.resources) > 1]
