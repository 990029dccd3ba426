"""What is promised of a resource against what there is: reservations, and limits of pools."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import OuterRef, Q, Sum
from django.db.models.functions import Coalesce, JSONObject

from advisor.core.admission import TOLERANCE
from advisor.models import Pool, Resource


@dataclass(frozen=True, slots=True, kw_only=True)
class Commitment:
    """In the resource's unit; `reservable` and `capacity` None are not known.

    `reserved` counts of each pool the larger of its own reservation and that of its members.
    `pool_limits` is what its pools may have together, None where none has a limit: it may be more
    than the capacity, as not all want theirs at once.
    """

    reserved: float
    reservable: float | None
    pool_limits: float | None
    capacity: float | None

    @property
    def exceeds(self) -> bool:
        """Whether more is reserved than may be, as after a capacity became less."""
        return self.reservable is not None and self.reserved > self.reservable * (1 + TOLERANCE)

    @property
    def limits_ratio(self) -> float | None:
        """How many times the capacity the pools may have together."""
        if self.pool_limits is None or self.capacity is None:
            return None
        return self.pool_limits / self.capacity


def commitment_of(resource: Resource) -> Commitment:
    """That of one resource, in one statement."""
    own = Pool.objects.filter(resource=OuterRef("pk")).annotate(
        inside=Coalesce(Sum("members__reservation"), 0.0)
    )
    plain = JSONObject(reservation="reservation", limit="limit", inside="inside")
    row = (
        Resource.objects.filter(pk=resource.pk)
        .annotate(
            alone=Sum("allocations__reservation", filter=Q(allocations__pool=None)),
            in_pools=ArraySubquery(own.values(plain=plain)),
        )
        .values("alone", "in_pools")
        .get()
    )
    pools: list[dict[str, Any]] = row["in_pools"]
    limits = [pool["limit"] for pool in pools if pool["limit"] is not None]
    reserved = sum(max(pool["reservation"], pool["inside"]) for pool in pools)
    return Commitment(
        reserved=(row["alone"] or 0.0) + reserved,
        reservable=resource.reservable,
        pool_limits=sum(limits) if limits else None,
        capacity=resource.capacity,
    )
