"""What advice on a policy is decided from: an incident, its workloads, and the week before."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

import numpy as np

from advisor.advice.policy.decide.host_traffic import HostTraffic
from advisor.advice.policy.decide.policy_inputs import (
    NO_PAST,
    Accused,
    AdviceAllocation,
    AdviceInputs,
    Cause,
    summarize_columns,
)
from advisor.core.allocation import ReservationMode
from advisor.core.canonical import from_plain
from advisor.core.demand.forecast import BLOCK
from advisor.core.demand.latency import LEAST_PERCENTILE, SeenLatency
from advisor.core.detection import incident as core_incident
from advisor.core.explanation.rounding import rounded
from advisor.core.forecast.past import Past
from advisor.core.grant import Grant
from advisor.core.pools import PoolTerms
from advisor.core.resource import Tier, Unit
from advisor.core.standing import UNALLOCATED_RATIO
from advisor.history.allocation_history import (
    asked_history,
    history_over,
    significant,
)
from advisor.history.history import SizedWorkloads
from advisor.history.inventory import Inventory, kept_inventory
from advisor.history.levels import Levels, read_levels
from advisor.history.measured import rate_kinds, rates_alone, read_spans
from advisor.history.reader import workloads_in
from advisor.history.size_terms import size_term_at
from advisor.history.stored.read import Span
from advisor.history.subjects import WAITING_KINDS
from advisor.models import Allocation, Incident, Policy, Resource, State
from advisor.pipeline.attribute import LONGEST, study_incident
from advisor.pipeline.find_cause import accusation
from ingest.core.figures import FigureKind
from ingest.core.grid import Flags, Floats, Grid, Integers, grid_of, microseconds
from ingest.core.steps import coarse_step_s

DAY = timedelta(days=1)
USUAL_SPAN = timedelta(hours=24)
"""What a workload takes when nothing holds it back is learnt from the last day."""

GONE = timedelta(minutes=5)
"""Samples may come late, but not so late."""

WEEK = timedelta(days=7)
MOST_WINDOWS = 336
"""A week in half hours."""
MOST_CELLS = 20_000
"""Limit of windows times allocations, so that stored advice stays below a megabyte."""
FEWEST_WINDOWS = 48
DRAWN_WINDOWS = 40
"""So many calm windows, and as many of the incident, say what a workload wants."""


def policy_inputs(
    resource: Resource,
    incident: Incident,
    *,
    policy: Policy | None,
    until: datetime,
    now: datetime,
    pools: tuple[PoolTerms, ...] = (),
    known: Inventory | None = None,
    with_past: bool = True,
) -> AdviceInputs:
    """The inputs as they are known now; the past ends with `until`, the last judged window.

    With the past comes the cause, because only what is decided by the past needs it.
    `pools` are those that are stated. `known` is the inventory of the resource, otherwise what
    this process remembers of it.
    """
    known = known or kept_inventory([resource])
    if with_past:
        day, past = _read(resource, incident, known, policy=policy, until=until, now=now)
    else:
        day, past = _read_day(resource, incident, known, now=now), NO_PAST
    return AdviceInputs(
        resource=resource.name,
        kind=resource.kind,
        unit=Unit(resource.unit),
        mode=ReservationMode(resource.mode),
        capacity=resource.capacity,
        reservable=resource.reservable,
        began_at=incident.started_at,
        ended_at=incident.ended_at or now,
        allocations=_allocations(day, incident.started_at),
        incident=_core_incident(incident),
        in_force=_in_force(policy),
        past=past,
        host_traffic=_host_traffic(resource, day.during),
        latency=_latency(day),
        cause=_cause(incident, now=now) if with_past else None,
        pools_before=tuple(from_plain(PoolTerms, one) for one in policy.pools) if policy else (),
        pools_after=pools,
        size_term_bytes=size_term_at(resource, incident.started_at),
    )


def _cause(incident: Incident, *, now: datetime) -> Cause | None:
    """Who causes the incident, as its page says; None where too little is known to tell.

    Of an incident that is longer only its beginning is studied, and who caused that may be gone.
    """
    if (incident.ended_at or now) - incident.started_at > LONGEST:
        return None
    if incident.cause_found_at is None:
        found = accusation(incident, study_incident(incident=incident, now=now))
    else:
        found = incident.cause
    if found is None:
        return None
    accused = tuple(
        Accused(workload=one["workload"], part_ratio=one["part_ratio"])
        for one in found["aggressors"]
    )
    return Cause(aggressors=accused, reason=found["reason"])


def _latency(day: _Day) -> SeenLatency | None:
    """What I/Os took in clear windows of the day before, and in the incident."""
    levels = day.during.levels
    if not day.during.resource.traits.costs_by_size:
        return None
    is_clear = levels.is_state(State.CLEAR) & (levels.places(day.before) >= 0)
    calm = _mean_latency_ms(levels, is_clear)
    congested = _mean_latency_ms(levels, levels.places(day.during.grid) >= 0)
    if calm is None or congested is None:
        return None
    return SeenLatency(
        calm_ms=rounded(calm),
        congested_ms=rounded(congested),
        least_ms=rounded(_least_latency_ms(levels, is_clear)),
    )


def _least_latency_ms(levels: Levels, chosen: Flags) -> float:
    """That of the windows, of those with I/O, in which it was least."""
    known = _has_latency(levels, chosen)
    waited = levels.value[known] * levels.device_load[known]
    return float(np.percentile(waited / levels.load[known], LEAST_PERCENTILE))


def _has_latency(levels: Levels, chosen: Flags) -> Flags:
    return chosen & ~np.isnan(levels.value) & ~np.isnan(levels.device_load) & (levels.load > 0)


def _mean_latency_ms(levels: Levels, chosen: Flags) -> float | None:
    """Over all I/Os of these windows, each of the size it had; None where there were none."""
    known = _has_latency(levels, chosen)
    if not known.any():
        return None
    # The value is of an I/O of the reference size; their device time is that of all I/Os.
    waited = levels.value[known] * levels.device_load[known]
    return float(waited.sum() / levels.load[known].sum())


def _host_traffic(resource: Resource, during: SizedWorkloads) -> HostTraffic | None:
    """The host's own part of an uplink, and what nobody's allocation sent in the incident."""
    host_part = resource.traits.host_part
    if host_part is None or resource.capacity is None:
        return None
    return HostTraffic(reservation=host_part(resource.capacity), demand=_unclaimed(during))


def _unclaimed(during: SizedWorkloads) -> float | None:
    """The mean rate of what belongs to no allocation; None where the whole is not known."""
    sent = np.full(during.grid.count, np.nan)
    places = during.levels.places(during.grid)
    sent[places[places >= 0]] = during.levels.load[places >= 0]
    known = ~np.isnan(sent)
    if not known.any():
        return None
    whole, own = sent[known].mean(), np.nansum(during.rate[known], axis=1).mean()
    rest = float(whole - own)
    return rest if rest > UNALLOCATED_RATIO * whole else 0.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Day:
    """The day that ends with the incident, up to which only rates are read.

    `rates` (windows, allocations) are of the windows `before` the incident; `during` has the rest.
    """

    before: Grid
    rates: Floats
    during: SizedWorkloads


def _read_day(resource: Resource, incident: Incident, known: Inventory, *, now: datetime) -> _Day:
    """The day that ends with the incident, alone, and what a policy is chosen by."""
    inventory = known.workloads(resource, _in_order(known, resource))
    before, grid = _grids(resource, incident, now)
    # Waiting is no queue, so no policy is chosen by it.
    kinds = [kind for kind in inventory.subjects if kind not in WAITING_KINDS]
    rates, (during,) = _workloads(resource, inventory, before, [grid], kinds)
    return _Day(before=before, rates=rates, during=during)


def _in_order(known: Inventory, resource: Resource) -> list[Allocation]:
    return sorted(known.allocations[resource.pk], key=lambda row: row.pk)


def _grids(resource: Resource, incident: Incident, now: datetime) -> tuple[Grid, Grid]:
    """The day that ends with the incident: the windows before it, and the rest."""
    ended_at = incident.ended_at or now
    day = grid_of(ended_at - USUAL_SPAN, ended_at, resource.window_s)
    first = int(np.searchsorted(day.ends_us, microseconds(incident.started_at), side="right"))
    return day.part(0, first), day.part(first, day.count)


def _read(
    resource: Resource,
    incident: Incident,
    known: Inventory,
    *,
    policy: Policy | None,
    until: datetime,
    now: datetime,
) -> tuple[_Day, Past]:
    """The day that ends with the incident, and the past week; no window is read twice."""
    allocations = _in_order(known, resource)
    inventory = known.workloads(resource, allocations)
    most = max(FEWEST_WINDOWS, min(MOST_WINDOWS, MOST_CELLS // max(len(allocations), 1)))
    week = asked_history(
        resource=resource,
        allocations=allocations,
        policy=policy,
        length=WEEK,
        until=until,
        most_windows=most,
    )
    before, grid = _grids(resource, incident, now)
    shown = (incident.started_at, min(incident.ended_at or until, until))
    grids = [grid, _fine_grid(resource, *shown, most=most)]
    grids += [week.grid] if week.kept is None else []
    kinds = list(inventory.subjects)
    rates, (during, fine, *rest) = _workloads(resource, inventory, before, grids, kinds)
    past = (week.kept or week.keep(history_over(rest[0], policy))).past
    if shown[0] < shown[1]:
        past = past.outside(*shown).and_then(history_over(fine, policy).past)
    gap = "" if len(past.windows) else "no samples were stored in the past week"
    return _Day(before=before, rates=rates, during=during), replace(past, gap=gap)


def _workloads(
    resource: Resource,
    inventory: Inventory,
    before: Grid,
    grids: Sequence[Grid],
    kinds: Collection[FigureKind[Any]],
) -> tuple[Floats, list[SizedWorkloads]]:
    """Rates in the windows `before`, (windows, allocations), and these kinds in the grids."""
    since = min(grid.since for grid in (before, *grids))
    until = max(grid.until for grid in (before, *grids))
    levels = read_levels([resource], since=since, until=until)[resource.pk]
    unit = Unit(resource.unit)
    spans = [Span(grid=before, kinds=rate_kinds(unit))]
    spans += [Span(grid=grid, kinds=tuple(kinds)) for grid in grids]
    wanted = {kind: inventory.subjects[kind] for kind in kinds}
    series = {kind: inventory.series[kind] for kind in kinds}
    first, *found = read_spans(wanted, spans, known=series)
    return rates_alone(inventory.rates[resource.pk], first, unit), [
        workloads_in(one, resource, inventory=inventory, levels=levels) for one in found
    ]


def _fine_grid(resource: Resource, since: datetime, until: datetime, *, most: int) -> Grid:
    """Windows of the incident that are short enough to show it."""
    step_s = max(float(coarse_step_s(until - since, most)), float(resource.window_s))
    return grid_of(max(since, until - WEEK), until, step_s)


def _allocations(day: _Day, began_at: datetime) -> tuple[AdviceAllocation, ...]:
    """What each allocation took in the incident, and in the clear windows before it."""
    during, levels = day.during, day.during.levels
    grid = during.grid
    # The windows by which congestion was recognised were called clear at first.
    clear = levels.places(day.before)[levels.is_state(State.CLEAR)]
    is_clear = np.zeros(day.before.count, dtype=np.bool_)
    is_clear[clear[clear >= 0]] = True
    unit = Unit(during.resource.unit)
    incident_days, usual_days = (grid.until - began_at) / DAY, USUAL_SPAN / DAY
    calm = day.rates.T[:, is_clear]
    usual = summarize_columns(calm.T, span_days=usual_days)
    congested = summarize_columns(during.rate, span_days=incident_days)
    found = []
    rates, sizes, backlogged = during.rate.T, during.mean_io_bytes.T, during.backlogged.T
    drawn = _drawn(calm, rates)
    ends_us = grid.ends_us
    for place, row in enumerate(during.rows):
        rate = rates[place]
        known = ~np.isnan(rate)
        calm_rates, congested_rates = drawn[place]
        found.append(
            AdviceAllocation(
                allocation=row.pk,
                workload=row.workload.name,
                host=row.host.name,
                tier=Tier(row.workload.tier),
                reservation=row.reservation,
                limit=row.limit,
                shares=row.shares,
                congested=congested[place],
                usual=usual[place],
                congested_rates=congested_rates,
                calm_rates=calm_rates,
                active=_is_active(rate, ends_us, grid),
                backlogged=_mostly(backlogged[place][known]),
                mean_io_bytes=_mean_io_bytes(rate, sizes[place], unit),
            )
        )
    return tuple(found)


def _drawn(calm: Floats, congested: Floats) -> list[tuple[tuple[float, ...], tuple[float, ...]]]:
    """The windows from which demands are drawn, calm and congested; (allocations, windows) each.

    With few digits, because they are stored with the advice.
    """
    chosen = [
        part
        for calm_line, line in zip(calm, congested, strict=True)
        for part in (_newest(calm_line), _blocks(line))
    ]
    if not chosen:
        return []
    rates = iter(significant(np.concatenate(chosen)).tolist())
    lines = [tuple(islice(rates, len(one))) for one in chosen]
    return list(zip(lines[::2], lines[1::2], strict=True))


def _newest(rate: Floats) -> Floats:
    """The last known windows, which are most like those to come; (windows)."""
    return rate[~np.isnan(rate)][-DRAWN_WINDOWS:]


def _blocks(rate: Floats) -> Floats:
    """Blocks of neighbouring windows from all over the incident; (windows)."""
    rate = rate[~np.isnan(rate)]
    if len(rate) <= DRAWN_WINDOWS:
        return rate
    begins = np.linspace(0, len(rate) - BLOCK, DRAWN_WINDOWS // BLOCK).astype(np.intp)
    found: Floats = rate[begins[:, np.newaxis] + np.arange(BLOCK)].ravel()
    return found


def _mean_io_bytes(rate: Floats, size: Floats, unit: Unit) -> float | None:
    """Bytes over I/Os of the windows in which the size was measured; arguments (windows)."""
    known = size > 0
    rate, size = rate[known], size[known]
    ios = rate / size if unit is Unit.BYTES_PER_S else rate
    whole = float(ios.sum())
    return float((ios * size).sum()) / whole if whole > 0 else None


def _is_active(rate: Floats, ends_us: Integers, grid: Grid) -> bool:
    """Whether it did anything, and is not gone: what does not send any more wants nothing.

    Its rates in the incident, with the ends of the windows, are (windows).
    """
    if not (rate > 0).any():
        return False
    newest = int(np.flatnonzero(~np.isnan(rate))[-1])
    gone_us = max(GONE / timedelta(microseconds=1), 2 * grid.window_us)
    return bool(ends_us[newest] > grid.until_us - gone_us)


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
    return from_plain(core_incident.Incident, plain)


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
