"""Resources that samples show by themselves, before anybody states anything about them."""

from __future__ import annotations

import logging
import re

from django.db import DatabaseError, transaction

from accounts.models import Organisation
from advisor.core.resource import PAYLOAD_RATIO
from advisor.decisions.inventory import add_resource, change_resource
from advisor.errors import InventoryError
from advisor.models import Attachment, Resource, ResourceKind
from ingest import queries
from ingest.models import Host

log = logging.getLogger(__name__)

_WHOLE_DISK = re.compile(r"(sd[a-z]+|vd[a-z]+|xvd[a-z]+|nvme\d+n\d+|mmcblk\d+|dm-\d+|md\d+)")
_PHYSICAL_NIC = re.compile(r"(eth|en|bond|team|wl|ib)\w*")


def discover(*, organisation: Organisation) -> list[Resource]:
    """Create a resource for every whole disk and physical NIC that sends samples.

    The capacity of a NIC follows from its link speed if it tells one; other capacities are
    unknown until somebody states them. A device that cannot become a resource is logged and
    tried again next time; the others go on.
    """
    found: list[Resource] = []
    known = set(
        Attachment.objects.filter(host__organisation=organisation).values_list("host", "device")
    )
    for kind, measurement, pattern in (
        (ResourceKind.DATASTORE, "diskio", _WHOLE_DISK),
        (ResourceKind.UPLINK, "net", _PHYSICAL_NIC),
    ):
        for seen in queries.subjects(organisation=organisation, measurement=measurement):
            if (seen.host.pk, seen.subject) in known or not pattern.fullmatch(seen.subject):
                continue
            try:
                found.append(_add_discovered(seen.host, seen.subject, kind))
            except (InventoryError, DatabaseError) as error:
                facts = {"host": seen.host.name, "device": seen.subject, "reason": str(error)}
                log.warning("device not discovered", extra=facts)
    return found


@transaction.atomic
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
