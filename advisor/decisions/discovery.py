"""Resources that samples show by themselves, before anybody states anything about them."""

from __future__ import annotations

import re

from accounts.models import Organisation
from advisor.core.resource import PAYLOAD_RATIO
from advisor.decisions.inventory import add_resource, change_resource
from advisor.models import Attachment, Resource, ResourceKind
from ingest import queries
from ingest.models import Host

_WHOLE_DISK = re.compile(r"(sd[a-z]+|vd[a-z]+|xvd[a-z]+|nvme\d+n\d+|mmcblk\d+|dm-\d+|md\d+)")
_PHYSICAL_NIC = re.compile(r"(eth|en|bond|team|wl|ib)\w*")


def discover(*, organisation: Organisation) -> list[Resource]:
    """Create a resource for every whole disk and physical NIC that sends samples.

    The capacity of a NIC follows from its link speed if it tells one; other capacities are
    unknown until somebody states them.
    """
    found: list[Resource] = []
    for kind, measurement, pattern in (
        (ResourceKind.DATASTORE, "diskio", _WHOLE_DISK),
        (ResourceKind.UPLINK, "net", _PHYSICAL_NIC),
    ):
        found += [
            _add_discovered(seen.host, seen.subject, kind)
            for seen in queries.subjects(organisation=organisation, measurement=measurement)
            if pattern.fullmatch(seen.subject) and not _is_attached(seen.host, seen.subject)
        ]
    return found


def _is_attached(host: Host, device: str) -> bool:
    return Attachment.objects.filter(host=host, device=device).exists()


def _add_discovered(host: Host, device: str, kind: ResourceKind) -> Resource:
    resource = add_resource(
        organisation=host.organisation,
        name=f"{host.name}/{device}",
        kind=kind,
        attachments=[(host.name, device)],
    )
    resource.discovered = True
    if resource.is_uplink:
        resource.line_rate = queries.link_speed_bits_per_s(host=host, interface=device)
        if resource.line_rate is not None:
            return change_resource(resource=resource, capacity=PAYLOAD_RATIO * resource.line_rate)
    resource.save()
    return resource
