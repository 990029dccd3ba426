"""Why a policy would not reach a host."""

from __future__ import annotations

from collections.abc import Sequence

from advisor.core.enumeration import listed
from advisor.models import Policy

UNKNOWN_CAPACITY = (
    "the capacity of {0} is not known, so nothing would be published; "
    "set it with: sluice resource set {0} --capacity RATE"
)


def publishing_gap(policy: Policy) -> str:
    """Why a host of its workloads would get none of a policy; empty if every host gets its part.

    A host without an agent is not a gap: it gets its document when it is enrolled.
    """
    if not policy.allocations:
        return ""
    resource = policy.resource
    if policy.divided_capacity is None:
        return UNKNOWN_CAPACITY.format(resource.name)
    wanted = [item["allocation"] for item in policy.allocations]
    hosts = set(resource.allocations.filter(pk__in=wanted).values_list("host__name", flat=True))
    if not hosts:
        return f"none of its workloads has an allocation on {resource.name} any more"
    reaching = set(resource.attachments.values_list("host__name", flat=True))
    if cut_off := sorted(hosts - reaching):
        return unreached(cut_off, resource.name)
    return ""


def unreached(hosts: Sequence[str], resource: str) -> str:
    """That these hosts do not reach the resource."""
    have = "has no device that reaches" if len(hosts) == 1 else "have no device that reaches"
    return f"{listed(list(hosts))} {have} {resource}, so nothing would be published there"
