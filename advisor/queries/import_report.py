"""What an import shows: what was congested, when, by whom, and what would have helped."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

from advisor.advice.policy.gather import policy_inputs
from advisor.advice.policy.kind import POLICY
from advisor.core.canonical import dumps
from advisor.core.duration import duration_text
from advisor.core.enumeration import listed
from advisor.core.standing import workload_words
from advisor.decisions.imported import hosts_of, resources_of
from advisor.history.inventory import inventory_of
from advisor.history.levels import read_levels
from advisor.models import Allocation, Attachment, Incident, Resource
from advisor.pipeline.attribute import study_incident
from ingest.core.grid import moment
from ingest.models import Import, ImportRun, ImportState
from ingest.queries import why_unrated

MOST_INCIDENTS = 20
"""Of each resource the longest are explained; of more the number is told."""
NO_WORKLOADS = "no workload of it was measured"
NOT_JUDGED = "no window of it has samples enough to be judged"


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundIncident:
    """One incident within the imported time; `until` is None where the samples end with it.

    Texts are for people; each of them says so where nothing can be told.
    """

    pk: int
    since: datetime
    until: datetime | None
    peak: str
    threshold: str
    by_whom: str
    at_expense_of: str
    would_have_helped: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundResource:
    """What was judged of a resource in the imported time; `gap` says why it was not."""

    pk: int
    name: str
    windows: int
    judged_for: str
    worst: str
    worst_at: datetime | None
    threshold: str
    incidents: tuple[FoundIncident, ...]
    incident_count: int
    gap: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """The files of a run, the time of their samples, and what was found in it."""

    run: ImportRun
    files: tuple[Import, ...]
    hosts: tuple[str, ...]
    since: datetime | None
    until: datetime | None
    shift: str
    resources: tuple[FoundResource, ...]
    advice: tuple[str, ...]

    @property
    def congested(self) -> tuple[FoundResource, ...]:
        return tuple(one for one in self.resources if one.incidents)

    @property
    def calm(self) -> tuple[FoundResource, ...]:
        return tuple(one for one in self.resources if not one.incidents and not one.gap)

    @property
    def unjudged(self) -> tuple[FoundResource, ...]:
        return tuple(one for one in self.resources if one.gap)


def import_report(run: ImportRun, *, now: datetime) -> ImportReport:
    """The report of a run as things are now; it is whole once the run has ended."""
    files = tuple(run.files.order_by("name", "pk"))
    times = [(one.first_at, one.last_at) for one in files if one.first_at and one.last_at]
    since = min((first for first, _ in times), default=None)
    until = max((last for _, last in times), default=None)
    resources: tuple[FoundResource, ...] = ()
    if since is not None and until is not None:
        resources = _resources(run, since, until, now)
    return ImportReport(
        run=run,
        files=files,
        hosts=tuple(hosts_of(run)),
        since=since,
        until=until,
        shift=_shift(files),
        resources=resources,
        advice=tuple(_advice(files)),
    )


def _shift(files: Sequence[Import]) -> str:
    """By how much times were moved; empty if they were not."""
    shifts = sorted({one.shift_s for one in files if one.shift_s})
    if not shifts:
        return ""
    moved = listed(
        f"{duration_text(timedelta(seconds=abs(one)))} {'later' if one > 0 else 'earlier'}"
        for one in shifts
    )
    return f"All times are moved: they are {moved} than in the files"


def _advice(files: Sequence[Import]) -> list[str]:
    """What can be done about files that gave less than they might."""
    found = []
    if too_old := sum(one.too_old for one in files):
        found.append(
            f"{too_old} samples are older than what is kept, and were left out: --shift-to now "
            "moves the times of all files so that the newest is now"
        )
    if any(one.state == ImportState.QUESTION for one in files):
        found.append("Files that were not read need an answer: import them again with it")
    return found


def _resources(
    run: ImportRun, since: datetime, until: datetime, now: datetime
) -> tuple[FoundResource, ...]:
    resources = resources_of(run)
    levels = read_levels(resources, since=since, until=until + timedelta(minutes=1))
    found = []
    for one in resources:
        own = levels[one.pk]
        known = np.flatnonzero(~np.isnan(own.value))
        incidents = _incidents(one, since, until)
        worst = int(known[np.argmax(own.value[known])]) if len(known) else None
        is_judged = worst is not None or bool(incidents)
        found.append(
            FoundResource(
                pk=one.pk,
                name=one.name,
                windows=len(known),
                judged_for=duration_text(timedelta(seconds=len(known) * one.window_s)),
                worst="" if worst is None else one.traits.level.text(float(own.value[worst])),
                worst_at=None if worst is None else moment(int(own.at_us[worst])),
                threshold=""
                if worst is None or np.isnan(own.threshold[worst])
                else one.traits.level.text(float(own.threshold[worst])),
                incidents=tuple(
                    _incident(incident, until, now) for incident in incidents[:MOST_INCIDENTS]
                ),
                incident_count=len(incidents),
                gap="" if is_judged else _gap(one, since, until),
            )
        )
    return tuple(found)


def _incidents(resource: Resource, since: datetime, until: datetime) -> list[Incident]:
    """Those that reach into the time, the longest first."""
    rows = Incident.objects.filter(resource=resource, started_at__lte=until)
    own = [one for one in rows if one.ended_at is None or one.ended_at >= since]
    return sorted(own, key=lambda one: (-one.windows, one.started_at))


def _incident(incident: Incident, until: datetime, now: datetime) -> FoundIncident:
    level = incident.resource.traits.level
    ended = incident.ended_at
    return FoundIncident(
        pk=incident.pk,
        since=incident.started_at,
        until=ended if ended is not None and ended <= until else None,
        peak="stalled" if incident.peak_value is None else level.text(incident.peak_value),
        threshold="" if incident.threshold is None else level.text(incident.threshold),
        by_whom=_by_whom(incident, now),
        at_expense_of=_at_expense_of(incident),
        would_have_helped=_would_have_helped(incident, until),
    )


def _at_expense_of(incident: Incident) -> str:
    if not _has_workloads(incident):
        return f"cannot be told: {NO_WORKLOADS}"
    return _names(incident.victims) or "nobody got less than its entitlement"


def _names(parties: Sequence[dict[str, str]]) -> str:
    return listed(workload_words(one["workload"]) for one in parties)


def _by_whom(incident: Incident, now: datetime) -> str:
    if not _has_workloads(incident):
        return f"cannot be told: {NO_WORKLOADS}"
    study = study_incident(incident=incident, now=now)
    if study.attribution is None:
        return f"cannot be told: {study.gap}"
    named = listed(
        f"{workload_words(one.workload)} ({one.part_ratio:.0%})"
        for one in study.attribution.suspects
        if one.is_aggressor
    )
    return named or f"nobody stands out: {study.attribution.reason}"


def _would_have_helped(incident: Incident, until: datetime) -> str:
    """What would be advised if it were the end of the incident now; nothing of it is kept."""
    if incident.peak_value is None:
        return "nothing that Sluice sets: no share, limit or reservation makes I/O complete"
    end = min(incident.ended_at or until, until)
    if not _has_workloads(incident):
        return f"cannot be told: {NO_WORKLOADS}"
    # What a process remembers is for workers: threads of a web server would share it.
    known = inventory_of([incident.resource])
    inputs = policy_inputs(
        incident.resource, incident, policy=None, until=end, now=end, known=known
    )
    plain = json.loads(dumps(POLICY.decide(inputs)))
    return str(plain["summary"])


def _has_workloads(incident: Incident) -> bool:
    return Allocation.objects.filter(resource=incident.resource).exists()


def _gap(resource: Resource, since: datetime, until: datetime) -> str:
    """Why nothing of a resource was judged."""
    for one in Attachment.objects.filter(resource=resource).select_related("host"):
        why = why_unrated(
            resource.traits.reader.figures,
            host=one.host,
            name=one.device,
            since=since - timedelta(seconds=1),
            until=until,
        )
        if why is not None:
            return f"its samples give no rate: {why}"
    return NOT_JUDGED
