"""All uplinks of a tenant, with the reservations and limits of the workloads on them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from datetime import datetime, timedelta
from math import inf, isclose

from django.db.models import Exists, OuterRef, Q, QuerySet

from advisor.advice.host_placement.decide.host_inputs import (
    CarriedSource,
    HostPlacementAdvice,
    HostPlacementInputs,
    HostUplinks,
    NetworkWorkload,
)
from advisor.advice.host_placement.decide.host_placement import FIX_WITHIN_S
from advisor.core.canonical import loads
from advisor.core.resource import PAYLOAD_RATIO
from advisor.models import OPEN_STATES, Allocation, Recommendation, Resource
from advisor.resource_kinds import registry

TOPIC = "host_placement"
LOOK_EVERY = timedelta(seconds=30)
"""Uplinks are looked at so often; a violation found now began after the look before."""


def reserved_uplinks() -> QuerySet[Resource]:
    """Resources of one host each, as uplinks are, with something reserved or advised on them."""
    reserved = Q(allocations__reservation__gt=0)
    advised = Q(
        recommendations__topic=TOPIC,
        recommendations__state__in=OPEN_STATES,
    )
    kinds = [traits.name for traits in registry.KINDS if traits.one_device]
    return Resource.objects.filter(reserved | advised, kind__in=kinds).distinct()


def has_reservations(_now: datetime) -> Q:
    """Resources of one host each with something reserved on them."""
    kinds = [traits.name for traits in registry.KINDS if traits.one_device]
    reserved = Allocation.objects.filter(resource=OuterRef("pk"), reservation__gt=0)
    return Q(Exists(reserved), kind__in=kinds)


def host_placement_inputs(resource: Resource, now: datetime) -> list[HostPlacementInputs]:
    """For an uplink whose reservations exceed what may be reserved, beside all other hosts."""
    reservable = resource.reservable
    promised = sum(allocation.reservation for allocation in resource.allocations.all())
    if not resource.traits.one_device or reservable is None or promised <= reservable * (1 + 1e-9):
        return []
    uplinks = Resource.objects.filter(
        organisation=resource.organisation, kind=resource.kind, capacity__isnull=False
    )
    rates: dict[str, list[float]] = defaultdict(list)
    carries: dict[str, tuple[float, CarriedSource]] = {}
    workloads: dict[str, NetworkWorkload] = {}
    for uplink in uplinks.order_by("name"):
        attachment = uplink.attachments.select_related("host").get()
        host = attachment.host.name
        promises = _promises(uplink)
        rates[host].append(uplink.line_rate or uplink.capacity or 0.0)
        carries[host] = min(carries.get(host, _ENDLESS), _carried(uplink))
        present = uplink.allocations.filter(vanished_at=None)
        for allocation in present.select_related("workload").order_by("pk"):
            granted = promises.get(allocation.pk)
            asked = NetworkWorkload(
                workload=allocation.workload.name,
                host=host,
                reservation_bits_per_s=allocation.reservation,
                limit_bits_per_s=allocation.limit,
                shares=float(allocation.weight),
                promised=granted is None or allocation.reservation <= granted,
                rank=allocation.pk,
            )
            before = workloads.get(asked.workload)
            workloads[asked.workload] = asked if before is None else _together(before, asked)
    since = _violated_since(resource, now)
    return [
        HostPlacementInputs(
            hosts=tuple(
                HostUplinks(
                    host=host,
                    uplink_bits_per_s=tuple(rates[host]),
                    carries_bits_per_s=carries[host][0],
                    carries_source=carries[host][1],
                    violated_since=since.get(host, now - LOOK_EVERY),
                )
                for host in sorted(rates)
            ),
            workloads=tuple(workloads.values()),
            now=now,
            reservable_ratio=resource.reservable_ratio,
        )
    ]


_ENDLESS = (inf, CarriedSource.STATED)


def _carried(uplink: Resource) -> tuple[float, CarriedSource]:
    """What an uplink of known capacity carries, and whether a person said so."""
    capacity = uplink.capacity or inf
    assumed = uplink.discovered and isclose(capacity, PAYLOAD_RATIO * (uplink.line_rate or 0.0))
    return capacity, CarriedSource.ASSUMED if assumed else CarriedSource.STATED


def _promises(uplink: Resource) -> dict[int, float]:
    """What the policy in force grants each allocation of an uplink, as far as it knows them."""
    policy = uplink.policies.order_by("-version").first()
    return {
        item["allocation"]: item["reservation"] for item in (policy.allocations if policy else ())
    }


def _violated_since(resource: Resource, now: datetime) -> dict[str, datetime]:
    """Per host, when its violation began at the latest, as the open advice says.

    So the time by which it has to end does not move on when the advice changes.
    """
    rows = Recommendation.objects.open_at(now)
    open_one = rows.filter(resource=resource, topic=TOPIC).first()
    if open_one is None:
        return {}
    found: dict[str, datetime] = {}
    for move in loads(HostPlacementAdvice, open_one.answer).moves:
        if move.source is not None and move.due_at is not None:
            began = move.due_at - timedelta(seconds=FIX_WITHIN_S)
            found[move.source] = min(began, found.get(move.source, began))
    return found


def _together(one: NetworkWorkload, other: NetworkWorkload) -> NetworkWorkload:
    """A workload with allocations on several uplinks moves with all of them."""
    limits = (one.limit_bits_per_s, other.limit_bits_per_s)
    return replace(
        one,
        reservation_bits_per_s=one.reservation_bits_per_s + other.reservation_bits_per_s,
        promised=one.promised and other.promised,
        limit_bits_per_s=None if None in limits else sum(limit or 0.0 for limit in limits),
    )
