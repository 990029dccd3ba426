"""Import what a vCenter states: what would change, and the change itself in one transaction.

It states allocations, thresholds and rules. Nothing acts on a host: that takes a policy, which a
person approves.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from django.db import transaction

from accounts.models import Organisation
from advisor.decisions.found.rules import set_rules, stated_rules
from advisor.decisions.inventory import change_resource, set_allocation
from advisor.decisions.policy_file.decide.document import PolicyFile
from advisor.decisions.policy_file.present import exported
from advisor.decisions.vcenter.decide.proposal import (
    AllocationChange,
    LeftOut,
    Present,
    PresentAllocation,
    PresentResource,
    PresentWorkload,
    Proposal,
    Stated,
    ThresholdChange,
    WhyLeftOut,
)
from advisor.decisions.vcenter.decide.propose import propose
from advisor.decisions.vcenter.decide.words import stated_text
from advisor.decisions.vcenter.rules_part import with_part
from advisor.errors import InventoryError
from advisor.models import AdapterKind, Allocation, Resource, Unit, Workload
from advisor.pipeline.incidents import restate_parties
from ingest.core.vcenter.inventory import Inventory
from ingest.core.vcenter.managed_object import unescaped
from ingest.models import Host


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """A proposal without what was refused, and the lines of rules that come and go."""

    proposal: Proposal
    rules_added: tuple[str, ...]
    rules_removed: tuple[str, ...]
    applied: bool

    @property
    def is_empty(self) -> bool:
        """Whether nothing differs from what is here."""
        found = self.proposal
        changes = (found.allocations, found.thresholds, found.sizes, found.store_sizes)
        return not (any(changes) or self.rules_added or self.rules_removed)


@transaction.atomic
def import_vcenter(
    organisation: Organisation,
    inventory: Inventory,
    *,
    name: str,
    apply: bool,
    now: datetime,
) -> Imported:
    """Compare with what is here, and take it over if `apply`; else everything stays as it is.

    Each change is tried in any case, so that what would be refused is known before. `name` tells
    the rules of one vCenter from those of another.
    """
    proposal = propose(inventory, present_in(organisation))
    before = stated_rules(organisation)
    after = with_part(before, proposal.rules, name=name)
    with transaction.atomic():
        taken, refused, resources = _take(organisation, proposal)
        if after != before:
            set_rules(organisation, after, now=now)
        if not apply:
            transaction.set_rollback(True)
    if apply:
        for resource in Resource.objects.filter(pk__in=resources).order_by("pk"):
            restate_parties(resource)
    former, later = before.splitlines(), after.splitlines()
    return Imported(
        proposal=replace(taken, left_out=(*taken.left_out, *refused)),
        rules_added=tuple(one for one in later if one not in former),
        rules_removed=tuple(one for one in former if one not in later),
        applied=apply,
    )


def vcenter_as_policy_file(
    organisation: Organisation, inventory: Inventory, *, name: str, now: datetime
) -> tuple[Imported, PolicyFile]:
    """What an import would change, and all that would be stated after it; nothing is changed."""
    with transaction.atomic():
        found = import_vcenter(organisation, inventory, name=name, apply=True, now=now)
        document = exported(organisation)
        transaction.set_rollback(True)
    return replace(found, applied=False), document


def present_in(organisation: Organisation) -> Present:
    """What is known of the organisation's resources, workloads and allocations."""
    resources = Resource.objects.filter(organisation=organisation).order_by("pk")
    allocations = Allocation.objects.filter(resource__organisation=organisation)
    return Present(
        resources=tuple(map(_resource, resources.prefetch_related("attachments__host"))),
        workloads=tuple(
            PresentWorkload(
                pk=one.pk,
                name=one.name,
                keys=tuple(one.identity.get("keys", ())),
                hosts=tuple(one.identity.get("hosts", ())),
            )
            for one in Workload.objects.filter(organisation=organisation).order_by("pk")
        ),
        allocations=tuple(map(_allocation, allocations.select_related("host").order_by("pk"))),
    )


def _resource(row: Resource) -> PresentResource:
    return PresentResource(
        pk=row.pk,
        name=row.name,
        kind=row.kind,
        unit=Unit(row.unit),
        threshold=row.threshold,
        threshold_mode=row.threshold_mode,
        size_bytes=row.size_bytes,
        places=frozenset((at.host.name, unescaped(at.device)) for at in row.attachments.all()),
    )


def _allocation(row: Allocation) -> PresentAllocation:
    return PresentAllocation(
        pk=row.pk,
        resource=row.resource_id,
        workload=row.workload_id,
        host=row.host.name,
        vdisk=row.vdisk,
        adapter_kind=row.adapter_kind,
        adapter=row.adapter,
        stated=Stated(shares=row.shares, limit=row.limit, reservation=row.reservation),
        by_person=not row.found,
        is_gone=row.vanished_at is not None,
        size_bytes=row.size_bytes,
    )


def _take(
    organisation: Organisation, proposal: Proposal
) -> tuple[Proposal, list[LeftOut], set[int]]:
    """Make the changes: those that were made, those that are refused, the resources of both."""
    rows = Allocation.objects.filter(resource__organisation=organisation).select_related(
        "resource", "workload", "host"
    )
    known = rows.in_bulk([one.allocation for one in proposal.allocations if one.allocation])
    stores = Resource.objects.filter(organisation=organisation).in_bulk(
        {one.resource_key for one in proposal.allocations}
    )
    refused: list[LeftOut] = []
    changes: list[AllocationChange] = []
    # What takes less comes first, so that it makes room.
    for whole in sorted(proposal.allocations, key=_asked):
        row = known.get(whole.allocation or 0)
        for change in _whole_and_without_reservation(whole):
            try:
                _state(stores[change.resource_key], row, change)
            except InventoryError as error:
                refused.append(_refused(change, error))
            else:
                changes.append(change)
                break
    _set_thresholds(organisation, proposal.thresholds)
    for key, size in proposal.sizes.items():
        rows.filter(pk=key, size_bytes=None).update(size_bytes=size)
    for key, size in proposal.store_sizes.items():
        Resource.objects.filter(organisation=organisation, pk=key, size_bytes=None).update(
            size_bytes=size
        )
    taken = replace(proposal, allocations=tuple(sorted(changes, key=lambda one: one.of)))
    return taken, refused, {one.resource_key for one in changes}


def _whole_and_without_reservation(change: AllocationChange) -> Iterator[AllocationChange]:
    """The change, and what is left of it if its reservation is refused."""
    yield change
    rest = replace(change.after, reservation=change.before.reservation)
    below = rest.limit is not None and rest.limit < rest.reservation
    if rest not in (change.after, change.before) and not below:
        yield replace(change, after=rest)


def _refused(change: AllocationChange, error: InventoryError) -> LeftOut:
    stated = stated_text(change.after, change.unit)
    return LeftOut(what=change.of, stated=stated, kind=WhyLeftOut.REFUSED, why=str(error))


def _asked(change: AllocationChange) -> tuple[float, str]:
    return change.after.reservation - change.before.reservation, change.of


@transaction.atomic
def _state(resource: Resource, row: Allocation | None, change: AllocationChange) -> None:
    """State the controls of an allocation; how it is measured and recognised stays."""
    if row is not None and change.moved_from:
        Allocation.objects.filter(pk=row.pk).update(
            host=Host.objects.get(organisation=resource.organisation, name=change.host)
        )
    selector = (row.selector_kind, row.selector) if row is not None and row.selector_kind else None
    set_allocation(
        resource=resource,
        workload_name=change.workload,
        host_name=change.host,
        adapter_kind=AdapterKind.VDISK if row is None else AdapterKind(row.adapter_kind),
        adapter=change.adapter,
        vdisk=change.vdisk,
        reservation=change.after.reservation,
        limit=change.after.limit,
        shares=change.after.shares,
        selector=selector,
        restates=False,
    )


def _set_thresholds(organisation: Organisation, changes: Iterable[ThresholdChange]) -> None:
    rows = Resource.objects.filter(organisation=organisation)
    for change in changes:
        change_resource(
            resource=rows.get(pk=change.resource),
            threshold=change.after,
            threshold_mode=change.after_mode,
        )
