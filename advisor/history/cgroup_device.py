"""Which device of a cgroup a claim is about: attachments name it, cgroups count by number."""

from __future__ import annotations

from collections.abc import Sequence

from advisor.models import AdapterKind, Attachment, Claim
from ingest import queries


def cgroup_device_numbers(claims: Sequence[Claim]) -> dict[int, str]:
    """The number (`major:minor`) of the claimed device on the claim's host, by claim.

    A host whose collector does not tell the numbers leaves one way to know: a cgroup that does
    I/O on one device only. A claim on a cgroup of several is left out then.
    """
    cgroups = [claim for claim in claims if claim.adapter_kind == AdapterKind.CGROUP]
    hosts = {claim.host_id: claim.host for claim in cgroups}
    attached = Attachment.objects.filter(
        resource__in={claim.resource_id for claim in cgroups}, host__in=hosts
    )
    names = {
        (resource, host): device
        for resource, host, device in attached.values_list("resource_id", "host_id", "device")
    }
    numbers = queries.device_numbers(hosts.values())
    seen = queries.cgroup_devices(hosts.values())
    found = {}
    for claim in cgroups:
        name = names.get((claim.resource_id, claim.host_id), "")
        number = numbers.get((claim.host_id, name))
        devices = seen.get((claim.host_id, claim.adapter), set())
        if number is None and len(devices) == 1:
            (number,) = devices
        if number is not None:
            found[claim.pk] = number
    return found
