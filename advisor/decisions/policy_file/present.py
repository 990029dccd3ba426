"""What an organisation's rows say, as a policy file says it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict, replace
from typing import Literal, TypeVar

from accounts.models import Organisation
from advisor.core.admission import TOLERANCE
from advisor.core.allocation import ReservationMode
from advisor.core.detection.maintenance_windows import Recurrence
from advisor.core.detection.threshold import ThresholdMode
from advisor.core.ladder.rule import Level
from advisor.core.reporting.schedule import Every
from advisor.core.resource import IoCount, LimitScope, ResourceKind, Tier, Unit
from advisor.decisions import report_subscriptions
from advisor.decisions.found.rules import stated_rules
from advisor.decisions.policy_file.decide.difference import Present
from advisor.decisions.policy_file.decide.document import (
    AllocationEntry,
    LadderEntry,
    MaintenanceEntry,
    NotificationEntry,
    Place,
    PolicyFile,
    PoolEntry,
    ReportEntry,
    ResourceEntry,
    RolloutEntry,
    TeamEntry,
    WorkloadEntry,
)
from advisor.decisions.policy_file.decide.entry_checks import ordered
from advisor.decisions.policy_file.decide.ladder_checks import frozen_text
from advisor.decisions.policy_file.decide.wall_clock import start_text
from advisor.decisions.rollouts.begin import terms_of
from advisor.models import (
    Allocation,
    Attachment,
    LadderRule,
    MaintenanceWindow,
    NotificationRule,
    Pool,
    ReportSubscription,
    Resource,
    SharedAlarmBudget,
    Team,
    Workload,
)
from advisor.notifications.stated_rule import stated
from advisor.resource_kinds.registry import traits_of

Permitted = TypeVar("Permitted", AllocationEntry, PoolEntry)
DERIVED = ("capacity", "line_rate", "size_bytes")
"""What facts give where nobody states it."""


def present_state(organisation: Organisation) -> Present:
    """All that people stated, and the resources that were found and are there."""
    rows = list(
        Resource.objects.filter(organisation=organisation)
        .exclude(discovered=True, vanished_at__isnull=False)
        .prefetch_related("attachments__host")
    )
    places = [at for row in rows for at in row.attachments.all()]
    budget = SharedAlarmBudget.objects.filter(organisation=organisation).first()
    every = Workload.objects.filter(organisation=organisation)
    stated = every.exclude(tier_stated=False, stated_tags=[])
    document = PolicyFile(
        version=1,
        rules=stated_rules(organisation),
        alarm_budget="none" if budget is None else budget.alarms_per_week,
        rollouts=_rollouts(organisation),
        resources=tuple(map(_resource, rows)),
        workloads=tuple(map(_workload, stated)),
        teams=tuple(
            TeamEntry(name=one.name, tags=tuple(one.tags))
            for one in Team.objects.filter(organisation=organisation)
        ),
        allocations=tuple(map(_allocation, _stated_allocations(organisation))),
        pools=tuple(map(_pool, _stated_pools(organisation))),
        maintenance=tuple(map(_maintenance, _windows(organisation))),
        ladder=tuple(map(_rule, _rules(organisation))),
        notifications=tuple(map(_notification, _notifications(organisation))),
        reports=tuple(map(_report, _reports(organisation))),
    )
    return Present(
        document=ordered(document),
        found_places=frozenset((at.host.name, at.device) for at in places if at.found),
        derived={row.name: _derived(row) for row in rows},
        derived_depths={
            (at.host.name, at.device): at.derived_queue_depth
            for at in places
            if at.derived_queue_depth is not None
        },
    )


def exported(organisation: Organisation) -> PolicyFile:
    """The present state as a file that can be taken over elsewhere."""
    return _with_permissions(present_state(organisation).document)


def _derived(row: Resource) -> dict[str, float]:
    return {name: row.derived[name] for name in DERIVED if name in row.derived}


def _resource(row: Resource) -> ResourceEntry:
    derived = _derived(row)
    stated = {
        name: None if getattr(row, name) == derived.get(name) else getattr(row, name)
        for name in DERIVED
    }
    return ResourceEntry(
        name=row.name,
        kind=ResourceKind(row.kind),
        reached_by=tuple(
            sorted(map(_place, row.attachments.all()), key=lambda at: (at.host, at.device))
        ),
        found=row.discovered,
        unit=Unit(row.unit),
        mode=ReservationMode(row.mode),
        threshold_mode=ThresholdMode(row.threshold_mode),
        threshold=row.threshold,
        alarms_per_week=_alarms(row),
        window_s=row.window_s,
        lun_queue_depth=row.lun_queue_depth,
        used_bytes=row.used_bytes,
        disks=row.disks,
        staged=row.staged,
        **stated,
    )


def _workload(row: Workload) -> WorkloadEntry:
    tier = Tier(row.tier) if row.tier_stated else None
    return WorkloadEntry(name=row.name, tier=tier, tags=tuple(row.stated_tags))


def _alarms(row: Resource) -> float | Literal["shared", "none"]:
    if row.shares_alarm_budget:
        return "shared"
    return "none" if row.alarms_per_week is None else row.alarms_per_week


def _place(at: Attachment) -> Place:
    depth = at.device_queue_depth
    return Place(
        host=at.host.name,
        device=at.device,
        queue_depth=None if depth == at.derived_queue_depth else depth,
    )


def _stated_allocations(organisation: Organisation) -> list[Allocation]:
    rows = Allocation.objects.filter(resource__organisation=organisation, found=False)
    return list(rows.select_related("resource", "workload", "host"))


def _allocation(row: Allocation) -> AllocationEntry:
    return AllocationEntry(
        resource=row.resource.name,
        workload=row.workload.name,
        host=row.host.name,
        vdisk=row.vdisk,
        adapter_kind=row.adapter_kind,  # type: ignore[arg-type]  # The column's choices.
        adapter=row.adapter,
        selector=f"{row.selector_kind}={row.selector}" if row.selector_kind else "",
        reservation=row.reservation,
        limit=row.limit,
        shares=row.shares,
        limit_scope=LimitScope(row.limit_scope),
        io_count=IoCount(row.io_count),
        size_bytes=row.size_bytes,
    )


def _stated_pools(organisation: Organisation) -> list[Pool]:
    rows = Pool.objects.filter(resource__organisation=organisation)
    return list(rows.select_related("resource").prefetch_related("members__workload"))


def _pool(row: Pool) -> PoolEntry:
    return PoolEntry(
        resource=row.resource.name,
        name=row.name,
        reservation=row.reservation,
        limit=row.limit,
        shares=row.shares,
        members=tuple(sorted({one.workload.name for one in row.members.all()})),
    )


def _windows(organisation: Organisation) -> list[MaintenanceWindow]:
    rows = MaintenanceWindow.objects.filter(organisation=organisation)
    return list(rows.prefetch_related("resources", "workloads"))


def _maintenance(row: MaintenanceWindow) -> MaintenanceEntry:
    return MaintenanceEntry(
        name=row.name,
        start=start_text(row.starts_at, row.zone),
        length_s=row.length_s,
        recurrence=Recurrence(row.recurrence),
        zone=row.zone,
        resources=tuple(sorted(one.name for one in row.resources.all())),
        workloads=tuple(sorted(one.name for one in row.workloads.all())),
    )


def _rollouts(organisation: Organisation) -> RolloutEntry:
    terms = terms_of(organisation)
    return RolloutEntry(
        staged=terms.staged,
        stage_s=terms.stage_s,
        longest_s=terms.longest_s,
        unsure="goes-on" if terms.goes_on_unsure else "waits",
        settle_s=terms.settle_s,
    )


def _rules(organisation: Organisation) -> list[LadderRule]:
    rows = LadderRule.objects.filter(organisation=organisation)
    return list(rows.select_related("resource"))


def _rule(row: LadderRule) -> LadderEntry:
    return LadderEntry(
        name=row.name,
        resource=row.resource.name if row.resource else "",
        tier=Tier(row.tier) if row.tier else None,
        kind=row.kind or None,  # type: ignore[arg-type]  # A name in the registry.
        level=Level(row.level) if row.level else None,
        windows=tuple(row.windows),
        zone=row.zone,
        frozen_from=frozen_text(row.frozen_from, row.zone),
        frozen_until=frozen_text(row.frozen_until, row.zone),
        frozen_because=row.frozen_because,
        cooldown_s=row.cooldown_s,
        most_per_day=row.most_changes_per_day,
        second_person=row.second_person,
    )


def _notifications(organisation: Organisation) -> list[NotificationRule]:
    rows = NotificationRule.objects.filter(organisation=organisation)
    return list(rows.select_related("channel").prefetch_related("resources"))


def _notification(row: NotificationRule) -> NotificationEntry:
    return NotificationEntry(**asdict(stated(row)))


def _reports(organisation: Organisation) -> list[ReportSubscription]:
    rows = ReportSubscription.objects.filter(organisation=organisation)
    return list(rows.select_related("channel", "team"))


def _report(row: ReportSubscription) -> ReportEntry:
    return ReportEntry(**{**asdict(report_subscriptions.stated(row)), "every": Every(row.every)})


def _with_permissions(document: PolicyFile) -> PolicyFile:
    """The document with leave for reservations that its own figures do not admit.

    They were admitted by what was measured here, or by a person; elsewhere neither is known.
    """
    reservable = {one.name: _reservable(one) for one in document.resources or ()}
    pools = {(one.resource, name): one for one in document.pools or () for name in one.members}
    members: dict[str, float] = defaultdict(float)
    asked: dict[str, float] = defaultdict(float)
    for one in document.allocations or ():
        pool = pools.get((one.resource, one.workload))
        if pool is None:
            asked[one.resource] += one.reservation
        else:
            members[pool.key] += one.reservation
    for pool in document.pools or ():
        asked[pool.resource] += max(pool.reservation, members[pool.key])

    def permitted(entry: Permitted) -> Permitted:
        fits = asked[entry.resource] <= reservable.get(entry.resource, 0.0)
        return entry if fits or entry.reservation == 0 else replace(entry, even_if_full=True)

    return replace(
        document,
        allocations=tuple(map(permitted, document.allocations or ())),
        pools=tuple(map(permitted, document.pools or ())),
    )


def _reservable(entry: ResourceEntry) -> float:
    """What a new resource of these figures has room for; without figures nothing."""
    traits = traits_of(entry.kind)
    whole = entry.line_rate or entry.capacity
    if whole is None:
        return 0.0
    carried = entry.capacity or whole
    beside = whole if traits.host_part is None else carried - traits.host_part(carried)
    return min(traits.reservable_ratio * whole, beside) * (1 + TOLERANCE)
