"""Create resources and workloads from what collectors send, before anybody describes them."""

from __future__ import annotations

import logging
from datetime import datetime

from django.db import DatabaseError, transaction
from django.db.models import Max
from django.utils import timezone

from accounts.models import Organisation
from advisor.decisions.found.keep import keep_inventory
from advisor.decisions.inventory import add_resource
from advisor.errors import InventoryError
from advisor.models import Attachment, Resource
from advisor.resource_kinds import registry
from advisor.resource_kinds.traits import ResourceTraits
from ingest import queries
from ingest.models import Host

log = logging.getLogger(__name__)


def discover(
    *, organisation: Organisation, now: datetime | None = None, is_asked: bool = False
) -> list[Resource]:
    """Create a resource for every datastore and physical NIC that is seen; those that are new.

    Datastores, uplinks and workloads are found by what hosts say of them (`keep_inventory`),
    devices of other kinds by their names. One that cannot become a resource is logged and tried
    again next time, without affecting the others.
    """
    newest = Resource.objects.filter(organisation=organisation).aggregate(pk=Max("pk"))["pk"] or 0
    keep_inventory(organisation, now=now or timezone.now(), is_asked=is_asked)
    found = list(Resource.objects.filter(organisation=organisation, pk__gt=newest).order_by("pk"))
    known = set(
        Attachment.objects.filter(host__organisation=organisation).values_list("host", "device")
    )
    for traits in registry.KINDS:
        if traits.found_by_identity:
            continue
        measurement = traits.reader.measurement.name
        for seen in queries.subjects(organisation=organisation, measurement=measurement):
            device = (seen.host.pk, seen.subject)
            if device in known or not traits.device_pattern.fullmatch(seen.subject):
                continue
            known.add(device)
            try:
                found.append(_add_discovered(seen.host, seen.subject, traits))
            except (InventoryError, DatabaseError) as error:
                facts = {"host": seen.host.name, "device": seen.subject, "reason": str(error)}
                log.warning("device not discovered", extra=facts)
    return found


@transaction.atomic
def _add_discovered(host: Host, device: str, traits: ResourceTraits) -> Resource:
    resource = add_resource(
        organisation=host.organisation,
        name=f"{host.name}/{device}",
        kind=traits.name,
        attachments=[(host.name, device)],
    )
    resource.discovered = True
    resource.save()
    return resource
