"""The allocations of an organisation as columns, and what they say of resources and hosts."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from django.db.models import QuerySet

from advisor.models import Allocation, Tier, Workload
from advisor.queries.listed import Places
from advisor.queries.packed import packed_columns
from advisor.queries.scope import Scope

TIERS = list(Tier)
"""The highest first."""
_TIER_PLACES = {tier.value: place for place, tier in enumerate(TIERS)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Users:
    """How many workloads have an allocation on something, and their tiers, the highest first."""

    count: int = 0
    tiers: tuple[str, ...] = ()


NO_USERS = Users()


def users_by(scope: Scope, place: str, kinds: Collection[str] | None = None) -> dict[int, Users]:
    """Those of each resource or host, of resources of these kinds or of all."""
    present = present_allocations(scope)
    if kinds is not None:
        present = present.filter(resource__kind__in=kinds)
    (of, workload), _ = packed_columns(present, place, "workload_id")
    (known,), (tiers,) = packed_columns(scope.rows(Workload), "pk", texts=["tier"])
    found = places_of(workload, known)
    seen, span = found >= 0, max(len(known), 1)
    # A workload with several allocations there counts once.
    own, once = np.divmod(np.unique(of[seen] * span + found[seen]), span)
    keys, row = np.unique(own, return_inverse=True)
    size = len(keys) * len(TIERS)
    counts = np.bincount(row * len(TIERS) + tier_places(tiers)[once], minlength=size)
    return {
        key: Users(
            count=sum(by_tier),
            tiers=tuple(tier for tier, count in zip(TIERS, by_tier, strict=True) if count),
        )
        for key, by_tier in zip(
            keys.tolist(), counts.reshape(-1, len(TIERS)).tolist(), strict=True
        )
    }


def present_allocations(scope: Scope) -> QuerySet[Allocation]:
    """The allocations of the organisation that did not vanish.

    Some may be of workloads that this person may not see.
    """
    return Allocation.objects.filter(resource__organisation=scope.organisation, vanished_at=None)


def tier_places(tiers: Sequence[str]) -> Places:
    """Tiers as places in `TIERS`."""
    return np.array([_TIER_PLACES[tier] for tier in tiers], dtype=np.int64)


def places_of(keys: Places, known: Places) -> Places:
    """The place of each key among those that are known; -1 for others."""
    if not len(known):
        return np.full(len(keys), -1)
    order = np.argsort(known)
    ordered = known[order]
    at = np.minimum(np.searchsorted(ordered, keys), len(known) - 1)
    return np.where(ordered[at] == keys, order[at], -1)
