"""Take a policy file over: everything in one transaction, or nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta

from django.db import transaction

from accounts.actor import COMMAND_LINE, Actor
from accounts.models import Organisation
from accounts.models.audit import LONGEST_SUBJECT
from accounts.services.audit import record
from advisor.decisions.alarm_budgets import state_shared_budget
from advisor.decisions.found.rules import set_rules
from advisor.decisions.inventory import remove_allocations, set_allocation
from advisor.decisions.ladder_rules import remove_rule
from advisor.decisions.maintenance_windows import add_maintenance_window, remove_maintenance_window
from advisor.decisions.policy_file.apply_ladder import set_rollouts, state_entry
from advisor.decisions.policy_file.apply_notifications import (
    remove_notification,
    remove_report,
    state_notification,
    state_report,
)
from advisor.decisions.policy_file.apply_resource import drop_places, make_resource, set_resource
from advisor.decisions.policy_file.decide.difference import (
    Change,
    Verb,
    conflicts,
    difference,
)
from advisor.decisions.policy_file.decide.document import (
    AllocationEntry,
    MaintenanceEntry,
    PoolEntry,
)
from advisor.decisions.policy_file.decide.entry_checks import start_of
from advisor.decisions.policy_file.decide.read import Read
from advisor.decisions.policy_file.present import present_state
from advisor.decisions.pools import (
    admit_on,
    loosen_pool,
    remove_pool,
    reserved_on,
    set_pool,
)
from advisor.decisions.rollouts.begin import held_terms
from advisor.decisions.rollouts.steer import stage_resource
from advisor.decisions.teams import remove_team, set_team, state_tags
from advisor.decisions.workload_tiers import stated_workload, withdraw_tier
from advisor.errors import DecisionRefused, InventoryError
from advisor.models import AdapterKind, Allocation, Resource
from advisor.pipeline.incidents import restate_parties


@transaction.atomic
def plan_policy_file(
    organisation: Organisation, read: Read, *, now: datetime
) -> tuple[Change, ...]:
    """What the file would change. It is tried and taken back, so a refusal is known before."""
    with transaction.atomic():
        # Whoever asks: nothing of it stays.
        found = _Taking(organisation, read, actor=COMMAND_LINE, now=now).take()
        transaction.set_rollback(True)
    return found


@transaction.atomic
def apply_policy_file(
    organisation: Organisation,
    read: Read,
    *,
    expected: tuple[Change, ...],
    actor: Actor,
    now: datetime,
) -> None:
    """Make the changes that were planned; refuses if others are needed meanwhile."""
    # Who takes another file over meanwhile waits here, and then finds that its plan is old.
    Organisation.objects.select_for_update(no_key=True).get(pk=organisation.pk)
    # Approvals take these first too, and the head of the audit chain after them.
    held_terms(organisation)
    taking = _Taking(organisation, read, actor=actor, now=now)
    if taking.changes != expected:
        raise InventoryError("what is stated here changed since the plan; nothing was done")
    taking.take()
    for resource in Resource.objects.filter(
        organisation=organisation, name__in=taking.resources_of_allocations
    ).order_by("pk"):
        restate_parties(resource)
    done = Counter(one.verb.value for one in expected)
    record(
        organisation=organisation, actor=actor, action="apply a policy file",
        subject=read.file[-LONGEST_SUBJECT:], now=now,
        details={**{verb.value: done[verb.value] for verb in Verb}, "sha256": read.digest},
    )  # fmt: skip


class _Taking:
    """One file on its way into the rows of one organisation."""

    def __init__(
        self, organisation: Organisation, read: Read, *, actor: Actor, now: datetime
    ) -> None:
        self._organisation = organisation
        self._read = read
        self._actor = actor
        self._now = now
        self._present = present_state(organisation)
        for one in conflicts(read.document, self._present):
            raise read.refused(one.section, one.key, one.what)
        self.changes = difference(read.document, self._present)

    @property
    def resources_of_allocations(self) -> set[str]:
        return {
            one.resource
            for change in self.changes
            for one in (change.before, change.after)
            if isinstance(one, AllocationEntry)
        }

    def take(self) -> tuple[Change, ...]:
        """Make all changes. What goes comes first, then what others need."""
        for change in self._of("rules"):
            set_rules(self._organisation, change.after, now=self._now)
        for change in self._of("alarm_budget"):
            stated = None if change.after == "none" else change.after
            state_shared_budget(organisation=self._organisation, alarms_per_week=stated)
        for change in self._of("rollouts"):
            set_rollouts(self._organisation, change.after, actor=self._actor, now=self._now)
        self._remove()
        self._take_resources()
        self._take_workloads()
        for change in self._of("teams", Verb.MADE, Verb.CHANGED):
            with self._told_of(change.section, change.key):
                set_team(organisation=self._organisation, name=change.key, tags=change.after.tags)
        self._take_allocations()
        self._take_pools()
        for change in self._of("maintenance", Verb.MADE, Verb.CHANGED):
            with self._told_of(change.section, change.key):
                self._state_window(change.after)
        for change in self._of("ladder", Verb.MADE, Verb.CHANGED):
            with self._told_of(change.section, change.key):
                state_entry(self._organisation, change.after, actor=self._actor, now=self._now)
        for change in self._of("notifications", Verb.MADE, Verb.CHANGED):
            with self._told_of(change.section, change.key):
                state_notification(
                    self._organisation, change.after, actor=self._actor, now=self._now
                )
        for change in self._of("reports", Verb.MADE, Verb.CHANGED):
            with self._told_of(change.section, change.key):
                state_report(self._organisation, change.after, actor=self._actor, now=self._now)
        left = difference(self._read.document, present_state(self._organisation))
        if left:
            raise self._read.refused(left[0].section, left[0].key, _not_taken(left[0]))
        return self.changes

    def _of(self, section: str, *verbs: Verb) -> Iterator[Change]:
        for change in self.changes:
            if change.section == section and (not verbs or change.verb in verbs):
                yield change

    @contextmanager
    def _told_of(self, section: str, key: str) -> Iterator[None]:
        """What a service refuses is told with the line of the entry."""
        try:
            yield
        except (DecisionRefused, InventoryError) as error:
            raise self._read.refused(section, key, str(error)) from error

    def _resource(self, name: str) -> Resource:
        return Resource.objects.get(organisation=self._organisation, name=name)

    def _remove(self) -> None:
        self._remove_told()
        # A window that changes is stated anew.
        for change in self._of("maintenance", Verb.REMOVED, Verb.CHANGED):
            remove_maintenance_window(organisation=self._organisation, name=change.key)
        for change in self._of("pools", Verb.REMOVED):
            remove_pool(resource=self._resource(change.before.resource), name=change.before.name)
        for change in self._of("pools", Verb.CHANGED):
            pool = change.before
            loosen_pool(resource=self._resource(pool.resource), name=pool.name)
        for change in self._of("allocations", Verb.REMOVED):
            gone = change.before
            remove_allocations(
                resource=self._resource(gone.resource),
                workload_name=gone.workload,
                of_disk=(gone.host, gone.vdisk),
                restates=False,
            )
        for change in self._of("resources", Verb.REMOVED):
            self._resource(change.key).delete()
        for change in self._of("workloads", Verb.REMOVED):
            withdraw_tier(self._organisation, change.key)
            state_tags(organisation=self._organisation, name=change.key, tags=())
        for change in self._of("teams", Verb.REMOVED):
            remove_team(organisation=self._organisation, name=change.key)

    def _remove_told(self) -> None:
        """Rules of who decides, who is told and who gets reports: all tell the audit chain."""
        for section, remove in (
            ("ladder", _remove_rule),
            ("notifications", remove_notification),
            ("reports", remove_report),
        ):
            for change in self._of(section, Verb.REMOVED):
                remove(self._organisation, change.key, actor=self._actor, now=self._now)

    def _take_resources(self) -> None:
        changed = list(self._of("resources", Verb.CHANGED))
        # A device that another resource is to have is free first.
        for change in changed:
            drop_places(self._resource(change.key), change.after)
        for change in changed:
            with self._told_of(change.section, change.key):
                set_resource(self._resource(change.key), change.after)
        for change in self._of("resources", Verb.MADE):
            with self._told_of(change.section, change.key):
                make_resource(self._organisation, change.after)
        for change in self._of("resources", Verb.MADE, Verb.CHANGED):
            row = self._resource(change.key)
            if row.staged != change.after.staged:
                stage_resource(
                    resource=row, staged=change.after.staged, actor=self._actor, now=self._now
                )

    def _take_workloads(self) -> None:
        for change in self._of("workloads", Verb.MADE, Verb.CHANGED):
            entry, before = change.after, change.before
            if entry.tier is not None:
                stated_workload(self._organisation, entry.name, entry.tier)
            elif before is not None and before.tier is not None:
                withdraw_tier(self._organisation, entry.name)
            if entry.tags or before is not None:
                state_tags(organisation=self._organisation, name=entry.name, tags=entry.tags)

    def _take_allocations(self) -> None:
        # What takes less comes first, so that it makes room.
        ordered = sorted(self._of("allocations", Verb.MADE, Verb.CHANGED), key=_asked)
        for part in (
            [one for one in ordered if _asked(one)[0] <= 0],
            [one for one in ordered if _asked(one)[0] > 0],
        ):
            try:
                with transaction.atomic():
                    self._state_together(part)
            except InventoryError:
                self._state_in_turn(part)

    def _state_together(self, changes: Sequence[Change]) -> None:
        """Look once at what is reserved: on the way it only rises, or only falls."""
        resources = {
            name: self._resource(name) for name in {one.after.resource for one in changes}
        }
        checked = {
            one.after.resource
            for one in changes
            if one.after.reservation > 0 and not one.after.even_if_full
        }
        before = {name: reserved_on(resources[name]) for name in sorted(checked)}
        for change in changes:
            entry = replace(change.after, even_if_full=True)
            _state_allocation(resources[entry.resource], entry)
        for name, reserved in before.items():
            admit_on(resources[name], reserved)

    def _state_in_turn(self, changes: Sequence[Change]) -> None:
        """The same, so that the entry is told which is refused; nothing that is full on purpose
        is in the way of what was admitted before it."""
        for change in changes:
            with self._told_of(change.section, change.key):
                _state_allocation(self._resource(change.after.resource), change.after)

    def _take_pools(self) -> None:
        """Also those that the file leaves alone: an allocation that is made anew is in none."""
        present = {one.key: one for one in present_state(self._organisation).document.pools or ()}
        for entry in self._wanted_pools():
            if present.get(entry.key) == entry:
                continue
            with self._told_of("pools", entry.key):
                set_pool(
                    resource=self._resource(entry.resource),
                    name=entry.name,
                    reservation=entry.reservation,
                    limit=entry.limit,
                    shares=entry.shares,
                    members=entry.members,
                    may_exceed=entry.even_if_full,
                )

    def _wanted_pools(self) -> Iterator[PoolEntry]:
        """Those of the file; without that section those that were there, with who is left."""
        if self._read.document.pools is not None:
            yield from self._read.document.pools
            return
        names = Allocation.objects.filter(resource__organisation=self._organisation)
        there = set(names.values_list("resource__name", "workload__name"))
        resources = Resource.objects.filter(organisation=self._organisation)
        for pool in self._present.document.pools or ():
            if resources.filter(name=pool.resource).exists():
                left = tuple(one for one in pool.members if (pool.resource, one) in there)
                yield replace(pool, members=left, even_if_full=True)

    def _state_window(self, entry: MaintenanceEntry) -> None:
        for name in entry.workloads:
            # It may be planned for before its first sample.
            stated_workload(self._organisation, name, None)
        add_maintenance_window(
            organisation=self._organisation,
            name=entry.name,
            starts_at=start_of(entry),
            length=timedelta(seconds=entry.length_s),
            recurrence=entry.recurrence,
            zone=entry.zone,
            resources=entry.resources,
            workloads=entry.workloads,
        )


def _remove_rule(organisation: Organisation, name: str, *, actor: Actor, now: datetime) -> None:
    remove_rule(organisation=organisation, name=name, actor=actor, now=now)


def _asked(change: Change) -> tuple[float, str]:
    before = 0.0 if change.before is None else change.before.reservation
    return change.after.reservation - before, change.key


def _state_allocation(resource: Resource, entry: AllocationEntry) -> None:
    kind, _, value = entry.selector.partition("=")
    set_allocation(
        resource=resource,
        workload_name=entry.workload,
        host_name=entry.host,
        adapter_kind=AdapterKind(entry.adapter_kind),
        adapter=entry.adapter,
        vdisk=entry.vdisk,
        reservation=entry.reservation,
        limit=entry.limit,
        shares=entry.shares,
        selector=(kind, value) if entry.selector else None,
        facts={
            "limit_scope": entry.limit_scope,
            "io_count": entry.io_count,
            "size_bytes": entry.size_bytes,
        },
        may_exceed=entry.even_if_full,
        restates=False,
    )


def _not_taken(change: Change) -> str:
    keys = ", ".join(one.key for one in change.settings) or "it"
    return f"{change.key or change.section}: {keys} cannot be stated so beside what else is there"
