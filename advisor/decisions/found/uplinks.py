"""Make and keep the uplinks that are found; what people stated stays as it is."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from math import isclose

from django.db import DatabaseError, transaction

from accounts.models import Organisation
from advisor.decisions.found.look import Look
from advisor.decisions.inventory import add_resource
from advisor.errors import InventoryError
from advisor.models import Attachment, Resource, ResourceStatus
from advisor.resource_kinds.registry import traits_of
from ingest import queries
from ingest.core.identity.facts import Kind, Place
from ingest.core.identity.grouping import Reason
from ingest.core.identity.uplinks import FoundUplinks, find_uplinks
from ingest.core.lengths import LONGEST_DEVICE
from ingest.models import Host

log = logging.getLogger(__name__)

_UPLINK = traits_of("uplink")
_COLUMNS = (
    "line_rate", "capacity", "activity_floor", "derived", "reasons", "vanished_at",
)  # fmt: skip


def keep_uplinks(organisation: Organisation, seen: Look, *, now: datetime) -> None:
    """Bring uplinks and their line rates up to date.

    An interface whose traffic another one counts is none any more. One that cannot become a
    resource is logged and tried again next time, without affecting the others.
    """
    found = find_uplinks(seen.facts, _UPLINK.device_pattern)
    present = _present(organisation)
    _let_go(found, present, now=now)
    speeds = queries.link_speeds_mbits(
        seen.hosts.values(), interfaces={place.subject for place in found.uplinks}
    )
    for place, mbits in found.uplinks.items():
        host = seen.hosts.get(place.host)
        if host is None or len(place.subject) > LONGEST_DEVICE:
            continue
        row = present[place].resource if place in present else _new(host, place)
        if row is not None:
            # Samples come with every reading, facts seldom.
            stated = speeds.get((host.pk, place.subject)) or mbits
            _renew(row, stated and stated * 1e6, _reasons(found, place))


def _present(organisation: Organisation) -> dict[Place, Attachment]:
    rows = Attachment.objects.filter(
        resource__organisation=organisation, resource__kind=_UPLINK.name
    )
    return {
        Place(at.host.name, Kind.NIC, at.device): at
        for at in rows.select_related("host", "resource").order_by()
    }


def _let_go(found: FoundUplinks, present: Mapping[Place, Attachment], *, now: datetime) -> None:
    """An uplink that was found before, and is part of another by what is known now."""
    for place in found.parts:
        at = present.get(place)
        if at is not None and at.resource.discovered:
            at.delete()
            Resource.objects.filter(pk=at.resource_id).update(vanished_at=now)


def _new(host: Host, place: Place) -> Resource | None:
    """The resource of an uplink that is not known, or is found again; None if it cannot be."""
    name = f"{host.name}/{place.subject}"
    try:
        with transaction.atomic():
            former = Resource.objects.filter(
                organisation=host.organisation, name=name, discovered=True, attachments=None
            ).first()
            if former is not None:
                Attachment.objects.create(resource=former, host=host, device=place.subject)
                return former
            row = add_resource(
                organisation=host.organisation,
                name=name,
                kind=_UPLINK.name,
                attachments=[(host.name, place.subject)],
            )
            row.discovered = True
            row.save(update_fields=["discovered"])
            return row
    except (InventoryError, DatabaseError) as error:
        facts = {"host": host.name, "device": place.subject, "reason": str(error)}
        log.warning("device not discovered", extra=facts)
        return None


def _renew(row: Resource, line_rate: float | None, reasons: list[dict[str, object]]) -> None:
    """Take the line rate that the host states, and its capacity, unless a person stated one."""
    before = [getattr(row, name) for name in _COLUMNS]
    row.reasons, row.vanished_at = reasons, None
    if line_rate is not None and row.discovered:
        _follow(row, "line_rate", line_rate)
        ratio = row.traits.payload_ratio
        if ratio is not None and row.line_rate == line_rate:
            _follow(row, "capacity", ratio * line_rate)
            row.activity_floor = row.traits.activity_floor(row.capacity)
    if [getattr(row, name) for name in _COLUMNS] == before:
        return
    row.save(update_fields=_COLUMNS)
    if "capacity" in row.derived:
        # What advice says of the former settings is looked for anew.
        ResourceStatus.objects.filter(resource=row).update(other_advice_gaps={})


def _follow(row: Resource, name: str, value: float) -> None:
    """Set a column that nobody stated; the last value that facts gave may be replaced."""
    now, before = getattr(row, name), row.derived.get(name)
    if now is None or now == before or isclose(now, value):
        setattr(row, name, value)
        row.derived = {**row.derived, name: value}


def _reasons(found: FoundUplinks, place: Place) -> list[dict[str, object]]:
    """What this uplink counts beside itself."""
    return [
        {
            **asdict(Reason(rule="uplink", text=part.text, places=(), merged=True)),
            "places": [str(other)],
        }
        for other, part in sorted(found.parts.items())
        if other.host == place.host and place.subject in part.of
    ]
