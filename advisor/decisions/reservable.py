"""How much of a resource may be reserved, by what rule."""

from __future__ import annotations

from django.utils import timezone

from advisor.errors import InventoryError
from advisor.history.seen_capacity import capacity_seen
from advisor.models import Resource


def reservable_on(resource: Resource) -> tuple[float, str]:
    """What all reservations together may take, by what rule; refuses where nobody can know it."""
    if resource.reservable is not None:
        return resource.reservable, resource.reservable_rule
    seen = capacity_seen(resource, now=timezone.now())
    if seen is not None and not seen.is_bound:
        rule = f"{resource.reservable_ratio:.0%} of what it delivered under load"
        return resource.reservable_ratio * seen.value, rule
    unseen = "" if resource.traits.fixed_capacity else " and it was not seen under load yet"
    raise InventoryError(
        f"{resource}: its capacity is unknown{unseen}, so nothing can be reserved; "
        f"set it with: sluice resource set {resource} --capacity RATE"
    )
