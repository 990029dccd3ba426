"""What is drawn of an incident, and what its hosts did then."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
from django.db.models import Min

from advisor.core.reporting.incident_timeline import (
    IncidentTimeline,
    MarkedMoment,
    Moment,
    TimelineLoad,
    Values,
    last_of_cells,
    quantiles_of_cells,
    rest_of,
)
from advisor.core.resource import Unit
from advisor.core.standing import UNALLOCATED
from advisor.history.history import numbers
from advisor.history.levels import read_levels, read_runs
from advisor.history.policy_reports import IS_READ_BACK
from advisor.models import (
    POLICY_TOPIC,
    ComplianceRecord,
    Incident,
    Policy,
    Recommendation,
    RecommendationState,
    State,
)
from advisor.queries.chart_set import resource_figures
from advisor.queries.charts import ChartSpan, ResourceFigures
from advisor.queries.incident_answers import answers_to
from advisor.queries.totals import total
from advisor.resource_kinds.reader import ReadResource
from ingest.core.grid import Flags, Floats, microseconds, moment

MARGIN = timedelta(minutes=15)
"""The picture begins so long before the incident and ends so long after it."""
LONGEST_AFTER = timedelta(hours=2)
"""What was done later is told and not drawn."""
MOST_CELLS = 120
WINDOWS_IN_CELL = 6
"""A percentile of fewer says nothing."""
MOST_CULPRITS = 3
AGENT_LOOK = timedelta(minutes=15)
"""A report of an agent older than this before the incident says nothing of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostThen:
    """What a host did on the resource: means of the time before, and while it was congested.

    Loads are in the unit of the kind's load. Latencies are of each I/O, None where the kind has
    none or no I/O completed. `agent` says what the agent held.
    """

    host: str
    pk: int
    load_before: float | None
    load: float | None
    latency_before_ms: float | None
    latency_ms: float | None
    agent: str


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentPicture:
    """The timeline, and each host that reaches the resource, by name."""

    timeline: IncidentTimeline
    hosts: tuple[HostThen, ...]


def incident_picture(incident: Incident, *, now: datetime) -> IncidentPicture:
    """Both from one reading of the samples."""
    moments = tuple(_moments(incident, now))
    span = ChartSpan(
        since=incident.started_at - MARGIN,
        until=_until(incident, moments, now),
        points=MOST_CELLS,
    )
    resource = incident.resource
    grid = span.grid(None, finest_s=WINDOWS_IN_CELL * resource.window_s)
    read = resource_figures(resource, grid)
    return IncidentPicture(
        timeline=_timeline(incident, read, moments),
        hosts=tuple(_hosts(incident, read, now)),
    )


def _until(incident: Incident, moments: Sequence[MarkedMoment], now: datetime) -> datetime:
    """After its end, and after what was done about it, unless that was much later."""
    end = incident.ended_at or now
    done = [one.at for one in moments if one.at is not None and one.at <= end + LONGEST_AFTER]
    return min(now, max([end, *done]) + MARGIN)


def _timeline(
    incident: Incident, read: ResourceFigures, moments: tuple[MarkedMoment, ...]
) -> IncidentTimeline:
    resource, grid = read.resource, read.grid
    levels = read_levels([resource], since=grid.since, until=grid.until)[resource.pk]
    places = levels.places(grid)
    median, high = quantiles_of_cells(places, levels.value, cells=grid.count)
    culprits, others = _loads(incident, read)
    return IncidentTimeline(
        kind=resource.kind,
        unit=resource.unit,
        since=grid.since,
        until=grid.until,
        step_s=round(grid.window_s),
        ends_s=tuple((grid.ends_us // 1_000_000).tolist()),
        median=median,
        high=high,
        threshold=last_of_cells(places, levels.threshold, cells=grid.count),
        culprits=culprits,
        others=others,
        moments=moments,
    )


def _loads(incident: Incident, read: ResourceFigures) -> tuple[tuple[TimelineLoad, ...], Values]:
    """The culprits' rates, and the rest of what the devices carried."""
    whole = numbers(_delivered(read))
    own = {track.workload: track.values for track in read.tracks}
    own[UNALLOCATED] = rest_of(whole, list(own.values()))
    names = [one["workload"] for one in incident.culprits if one["workload"] in own]
    shown = [TimelineLoad(workload=name, values=own[name]) for name in names[:MOST_CULPRITS]]
    return tuple(shown), rest_of(whole, [one.values for one in shown])


def _delivered(read: ResourceFigures) -> Floats:
    """What the devices carried together; NaN where none was measured, which sums take for 0."""
    resource = read.resource
    settings = ReadResource(
        window_s=read.grid.window_s, capacity=resource.capacity, unit=Unit(resource.unit)
    )
    found: Floats = resource.traits.reader.delivered(settings, read.devices)
    return np.where(read.devices.measured.any(axis=1), found, np.nan)


# --- What happened when


def _moments(incident: Incident, now: datetime) -> Iterator[MarkedMoment]:
    yield MarkedMoment(moment=Moment.STARTED, at=incident.started_at, words="")
    detected = _detected_at(incident)
    words = "" if detected else "the windows that showed it are not kept"
    yield MarkedMoment(moment=Moment.DETECTED, at=detected, words=words)
    yield from _answers(incident, now)
    words = "" if incident.ended_at else "not over"
    yield MarkedMoment(moment=Moment.RESOLVED, at=incident.ended_at, words=words)


def _detected_at(incident: Incident) -> datetime | None:
    """The end of the window with which it was recognised, later than it began."""
    until = (incident.ended_at or incident.started_at) + MARGIN
    runs = read_runs([incident.resource_id], since=incident.started_at, until=until)
    began_us = microseconds(incident.started_at)
    alarms = {State.CONGESTED.value, State.STALLED.value}
    first = next(
        (
            run.first_us
            for run in runs[incident.resource_id]
            if run.state in alarms and run.first_us >= began_us
        ),
        None,
    )
    return None if first is None else moment(first)


def _answers(incident: Incident, now: datetime) -> Iterator[MarkedMoment]:
    """The first recommendation for it, the first that was approved, and since when that holds."""
    rows = list(
        answers_to(incident, now=now)
        .filter(topic=POLICY_TOPIC)
        .defer("inputs", "answer")
        .select_related("decided_by")
        .order_by("created_at", "pk")
    )
    first = rows[0] if rows else None
    yield MarkedMoment(
        moment=Moment.RECOMMENDED,
        at=first.created_at if first else None,
        words=_for_what(first, incident),
    )
    approved = next((one for one in rows if one.state == RecommendationState.APPROVED), None)
    if approved is None:
        yield MarkedMoment(moment=Moment.APPROVED, at=None, words=_why_not_approved(rows))
        yield MarkedMoment(moment=Moment.EFFECTIVE, at=None, words="nothing was approved")
        return
    by = approved.decided_by.get_username() if approved.decided_by else "Sluice"
    yield MarkedMoment(moment=Moment.APPROVED, at=approved.decided_at, words=f"by {by}")
    yield _effective(approved)


def _for_what(first: Recommendation | None, incident: Incident) -> str:
    if first is None:
        return "nothing was recommended for it"
    return "" if first.incident_id == incident.pk else "for an earlier incident; it still waits"


def _why_not_approved(rows: Sequence[Recommendation]) -> str:
    if not rows:
        return "there is nothing to approve"
    return f"the newest recommendation is {rows[-1].get_state_display().lower()}"


def _effective(approved: Recommendation) -> MarkedMoment:
    """Since all of its allocations were read back from the kernels of their hosts."""
    policy: Policy | None = approved.policies.order_by("version").first()
    if policy is None:
        return MarkedMoment(moment=Moment.EFFECTIVE, at=None, words="no policy came of it")
    rows = (
        ComplianceRecord.objects.filter(IS_READ_BACK, policy=policy)
        .order_by()
        .values("allocation")
        .annotate(first=Min("reported_at"))
    )
    firsts = sorted(row["first"] for row in rows)
    wanted = len(policy.allocations)
    version = f"version {policy.version}"
    if wanted and len(firsts) >= wanted:
        return MarkedMoment(moment=Moment.EFFECTIVE, at=firsts[-1], words=version)
    words = f"{version}: {len(firsts)} of {wanted} allocations were read back from a kernel"
    return MarkedMoment(moment=Moment.EFFECTIVE, at=None, words=words)


# --- What the hosts did


def _hosts(incident: Incident, read: ResourceFigures, now: datetime) -> Iterator[HostThen]:
    ends_us = read.grid.ends_us
    began_us = microseconds(incident.started_at)
    before = ends_us <= began_us
    during = (ends_us > began_us) & (ends_us <= microseconds(incident.ended_at or now))
    carried = read.resource.traits.reader.carried(read.devices.figures)
    latency = getattr(read.devices.figures, "latency_ms", None)
    agents = _agents(incident, read, now)
    hosts = {one.host.name: one.host for one in read.attachments}
    for name, host in sorted(hosts.items()):
        own = np.array([one == name for one in read.devices.hosts], dtype=bool)
        load = carried[:, own]
        weighed = None if latency is None else latency[:, own]
        yield HostThen(
            host=name,
            pk=host.pk,
            load_before=_mean(load, before),
            load=_mean(load, during),
            latency_before_ms=_weighed_mean(weighed, load, before),
            latency_ms=_weighed_mean(weighed, load, during),
            agent=agents[name],
        )


def _mean(values: Floats, rows: Flags) -> float | None:
    """Of the sums over the columns; None if nothing was measured."""
    found = total(values)[rows]
    known = found[~np.isnan(found)]
    return float(known.mean()) if len(known) else None


def _weighed_mean(values: Floats | None, weights: Floats, rows: Flags) -> float | None:
    """Weighed by I/O, so that it is the mean of an I/O and not of a window."""
    if values is None:
        return None
    found, parts = values[rows], weights[rows]
    known = ~np.isnan(found) & ~np.isnan(parts)
    whole = float(parts[known].sum())
    return float((found[known] * parts[known]).sum()) / whole if whole > 0 else None


def _agents(incident: Incident, read: ResourceFigures, now: datetime) -> dict[str, str]:
    """What the agent of each host held when the incident ended, or holds."""
    until = incident.ended_at or now
    hosts = {one.host_id: one.host for one in read.attachments}
    newest = (
        ComplianceRecord.objects.filter(
            resource=read.resource,
            host__in=hosts,
            reported_at__gt=incident.started_at - AGENT_LOOK,
            reported_at__lte=until,
        )
        .order_by("host_id", "-reported_at", "pk")
        .distinct("host_id")
        .select_related("policy")
    )
    said = {row.host_id: row for row in newest}
    with_agent = {pk for pk, host in hosts.items() if hasattr(host, "enforcer")}
    return {
        host.name: _agent_words(said.get(pk), has_agent=pk in with_agent)
        for pk, host in hosts.items()
    }


def _agent_words(record: ComplianceRecord | None, *, has_agent: bool) -> str:
    if record is not None:
        version = f"version {record.policy.version}" if record.policy else "no version"
        return f"{version} {record.outcome}" + (f": {record.reason}" if record.reason else "")
    return "nothing of this resource was reported" if has_agent else "has no agent"
