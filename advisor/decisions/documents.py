"""From approved policies to the signed document of one host."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q

from advisor.core.canonical import from_plain
from advisor.core.mechanism_choice import choose_mechanism, known_selectors
from advisor.core.pools import PoolTerms
from advisor.core.resource import normal_shares
from advisor.decisions.document_sources import HeldDocument, composed_as, mark_of, pull
from advisor.history.held_policies import Versions
from advisor.models import (
    Allocation,
    Attachment,
    Enforcer,
    IoCount,
    LimitScope,
    Policy,
    PublishedDocument,
    Resource,
)
from advisor.models.workload import allocation_id, allocation_key
from enforcers.contract import (
    DOCUMENT_VERSION,
    HOST_TRAFFIC,
    POOL,
    MechanismSupport,
    PolicyDocument,
    ResourceSpec,
    Unit,
    decode,
    read_support,
)
from enforcers.contract import Allocation as WireAllocation
from enforcers.contract import Pool as WirePool
from enforcers.limit_split import own_parts
from ingest.models import Host


def publish_documents(*, resource: Resource, now: datetime) -> list[PublishedDocument]:
    """Give every enrolled host of the resource a new revision if its content changed."""
    hosts = Host.objects.filter(attachments__resource=resource, enforcer__isnull=False)
    # In one order, so that two who publish do not wait for each other.
    ordered = hosts.distinct().order_by("pk")
    versions = Versions()
    return [publish_document(host=host, now=now, versions=versions) for host in ordered]


@transaction.atomic
def publish_document(
    *, host: Host, now: datetime, versions: Versions | None = None
) -> PublishedDocument:
    """The newest revision for this host; a new one only if the content differs.

    Who publishes to many hosts reads the `versions` for all of them.
    """
    # One publisher per host at a time, so that revisions have no gaps.
    enforcer = Enforcer.objects.select_for_update().get(host=host)
    mark = mark_of(host.pk)
    newest = PublishedDocument.objects.filter(host=host).order_by("-revision").first()
    content = _content(host, read_support(enforcer.support), versions or Versions())
    if newest is None or newest.content != content:
        newest = PublishedDocument.objects.create(
            host=host,
            revision=1 if newest is None else newest.revision + 1,
            content=content,
            published_at=now,
        )
    composed_of = composed_as(newest.revision, mark)
    if enforcer.composed_of != composed_of:
        Enforcer.objects.filter(pk=enforcer.pk).update(composed_of=composed_of)
    return newest


def current_document(
    *, host: Host, now: datetime, schema_version: int = DOCUMENT_VERSION
) -> PolicyDocument:
    """The host's policy document with a fresh lease, to be signed (`signing.documents`).

    An agent of a former version is sent one that it can read.
    """
    held = held_document(host=host, now=now)
    return leased(held, host=host, issued_at=now, schema_version=schema_version)


def held_document(*, host: Host, now: datetime) -> HeldDocument:
    """The newest revision for the host, composed anew if something of it has changed."""
    held = pull(host.pk, now=now)
    if held is not None:
        return held
    published = publish_document(host=host, now=now)
    return HeldDocument(
        revision=published.revision,
        text=json.dumps(published.content),
        lease_s=host.enforcer.lease_s,
        dry_run=host.enforcer.dry_run,
    )


def leased(
    held: HeldDocument, *, host: Host, issued_at: datetime, schema_version: int
) -> PolicyDocument:
    """The document with a lease from this moment."""
    content = json.loads(held.text)
    return PolicyDocument(
        schema_version=schema_version,
        host=host.name,
        revision=held.revision,
        issued_at=issued_at,
        expires_at=issued_at + timedelta(seconds=held.lease_s),
        dry_run=held.dry_run,
        resources=tuple(
            decode(ResourceSpec, item, may_lack_defaults=True) for item in content["resources"]
        ),
        allocations=tuple(_read_allocation(item) for item in content["allocations"]),
        pools=tuple(decode(WirePool, item) for item in content.get("pools", ())),
    )


def _content(
    host: Host, support: Sequence[MechanismSupport], versions: Versions
) -> dict[str, Any]:
    resources: list[dict[str, Any]] = []
    allocations: list[dict[str, Any]] = []
    pools: list[dict[str, Any]] = []
    left_out: list[dict[str, str]] = []
    attachments = Attachment.objects.filter(host=host).select_related("resource")
    for attachment in attachments.order_by("resource__name"):
        resource = attachment.resource
        policy = versions.of_host(resource, host.pk)
        if policy is None or policy.divided_capacity is None:
            continue
        own = _allocations_on(host, policy)
        if not own:
            continue
        kinds = [item["selector"][0] for item in own]
        mechanism = choose_mechanism(support, unit=Unit(resource.unit), selectors=kinds)
        if isinstance(mechanism, str):
            left_out.append({"what": resource.name, "reason": mechanism})
            continue
        known, unknown = _by_selector(own, support)
        left_out.extend(unknown)
        if known:
            resources.append(_write_resource(policy, attachment.device, mechanism))
            members, held, unheld = _in_pools(policy, known, mechanism)
            allocations.extend([*members, *_host_traffic(policy, attachment.device, mechanism)])
            pools.extend(held)
            left_out.extend(unheld)
    content: dict[str, Any] = {"resources": resources, "allocations": allocations}
    if pools:
        content["pools"] = pools
    return {**content, "left_out": left_out} if left_out else content


def _in_pools(
    policy: Policy, allocations: list[dict[str, Any]], mechanism: MechanismSupport
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[dict[str, str]]]:
    """The allocations with their pools, these pools, and those that the agent cannot hold.

    Of those the members are sent without, so that at least their own terms are held.
    """
    resource = policy.resource
    present = {item["id"] for item in allocations}
    pool_of: dict[str, str] = {}
    pools: list[dict[str, Any]] = []
    unheld: list[dict[str, str]] = []
    for plain in policy.pools:
        terms = from_plain(PoolTerms, plain)
        members = [one for pk in terms.members if (one := allocation_key(pk)) in present]
        if not members:
            continue
        if POOL not in mechanism.selectors:
            unheld.append(
                {
                    "what": f"pool {terms.name} on {resource.name}",
                    "reason": f"{mechanism.mechanism} of its agent holds no pools, "
                    "so its members are held each by its own terms",
                }
            )
            continue
        key = f"pool-{terms.pool}"
        pool_of |= dict.fromkeys(members, key)
        pools.append(
            {
                "id": key,
                "name": terms.name,
                "resource": resource.name,
                "reservation": terms.reservation,
                "limit": terms.limit,
                "shares": terms.shares,
            }
        )
    inside = [
        {**item, "pool": pool_of[item["id"]]} if item["id"] in pool_of else item
        for item in allocations
    ]
    return inside, pools, unheld


def _by_selector(
    allocations: list[dict[str, Any]], support: Sequence[MechanismSupport]
) -> tuple[list[dict[str, Any]], list[dict[str, str]]]:
    """The allocations whose selectors the agent knows, and the reasons for the others."""
    kinds = known_selectors(support)
    known = [item for item in allocations if item["selector"][0] in kinds]
    unknown = [
        {
            "what": f"{item['workload']} on {item['resource']}",
            "reason": f"its agent recognises no workload by {item['selector'][0]}, "
            f"only by {', '.join(sorted(kinds)) or 'nothing'}",
        }
        for item in allocations
        if item["selector"][0] not in kinds
    ]
    return known, unknown


def _allocations_on(host: Host, policy: Policy) -> list[dict[str, Any]]:
    stated = Allocation.objects.filter(resource=policy.resource)
    joint_here = stated.filter(host=host, limit_scope=LimitScope.POOLED).values("workload")
    # Each host polls: of others only those are read that hold a limit together with this one.
    of_concern = Q(host=host) | Q(limit_scope=LimitScope.POOLED, workload__in=joint_here)
    allocations = {
        allocation.pk: allocation
        for allocation in stated.filter(of_concern).select_related("workload")
    }
    present = [item for item in policy.allocations if item["allocation"] in allocations]
    joint = _joint_limits(host, [(allocations[item["allocation"]], item) for item in present])
    return [
        {
            "id": allocation_id(allocation),
            "workload": allocation.workload.name,
            "resource": policy.resource.name,
            "selector": list(allocation.recognised_by),
            "reservation": item["reservation"],
            "limit": item["limit"],
            "shares": item["shares"],
            "entitlement": item["entitlement"],
            **_limit_terms(allocation, item["limit"]),
            **joint.get(allocation.pk, {}),
            "policy": policy.pk,
        }
        for item in present
        if (allocation := allocations[item["allocation"]]).host_id == host.pk
    ]


def _joint_limits(
    host: Host, stated: Sequence[tuple[Allocation, dict[str, Any]]]
) -> dict[int, dict[str, float]]:
    """By allocation on this host under a limit of several hosts: that limit, and its part here.

    If the hosts state several, the smallest holds. What cannot be used is not reserved.
    """
    pools: dict[int, list[tuple[Allocation, dict[str, Any]]]] = {}
    for allocation, item in stated:
        if allocation.limit_scope == LimitScope.POOLED and item["limit"] is not None:
            pools.setdefault(allocation.workload_id, []).append((allocation, item))
    found: dict[int, dict[str, float]] = {}
    for pool in pools.values():
        hosts = sorted({allocation.host_id for allocation, _ in pool})
        if len(hosts) < 2 or host.pk not in hosts:
            continue
        limit = min(item["limit"] for _, item in pool)
        reserved = [
            math.fsum(item["reservation"] for allocation, item in pool if allocation.host_id == pk)
            for pk in hosts
        ]
        part = own_parts(limit, reserved)[hosts.index(host.pk)]
        for allocation, item in pool:
            if allocation.host_id == host.pk:
                found[allocation.pk] = {
                    "reservation": min(item["reservation"], part),
                    "limit": part,
                    "joint_limit": limit,
                }
    return found


def _limit_terms(allocation: Allocation, limit: float | None) -> dict[str, str]:
    """What a limit holds and counts, where that is not the usual."""
    terms: dict[str, str] = {}
    if limit is not None and allocation.limit_scope != LimitScope.PER_VDISK:
        terms["limit_scope"] = allocation.limit_scope
    if limit is not None and allocation.io_count != IoCount.PLAIN:
        terms["io_count"] = allocation.io_count
    return terms


def _host_traffic(
    policy: Policy, device: str, mechanism: MechanismSupport
) -> list[dict[str, Any]]:
    """The allocation of the host's own traffic, where the kind of resource keeps it a part.

    An agent that does not know it keeps the part by itself, with the smallest shares.
    """
    host_part, capacity = policy.resource.traits.host_part, policy.divided_capacity
    if host_part is None or capacity is None or HOST_TRAFFIC not in mechanism.selectors:
        return []
    part = host_part(capacity)
    return [
        {
            "id": f"host-{policy.resource.pk}",
            "workload": "the host's own traffic",
            "resource": policy.resource.name,
            "selector": [HOST_TRAFFIC, device],
            "reservation": part,
            "limit": None,
            "shares": normal_shares([item["shares"] for item in policy.allocations]),
            "entitlement": part,
            "policy": policy.pk,
        }
    ]


def _write_resource(policy: Policy, device: str, mechanism: MechanismSupport) -> dict[str, Any]:
    resource = policy.resource
    return {
        "name": resource.name,
        "kind": resource.kind,
        "device": device,
        "capacity": policy.divided_capacity,
        "unit": resource.unit,
        "mode": resource.mode,
        "mechanism": mechanism.mechanism,
        **({"divides": True} if policy.divides else {}),
    }


def _read_allocation(item: dict[str, Any]) -> WireAllocation:
    kind, value = item["selector"]
    sent = {name: content for name, content in item.items() if name != "policy"}
    sent |= {"selector": {"kind": kind, "value": value}}
    return decode(WireAllocation, sent, may_lack_defaults=True)
