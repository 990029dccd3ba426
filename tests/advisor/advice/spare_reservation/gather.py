"""The reservations of a resource of known capacity."""

from __future__ import annotations

from datetime import datetime

from advisor.models import Resource
from tests.advisor.advice.spare_reservation.decide import SpareInputs


def spare_inputs(resource: Resource, _now: datetime) -> list[SpareInputs]:
    if resource.reservable is None:
        return []
    reserved = sum(allocation.reservation for allocation in resource.allocations.all())
    return [
        SpareInputs(
            resource=resource.name,
            unit=resource.unit,
            reservable=resource.reservable,
            reserved=reserved,
        )
    ]
