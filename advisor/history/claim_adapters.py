"""Which counters tell what claims got: of an interface, or of a cgroup on a device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from advisor.history.cgroup_device import cgroup_device_numbers
from advisor.models import AdapterKind, Claim
from ingest.many_rates import CgroupKey, InterfaceKey


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimAdapters:
    """By claim its adapter; a claim on a cgroup whose device nobody knows has none."""

    interfaces: dict[int, InterfaceKey]
    cgroups: dict[int, CgroupKey]


def claim_adapters(claims: Sequence[Claim]) -> ClaimAdapters:
    devices = cgroup_device_numbers(claims)
    return ClaimAdapters(
        interfaces={
            claim.pk: (claim.host_id, claim.adapter)
            for claim in claims
            if claim.adapter_kind == AdapterKind.VNIC
        },
        cgroups={
            claim.pk: (claim.host_id, claim.adapter, devices[claim.pk])
            for claim in claims
            if claim.pk in devices
        },
    )
