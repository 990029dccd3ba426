"""An incident as it is written down for who has a link to it: figures that change no more.

Notes of people and who takes care stay in the house.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from advisor.core.duration import duration_text
from advisor.core.enumeration import listed
from advisor.core.quantity import format_rate
from advisor.core.reporting.incident_timeline import IncidentTimeline
from advisor.core.reporting.words import minutes_text, plain_name
from advisor.core.standing import workload_words
from advisor.models import Incident
from advisor.queries.incident_fixes import Fix, fixes_of
from advisor.queries.incident_timeline import HostThen, incident_picture
from advisor.queries.incidents import Affected, IncidentLine, Party, affected_by, incident_lines

MOST_NAMES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenParty:
    """A workload in words: `share` is what it missed, or its part of the load."""

    name: str
    share: str
    lost: str
    got: str
    entitled: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenIncident:
    """All that the page behind the link shows."""

    title: str
    says: str
    made: str
    timeline: IncidentTimeline
    hosts: tuple[HostThen, ...]
    affected: tuple[WrittenParty, ...]
    culprits: tuple[WrittenParty, ...]
    fixes: tuple[Fix, ...]


def written_incident(incident: Incident, *, now: datetime) -> WrittenIncident:
    """What is known of it now."""
    (line,) = incident_lines([incident], now=now)
    affected = affected_by(line, now=now)
    picture = incident_picture(incident, now=now)
    unit = incident.resource.unit
    return WrittenIncident(
        title=f"{plain_name(incident.resource.name)} from {_moment(incident.started_at)}",
        says=_says(line, affected, now),
        made=_moment(now),
        timeline=picture.timeline,
        hosts=picture.hosts,
        affected=tuple(
            _party(one.party, one.party.shortfall_ratio, minutes_text(one.lost_min), unit)
            for one in affected
        ),
        culprits=tuple(_party(one, one.part_ratio, "", unit) for one in line.aggressors),
        fixes=tuple(fixes_of(incident, now=now)),
    )


def _says(line: IncidentLine, affected: list[Affected], now: datetime) -> str:
    lasted = duration_text((line.ended_at or now) - line.started_at)
    traits = line.resource.traits
    was = "is" if line.is_open else "was"
    what = "stalled" if line.peak_value is None else "congested"
    said = f"{plain_name(line.resource.name)} {was} {what} for {lasted}"
    if line.peak_value is not None:
        said += f", up to {traits.level.text(line.peak_value)}"
        if line.threshold is not None:
            said += f" against {traits.level.text(line.threshold)}"
    if line.main_aggressor:
        does = "took most" if line.cause is None else "caused it"
        said += f"; {plain_name(workload_words(line.main_aggressor.workload))} {does}"
    if affected:
        names = [plain_name(workload_words(one.party.workload)) for one in affected[:MOST_NAMES]]
        more = len(affected) - len(names)
        names += [f"{more} more"] if more else []
        lost = minutes_text(sum(one.lost_min for one in affected))
        said += f"; it took {lost} minutes of service from {listed(names)}"
    return f"{said}."


def _party(one: Party, ratio: float | None, lost: str, unit: str) -> WrittenParty:
    return WrittenParty(
        name=plain_name(workload_words(one.workload)),
        share="" if ratio is None else f"{100 * ratio:.0f} %",
        lost=lost,
        got=format_rate(one.rate, unit),
        entitled=format_rate(one.entitlement, unit),
    )


def _moment(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
