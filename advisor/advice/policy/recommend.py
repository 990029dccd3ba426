"""From an incident to a recommendation, or to the reason why there is none."""

from __future__ import annotations

import json
from datetime import datetime, timedelta

import numpy as np
from django.db import transaction

from accounts.models import Organisation
from advisor.advice.policy.calm import RECENT, calm_gap
from advisor.advice.policy.decide.policy_inputs import (
    AdviceAllocation,
    AdviceInputs,
    summarize_rates,
)
from advisor.advice.policy.kind import POLICY
from advisor.advice.recommendation_store import (
    be_the_only_adviser,
    keep,
    open_draft,
    rejected_before,
)
from advisor.core.allocation import ReservationMode
from advisor.core.canonical import dumps, loads
from advisor.core.detection import incident as core_incident
from advisor.core.explanation.answer import AdviceOutcome
from advisor.core.grant import Grant
from advisor.core.resource import Tier, Unit
from advisor.history.history import History
from advisor.history.past_week import past_week
from advisor.history.reader import read_history
from advisor.models import (
    Incident,
    Policy,
    Recommendation,
    RecommendationState,
    Resource,
    ResourceStatus,
    State,
)
from advisor.pipeline.muting import comes_from_outside, maintenance_windows_of, muting_of
from ingest.core.grid import Flags, Floats, Grid, grid_of, microseconds

USUAL_SPAN = timedelta(hours=24)
"""What a workload takes when nothing holds it back is learnt from the last day."""

STALLED_GAP = "it stalled: no share, limit or reservation makes I/O complete"

NOT_LOOKED_GAP = "load from outside has not been looked for yet"
REJUDGING_GAP = "samples came late: windows that they change are judged again first"

GONE = timedelta(minutes=5)
"""Samples may come late, but not so late."""


def recommend_all(
    *, organisation: Organisation, now: datetime
) -> list[tuple[Resource, Recommendation | str]]:
    """Advice for every resource: a recommendation, or the reason why there is none."""
    resources = Resource.objects.filter(organisation=organisation)
    return [(resource, recommend(resource=resource, now=now)) for resource in resources]


@transaction.atomic
def recommend(*, resource: Resource, now: datetime) -> Recommendation | str:
    """The open recommendation for the resource's newest incident, or why there is none.

    Advice that says the same as an open recommendation changes nothing; advice that says
    something else supersedes it; advice that a person rejected for this incident is not repeated.
    """
    ResourceStatus.objects.get_or_create(resource=resource)
    be_the_only_adviser(resource)
    status = ResourceStatus.objects.get(resource=resource)
    if status.is_rejudging:
        return _save_gap(status, REJUDGING_GAP)
    incident = _newest_incident(resource, now)
    if incident is None:
        return _save_gap(status, calm_gap(status))
    muting = muting_of(incident, maintenance_windows_of(resource.organisation), now=now)
    if muting.muted:
        return _save_gap(status, f"maintenance window: {muting.reason}")
    if status.state == State.STALLED or incident.peak_value is None:
        return _save_gap(status, STALLED_GAP)
    if outside := _outside(incident):
        return _save_gap(status, outside)
    if draft := open_draft(resource, now):
        return _save_gap(status, _waits(draft))
    inputs = dumps(_inputs(resource, incident, now))
    found = POLICY.answer(inputs)
    plain = json.loads(found)
    # Only now, because the detector needs the row; a person may have composed a draft meanwhile.
    status = ResourceStatus.objects.select_for_update().get(resource=resource)
    if draft := open_draft(resource, now):
        return _save_gap(status, _waits(draft))
    if plain["outcome"] != AdviceOutcome.RECOMMENDATION:
        return _save_gap(status, plain["summary"])
    rejected = rejected_before(
        resource=resource, kind=POLICY, incident=incident, found=found, now=now
    )
    if rejected is not None:
        return _save_gap(status, f"rejected as {rejected.pk}: {rejected.decision_reason}")
    _save_gap(status, "")
    return keep(
        resource=resource,
        kind=POLICY,
        incident=incident,
        inputs=inputs,
        found=found,
        now=now,
    )


def _newest_incident(resource: Resource, now: datetime) -> Incident | None:
    newest = Incident.objects.filter(resource=resource).order_by("-started_at").first()
    if newest is None or (newest.ended_at is not None and newest.ended_at < now - RECENT):
        return None
    return newest


def _outside(incident: Incident) -> str:
    """Why nothing is advised because of load from outside; empty if it is not."""
    if incident.external is None and incident.resource.traits.hides_load:
        return NOT_LOOKED_GAP
    if reason := comes_from_outside(incident):
        _withdraw(incident)
        return f"suspended, load from outside: {reason}"
    return ""


def _withdraw(incident: Incident) -> None:
    """Advice from before it was known that our own workloads are not the cause."""
    incident.recommendations.filter(
        topic=POLICY.topic, state=RecommendationState.PROPOSED, created_by=None
    ).update(state=RecommendationState.SUPERSEDED)


def _inputs(resource: Resource, incident: Incident, now: datetime) -> AdviceInputs:
    ended_at = incident.ended_at or now
    allocations = list(
        resource.allocations.select_related("workload", "host", "resource").order_by("pk")
    )
    history = read_history(
        resource,
        grid_of(ended_at - USUAL_SPAN, ended_at, resource.window_s),
        allocations=allocations,
    )
    policy = resource.policies.order_by("-version").first()
    return AdviceInputs(
        resource=resource.name,
        kind=resource.kind,
        unit=Unit(resource.unit),
        mode=ReservationMode(resource.mode),
        capacity=resource.capacity,
        reservable=resource.reservable,
        began_at=incident.started_at,
        ended_at=ended_at,
        allocations=_allocations(history, incident.started_at),
        incident=_core_incident(incident),
        in_force=_in_force(policy),
        past=past_week(
            resource=resource, allocations=allocations, policy=policy, incident=incident, now=now
        ),
    )


def _allocations(history: History, began_at: datetime) -> tuple[AdviceAllocation, ...]:
    """What each allocation took in the incident, and in the clear windows before it."""
    grid, levels, own = history.grid, history.levels, history.allocations
    congested = grid.ends_us > microseconds(began_at)
    # The windows by which congestion was recognised were called clear at first.
    calm = np.zeros(grid.count, dtype=np.bool_)
    clear = levels.places(grid)[levels.is_state(State.CLEAR)]
    calm[clear[clear >= 0]] = True
    calm &= ~congested
    unit = Unit(history.resource.unit)
    found = []
    for place, row in enumerate(own.rows):
        rate = own.rate[:, place]
        known = ~np.isnan(rate)
        found.append(
            AdviceAllocation(
                allocation=row.pk,
                workload=row.workload.name,
                host=row.host.name,
                tier=Tier(row.workload.tier),
                reservation=row.reservation,
                limit=row.limit,
                shares=row.shares,
                congested=summarize_rates(
                    rate[known & congested].tolist(),
                    span_days=(grid.until - began_at) / timedelta(days=1),
                ),
                usual=summarize_rates(
                    rate[known & calm].tolist(), span_days=USUAL_SPAN / timedelta(days=1)
                ),
                active=_is_active(rate, congested, grid),
                backlogged=_mostly(own.backlogged[known & congested, place]),
                mean_io_bytes=_mean_io_bytes(
                    rate[congested], own.mean_io_bytes[congested, place], unit
                ),
            )
        )
    return tuple(found)


def _mean_io_bytes(rate: Floats, size: Floats, unit: Unit) -> float | None:
    """Bytes over I/Os of the windows in which the size was measured; arguments (windows)."""
    known = size > 0
    rate, size = rate[known], size[known]
    ios = rate / size if unit is Unit.BYTES_PER_S else rate
    whole = float(ios.sum())
    return float((ios * size).sum()) / whole if whole > 0 else None


def _is_active(rate: Floats, congested: Flags, grid: Grid) -> bool:
    """Whether it did anything, and is not gone: what does not send any more wants nothing."""
    if not (rate[congested] > 0).any():
        return False
    newest = int(np.flatnonzero(congested & ~np.isnan(rate))[-1])
    gone_us = max(GONE / timedelta(microseconds=1), 2 * grid.window_us)
    return bool(grid.ends_us[newest] > grid.until_us - gone_us)


def _mostly(queued: Floats) -> bool | None:
    """Whether most of the known windows are 1; NaN is unknown. (windows)"""
    known = queued[~np.isnan(queued)]
    return bool(known.sum() * 2 > len(known)) if len(known) else None


def _core_incident(row: Incident) -> core_incident.Incident:
    plain = {
        "started_at": row.started_at.isoformat(),
        "ended_at": row.ended_at.isoformat() if row.ended_at else None,
        "peak_value": row.peak_value,
        "threshold": row.threshold,
        "windows": row.windows,
        "stalled_windows": row.stalled_windows,
        "victims": row.victims,
        "aggressors": row.aggressors,
        "evidence": row.evidence,
        "signals": row.signals,
    }
    return loads(core_incident.Incident, json.dumps(plain))


def _in_force(policy: Policy | None) -> tuple[Grant, ...]:
    return tuple(
        Grant(
            allocation=item["allocation"],
            reservation=item["reservation"],
            limit=item["limit"],
            shares=item["shares"],
        )
        for item in (policy.allocations if policy else ())
    )


def _waits(draft: Recommendation) -> str:
    return f"a draft, recommendation {draft.pk}, waits for a decision"


def _save_gap(status: ResourceStatus, reason: str) -> str:
    if status.advice_gap != reason:
        status.advice_gap = reason
        status.save(update_fields=["advice_gap"])
    return reason
