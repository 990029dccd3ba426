"""Why the devices of a resource, or the views of a workload, are one thing, for people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from advisor.core.enumeration import listed
from advisor.models import AdapterKind, Allocation, Resource, Workload
from ingest.core.identity.grouping import STATED

MOST_NOTES = 20
MOST_USES = 50
_BY_WORKLOAD = {
    AdapterKind.CGROUP: ("cgroup {0.adapter}", "its cgroup does I/O on a device of {0.resource}"),
    AdapterKind.VDISK: ("virtual disk {0.vdisk}", "its virtual disk lies on {0.resource}"),
    AdapterKind.MOUNT: ("mount {0.vdisk}", "its host mounts {0.resource}"),
    AdapterKind.VNIC: ("NIC {0.adapter}", "its NIC sends through {0.resource}"),
}
"""By what an allocation is measured, and the rule by which it was found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentityNote:
    """Some places, and the rule and the reason why they are one thing or are not."""

    places: str
    rule: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """Where a disk or NIC of a workload is: what measures it, and by which rules that is known.

    `devices` are the merges that made one resource of the devices of the host and others.
    """

    resource: Resource
    host: str
    measured_by: str
    rule: str
    devices: tuple[IdentityNote, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadIdentity:
    """Where a workload's name and tier come from, where its disks and NICs are, and its merges."""

    name: str
    tier: str
    uses: tuple[Use, ...]
    notes: tuple[IdentityNote, ...]


def identity_notes(row: Resource | Workload) -> list[IdentityNote]:
    """What is to be said about its devices or views, merges before refusals."""
    reasons = sorted(row.reasons, key=lambda one: not one["merged"])
    return [_note(one) for one in reasons[:MOST_NOTES]]


def workload_identity(row: Workload) -> WorkloadIdentity:
    """What is to be said about a workload."""
    present = row.allocations.filter(vanished_at=None).select_related("resource", "host")
    uses = present.order_by("resource__name", "host__name", "vdisk")[:MOST_USES]
    return WorkloadIdentity(
        name=_name_reason(row),
        tier=_tier_reason(row),
        uses=tuple(_use(one) for one in uses),
        notes=tuple(identity_notes(row)),
    )


def _note(reason: dict[str, Any]) -> IdentityNote:
    return IdentityNote(
        places=listed(reason["places"]),
        rule=reason["rule"],
        text=reason["text"] if reason["merged"] else f"not one: {reason['text']}",
    )


def _name_reason(row: Workload) -> str:
    stated = row.identity.get("name")
    if not row.found or row.name != row.identity.get("given", row.name):
        return f"a person gave it; collectors call it {stated}" if stated else "a person gave it"
    if stated:
        return f"collectors call it {stated}"
    return "no collector names it, so it is called like its host and what runs there"


def _tier_reason(row: Workload) -> str:
    if row.tier_stated:
        return "a person stated it"
    return row.tier_reason or "no rule and no label gives it another"


def _use(one: Allocation) -> Use:
    words, rule = _BY_WORKLOAD[AdapterKind(one.adapter_kind)]
    beginning = f"{one.host.name}:"
    merges = [
        reason
        for reason in one.resource.reasons
        if reason["merged"] and any(place.startswith(beginning) for place in reason["places"])
    ]
    return Use(
        resource=one.resource,
        host=one.host.name,
        measured_by=words.format(one),
        rule=rule.format(one) if one.found else f"{STATED}: a person set the allocation",
        devices=tuple(_note(reason) for reason in merges[:MOST_NOTES]),
    )
