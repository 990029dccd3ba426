"""Create and change resources, workloads and allocations."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from django.db import IntegrityError, transaction

from accounts.models import Organisation
from advisor.core.enumeration import listed
from advisor.core.mechanism_choice import known_selectors
from advisor.core.quantity import format_rate
from advisor.decisions.pools import admit_on, check_limit, reserved_on
from advisor.decisions.removing import give_names
from advisor.decisions.workload_tiers import stated_workload
from advisor.errors import InventoryError
from advisor.models import (
    AdapterKind,
    Allocation,
    Attachment,
    Enforcer,
    ReservationMode,
    Resource,
    ResourceStatus,
    Unit,
)
from advisor.pipeline.incidents import restate_parties
from advisor.resource_kinds.registry import stated_kinds
from advisor.resource_kinds.traits import ResourceTraits
from enforcers.contract import HOST_KIND, HOST_TRAFFIC, ContractError, Selector, read_support
from ingest.core.lengths import (
    LONGEST_DEVICE,
    LONGEST_HOST_NAME,
    LONGEST_PATH,
    LONGEST_RESOURCE_NAME,
    LONGEST_STATED_NAME,
    shortened,
)
from ingest.models import Host

SHORTEST_WINDOW_S, LONGEST_WINDOW_S = 1, 3600


@transaction.atomic
def add_resource(
    *,
    organisation: Organisation,
    name: str,
    kind: str,
    attachments: list[tuple[str, str]],
    capacity: float | None = None,
    mode: ReservationMode | None = None,
    threshold: float | None = None,
    unit: Unit | None = None,
    window_s: float = 10.0,
    line_rate: float | None = None,
) -> Resource:
    """Create a resource reached through `attachments` (host name, device).

    `kind` is the name of a kind, or its word for a resource that one host alone uses. A
    resource that was only discovered on one of these devices is taken over, so stating what a
    device is keeps its history.
    """
    _check_resource_names(name, attachments)
    traits = _stated(name, kind, attachments)
    _check_unit_and_mode(name, traits, unit, mode)
    resource = _discovered(organisation, attachments) or Resource(
        organisation=organisation, reservable_ratio=traits.reservable_ratio
    )
    resource.name = name
    resource.kind = traits.name
    resource.unit = unit or traits.units[0]
    resource.capacity = capacity
    resource.mode = mode or traits.modes[0]
    resource.threshold = traits.threshold if threshold is None else threshold
    resource.activity_floor = traits.activity_floor(capacity)
    resource.window_s = window_s
    resource.line_rate = line_rate
    resource.discovered = False
    _save(resource)
    for host_name, device in attachments:
        attach(resource, host_name, device)
    return resource


def _check_resource_names(name: str, attachments: list[tuple[str, str]]) -> None:
    _check_length("resource", name, LONGEST_RESOURCE_NAME)
    for host_name, device in attachments:
        _check_length("host", host_name, LONGEST_HOST_NAME)
        _check_length("device", device, LONGEST_DEVICE)


def _check_unit_and_mode(
    name: str, traits: ResourceTraits, unit: Unit | None, mode: ReservationMode | None
) -> None:
    units, modes = [str(one) for one in traits.units], [str(one) for one in traits.modes]
    if unit is not None and unit not in units:
        counted = " or ".join(units)
        raise InventoryError(f"{name}: rates of {traits.words.plural} are counted in {counted}")
    if mode is not None and mode not in modes:
        raise InventoryError(f"{name}: the mode may be {' or '.join(modes)}")


def _check_length(what: str, name: str, longest: int) -> None:
    if len(name) > longest:
        raise InventoryError(
            f"the {what} {shortened(name, 40)} has a name of {len(name)} characters; "
            f"it can have {longest}"
        )


def _stated(name: str, kind: str, attachments: list[tuple[str, str]]) -> ResourceTraits:
    """The kind that was stated, if the attachments fit it."""
    kinds = stated_kinds()
    if kind not in kinds:
        raise InventoryError(f'{name}: there is no kind "{kind}"; there are: {", ".join(kinds)}')
    traits = kinds[kind]
    if not attachments:
        raise InventoryError(f"{name}: give at least one host and device that reach it")
    if traits.one_device and len(attachments) > 1:
        raise InventoryError(f"{name}: {traits.one_device}")
    if kind == traits.words.alone and len({host for host, _ in attachments}) > 1:
        raise InventoryError(
            f"{name}: one host alone uses a {kind}; of several hosts it is a {traits.words.noun}"
        )
    return traits


def _save(resource: Resource) -> None:
    try:
        with transaction.atomic():
            resource.save()
    except IntegrityError as error:
        raise InventoryError(f'there is a resource named "{resource.name}" already') from error


def _discovered(organisation: Organisation, attachments: list[tuple[str, str]]) -> Resource | None:
    for host_name, device in attachments:
        found = Attachment.objects.filter(
            resource__organisation=organisation,
            resource__discovered=True,
            host__name=host_name,
            device=device,
        ).first()
        if found is not None:
            return found.resource
    return None


def attach(resource: Resource, host_name: str, device: str) -> None:
    """State that a host reaches the resource by this device, which no other stated one has."""
    host, _ = Host.objects.get_or_create(organisation=resource.organisation, name=host_name)
    existing = Attachment.objects.filter(host=host, device=device).first()
    if existing is None:
        Attachment.objects.create(resource=resource, host=host, device=device)
    elif existing.resource_id != resource.pk:
        _take_over(existing, resource)
    elif existing.found:
        existing.found = False
        existing.save(update_fields=["found"])


def _take_over(attachment: Attachment, resource: Resource) -> None:
    if not attachment.resource.discovered and not attachment.found:
        raise InventoryError(f"{attachment} belongs to {attachment.resource} already")
    emptied = attachment.resource
    attachment.resource, attachment.found = resource, False
    attachment.save()
    if not emptied.attachments.exists():
        give_names(emptied, resource)
        emptied.delete()


@transaction.atomic
def set_allocation(
    *,
    resource: Resource,
    workload_name: str,
    host_name: str | None,
    adapter_kind: AdapterKind,
    adapter: str,
    vdisk: str = "",
    reservation: float = 0.0,
    limit: float | None = None,
    shares: int | None = None,
    tier: str | None = None,
    selector: tuple[str, str] | None = None,
    facts: Mapping[str, Any] | None = None,
    may_exceed: bool = False,
    restates: bool = True,
) -> Allocation:
    """Set the allocation of a workload on a resource; creates a missing workload.

    The adapter is used for measuring. `selector`, a kind and a value, is how the host's agent
    recognises the workload's I/O; None means by the adapter. `facts` are more of its columns. With
    `may_exceed` a reservation that does not fit here is accepted, so that a move is recommended.
    Who sets many does without `restates` and calls `restate_parties` once for each resource.
    """
    _check_names(workload_name, vdisk, adapter)
    _check_controls(workload_name, reservation, limit, shares, unit=resource.unit)
    reserved = None if may_exceed or reservation == 0 else reserved_on(resource)
    host = _allocation_host(resource, host_name)
    _check_selector(host, selector)
    kind, value = selector or ("", "")
    recognised = {"selector_kind": kind, "selector": value}
    controls = {"reservation": reservation, "limit": limit, "shares": shares}
    adapters = {"adapter_kind": adapter_kind, "adapter": adapter}
    workload = stated_workload(resource.organisation, workload_name, tier)
    # What was found to use the resource by the same counters is this workload, and this disk.
    found = Allocation.objects.filter(resource=resource, host=host, found=True, **adapters)
    found.exclude(workload=workload, vdisk=vdisk).delete()
    allocation, _ = Allocation.objects.update_or_create(
        resource=resource,
        workload=workload,
        host=host,
        vdisk=vdisk,
        defaults={
            **(facts or {}),
            **adapters,
            **recognised,
            **controls,
            "found": False,
            "vanished_at": None,
        },
    )
    _check_pool(allocation)
    if reserved is not None:
        admit_on(resource, reserved)
    if restates:
        restate_parties(resource)
    return allocation


def _check_pool(allocation: Allocation) -> None:
    if allocation.pool is None:
        return
    if allocation.recognised_by[0] == HOST_KIND:
        raise InventoryError(
            f"{allocation.workload} is in pool {allocation.pool.name}, "
            "where the host's own traffic cannot be"
        )
    check_limit(allocation.pool)


def _check_names(workload: str, vdisk: str, adapter: str) -> None:
    _check_length("workload", workload, LONGEST_STATED_NAME)
    _check_length("virtual disk", vdisk, LONGEST_STATED_NAME)
    _check_length("adapter", adapter, LONGEST_PATH)


def _check_controls(
    workload: str, reservation: float, limit: float | None, shares: int | None, *, unit: str
) -> None:
    if limit is not None and limit < reservation:
        raise InventoryError(
            f"{workload}: the limit {format_rate(limit, unit)} is below the "
            f"reservation {format_rate(reservation, unit)}"
        )
    if shares is not None and shares < 1:
        raise InventoryError(f"{workload}: shares must be at least 1")


def _check_selector(host: Host, selector: tuple[str, str] | None) -> None:
    """Refuse a wrong selector, or one that the host's agent reports not to know."""
    if selector is None:
        return
    kind, value = selector
    try:
        Selector(kind=kind, value=value)
    except ContractError as error:
        raise InventoryError(f"{kind}={value}: {error.problem}") from error
    if kind == HOST_TRAFFIC:
        raise InventoryError(
            f"{kind} is for the own traffic of {host.name}, which has its part of every uplink"
        )
    enforcer = Enforcer.objects.filter(host=host).first()
    known = known_selectors(read_support(enforcer.support if enforcer else []))
    if known and kind not in known:
        raise InventoryError(
            f"the agent of {host.name} recognises no workload by {kind}, "
            f"only by {', '.join(sorted(known))}"
        )


def _allocation_host(resource: Resource, host_name: str | None) -> Host:
    hosts = list(Host.objects.filter(attachments__resource=resource).distinct())
    if host_name is None and len(hosts) == 1:
        return hosts[0]
    for host in hosts:
        if host.name == host_name:
            return host
    names = listed(host.name for host in hosts)
    raise InventoryError(f"{resource}: choose a host; it is reached from {names or 'none'}")


@transaction.atomic
def change_resource(
    *,
    resource: Resource,
    capacity: float | None = None,
    threshold: float | None = None,
    threshold_mode: str | None = None,
    window_s: float | None = None,
    facts: Mapping[str, Any] | None = None,
) -> Resource:
    """Change settings of a resource; None keeps a value.

    `facts` are more columns of the resource, those that its kind has.
    """
    for name, value in {"capacity": capacity, "threshold": threshold}.items():
        if value is None:
            continue
        if not 0 < value < math.inf:
            raise InventoryError(f"{resource}: the {name} must be above 0")
        setattr(resource, name, value)
    if window_s is not None:
        resource.window_s = _window(resource, window_s)
    if capacity is not None:
        resource.activity_floor = resource.traits.activity_floor(capacity)
    if threshold_mode is not None:
        modes = [str(one) for one in resource.traits.threshold_modes]
        if threshold_mode not in modes:
            raise InventoryError(f"{resource}: the threshold mode may be {' or '.join(modes)}")
        resource.threshold_mode = threshold_mode
    for name, fact in (facts or {}).items():
        if name not in resource.traits.facts:
            raise InventoryError(
                f"{resource}: {resource.traits.words.plural} have no {name.replace('_', ' ')}"
            )
        setattr(resource, name, fact)
    resource.save()
    # What advice says of the former settings is looked for anew, on an idle resource too.
    ResourceStatus.objects.filter(resource=resource).update(other_advice_gaps={})
    return resource


def _window(resource: Resource, window_s: float) -> float:
    if not SHORTEST_WINDOW_S <= window_s <= LONGEST_WINDOW_S:
        raise InventoryError(
            f"{resource}: a window lasts {SHORTEST_WINDOW_S} to {LONGEST_WINDOW_S} s"
        )
    return window_s


@transaction.atomic
def set_queue_depth(*, resource: Resource, host_name: str, depth: int) -> None:
    """State the queue depth that a host has for this resource."""
    if "lun_queue_depth" not in resource.traits.facts:
        raise InventoryError(f"{resource}: {resource.traits.words.plural} have no queue depth")
    if depth < 1:
        raise InventoryError(f"{resource}: a queue depth is at least 1")
    found = resource.attachments.filter(host__name=host_name).update(device_queue_depth=depth)
    if found == 0:
        raise InventoryError(f"{resource} is not reached from {host_name}")


@transaction.atomic
def remove_allocations(
    *,
    resource: Resource,
    workload_name: str,
    of_disk: tuple[str, str] | None = None,
    restates: bool = True,
) -> None:
    """Remove a workload's allocations on a resource; the policy in force stays.

    `of_disk` is the host and virtual disk of the one that goes, None: all. `restates` as above.
    """
    rows = Allocation.objects.filter(resource=resource, workload__name=workload_name)
    if of_disk is not None:
        host_name, vdisk = of_disk
        rows = rows.filter(host__name=host_name, vdisk=vdisk)
    deleted, _ = rows.delete()
    if deleted == 0:
        raise InventoryError(f'"{workload_name}" has no allocation on {resource}')
    if restates:
        restate_parties(resource)
