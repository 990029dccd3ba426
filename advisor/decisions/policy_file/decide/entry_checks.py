"""What an entry means when its kind has filled in what it leaves out, and what cannot be so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TypeVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from advisor.core.detection.maintenance_windows import MaintenanceWindow
from advisor.core.notifying import Rule, problems_of_lengths, problems_of_rule
from advisor.core.reporting.schedule import problems_of_subscription
from advisor.core.resource import Tier
from advisor.core.tags import problems_of_tags
from advisor.decisions.policy_file.decide.document import (
    AllocationEntry,
    Entry,
    LadderEntry,
    MaintenanceEntry,
    NotificationEntry,
    PolicyFile,
    PoolEntry,
    ReportEntry,
    ResourceEntry,
    RolloutEntry,
    TeamEntry,
    WorkloadEntry,
)
from advisor.decisions.policy_file.decide.ladder_checks import (
    frozen_text,
    frozen_time,
    problems_of_ladder,
)
from advisor.decisions.policy_file.decide.problems import Problem
from advisor.decisions.policy_file.decide.wall_clock import start_text, time_of
from advisor.resource_kinds.registry import traits_of
from enforcers.contract import HOST_TRAFFIC, ContractError, Selector
from ingest.core.identity.rules import RuleError, read_rules

AnyEntry = TypeVar("AnyEntry")
Sorted = TypeVar("Sorted", bound=Entry)


def settled(entry: AnyEntry) -> AnyEntry:
    """The entry with what its kind fills in, and times and lists in one way of writing."""
    match entry:
        case ResourceEntry():
            traits = traits_of(entry.kind)
            return replace(
                entry,
                unit=entry.unit or traits.units[0],
                mode=entry.mode or traits.modes[0],
                threshold=traits.threshold if entry.threshold is None else entry.threshold,
                reached_by=tuple(sorted(entry.reached_by, key=lambda at: (at.host, at.device))),
            )
        case PoolEntry():
            return replace(entry, members=tuple(sorted(set(entry.members))))
        case WorkloadEntry() | TeamEntry():
            return replace(entry, tags=tuple(sorted(set(entry.tags))))
        case NotificationEntry():
            return replace(
                entry,
                resources=tuple(sorted(set(entry.resources))),
                teams=tuple(sorted(set(entry.teams))),
                tags=tuple(sorted(set(entry.tags))),
            )
        case MaintenanceEntry():
            return replace(
                entry,
                start=start_text(start_of(entry), entry.zone),
                resources=tuple(sorted(set(entry.resources))),
                workloads=tuple(sorted(set(entry.workloads))),
            )
        case LadderEntry():
            return replace(
                entry,
                frozen_from=_rewritten(entry.frozen_from, entry.zone),
                frozen_until=_rewritten(entry.frozen_until, entry.zone),
            )
    return entry


def _rewritten(text: str, zone: str) -> str:
    return frozen_text(frozen_time(text, zone), zone)


def ordered(document: PolicyFile) -> PolicyFile:
    """The document with entries in the order in which they are written."""
    return replace(
        document,
        resources=_by_key(document.resources),
        workloads=_by_key(document.workloads),
        teams=_by_key(document.teams),
        allocations=_by_key(document.allocations),
        pools=_by_key(document.pools),
        maintenance=_by_key(document.maintenance),
        ladder=_by_key(document.ladder),
        notifications=_by_key(document.notifications),
        reports=_by_key(document.reports),
    )


def _by_key(entries: tuple[Sorted, ...] | None) -> tuple[Sorted, ...] | None:
    return None if entries is None else tuple(sorted(entries, key=lambda one: one.key))


def start_of(entry: MaintenanceEntry) -> datetime:
    """The first start, in the zone; without an offset it is wall-clock time there."""
    return time_of(entry.start, entry.zone)


def problems_of(entry: Entry | RolloutEntry) -> Iterator[str]:
    """What an entry says that cannot be, whatever stands beside it."""
    match entry:
        case ResourceEntry():
            yield from _of_resource(entry)
        case AllocationEntry():
            yield from _of_allocation(entry)
        case PoolEntry():
            yield from _of_pool(entry)
        case MaintenanceEntry():
            yield from _of_maintenance(entry)
        case LadderEntry():
            yield from problems_of_ladder(entry)
        case NotificationEntry() | ReportEntry():
            yield from _of_telling(entry)
        case RolloutEntry():
            yield from _of_rollouts(entry)
        case WorkloadEntry():
            yield from _of_workload(entry)
        case TeamEntry():
            yield from problems_of_tags(entry.tags)


def _of_pool(entry: PoolEntry) -> Iterator[str]:
    if entry.limit is not None and entry.limit < entry.reservation:
        yield "the limit is below the reservation"


def _of_rollouts(entry: RolloutEntry) -> Iterator[str]:
    if entry.longest_s < entry.stage_s:
        yield "longest is no shorter than stage"


def _of_workload(entry: WorkloadEntry) -> Iterator[str]:
    if entry.tier is None and not entry.tags:
        yield "it states nothing; give it a tier or tags, or leave the entry out"
    yield from problems_of_tags(entry.tags)


def _of_resource(entry: ResourceEntry) -> Iterator[str]:
    traits = traits_of(entry.kind)
    plural = traits.words.plural
    choices: dict[str, tuple[str | None, Sequence[str]]] = {
        "unit": (entry.unit, traits.units),
        "mode": (entry.mode, traits.modes),
        "threshold_mode": (entry.threshold_mode, traits.threshold_modes),
    }
    for key, (chosen, allowed) in choices.items():
        if chosen is not None and chosen not in allowed:
            yield f"{key} of {plural} may be {' or '.join(allowed)}"
    if not entry.reached_by:
        yield "reached_by names at least one host and device"
    if traits.one_device and len(entry.reached_by) > 1:
        yield f"reached_by: {traits.one_device}"
    facts = {
        "line_rate": entry.line_rate,
        "lun_queue_depth": entry.lun_queue_depth,
        "size_bytes": entry.size_bytes,
        "used_bytes": entry.used_bytes,
        "disks": entry.disks or None,
    }
    for name, value in facts.items():
        if value is not None and name not in traits.facts:
            yield f"{plural} have no {name.removesuffix('_bytes')}"
    depths = [at for at in entry.reached_by if at.queue_depth is not None]
    if depths and "lun_queue_depth" not in traits.facts:
        yield f"{plural} have no queue_depth"


def _of_allocation(entry: AllocationEntry) -> Iterator[str]:
    if entry.limit is not None and entry.limit < entry.reservation:
        yield "the limit is below the reservation"
    if entry.selector:
        kind, equals, value = entry.selector.partition("=")
        if not (kind and equals and value):
            yield f'selector: "{entry.selector}" is not KIND=VALUE'
            return
        try:
            Selector(kind=kind, value=value)
        except ContractError as error:
            yield f"selector: {error.problem}"
        if kind == HOST_TRAFFIC:
            yield f"selector: {kind} is the host's own traffic, which has its part of each uplink"


def _of_telling(entry: NotificationEntry | ReportEntry) -> Iterator[str]:
    if isinstance(entry, ReportEntry):
        yield from problems_of_subscription(
            entry.name, hour=entry.hour, zone=entry.zone, tag=entry.tag
        )
        return
    yield from problems_of_lengths(resources=entry.resources, teams=entry.teams)
    yield from problems_of_rule(
        Rule(name=entry.name, tags=frozenset(entry.tags), quiet=entry.quiet, zone=entry.zone)
    )


def _of_maintenance(entry: MaintenanceEntry) -> Iterator[str]:
    try:
        ZoneInfo(entry.zone)
    except (ZoneInfoNotFoundError, ValueError):
        yield f'"{entry.zone}" is not a time zone; write it like Europe/Berlin'
        return
    try:
        at = start_of(entry)
    except ValueError:
        yield f'"{entry.start}" is not a time; write it like 2026-11-21T22:00'
        return
    try:
        MaintenanceWindow(
            name=entry.name, starts_at=at, length_s=entry.length_s, recurrence=entry.recurrence
        )
    except ValueError as error:
        yield str(error)


def problems_between(
    document: PolicyFile, lines: Mapping[tuple[str, str], int]
) -> Iterator[Problem]:
    """What cannot be because of something else in the file."""
    users: dict[tuple[str, str], str] = {}
    for entry in document.resources or ():
        line = lines["resources", entry.name]
        for at in entry.reached_by:
            before = users.setdefault((at.host, at.device), entry.name)
            if before != entry.name:
                yield Problem(line=line, what=f"{at.host}:{at.device} reaches {before} already")
        if len({(at.host, at.device) for at in entry.reached_by}) < len(entry.reached_by):
            yield Problem(line=line, what="reached_by names a device twice")
    pools: dict[tuple[str, str], str] = {}
    for pool in document.pools or ():
        for member in pool.members:
            before = pools.setdefault((pool.resource, member), pool.key)
            if before != pool.key:
                line = lines["pools", pool.key]
                yield Problem(line=line, what=f"{member} is in the pool {before} already")
    try:
        read_rules(document.rules or "", tiers=list(Tier))
    except RuleError as error:
        for problem in error.problems:
            yield Problem(line=lines["rules", ""], what=f"rules: {problem}")
