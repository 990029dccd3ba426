"""Reservation and limit that a workload's tier gives it on a datastore."""

from __future__ import annotations

from advisor.core.resource import TierControls, tier_controls
from advisor.errors import InventoryError
from advisor.models import Resource, Tier, Unit, Workload


def controls_of_tier(*, resource: Resource, workload_name: str, tier: str | None) -> TierControls:
    """Reservation and limit that the workload's tier gives it; `tier` None means the present one.

    Raises InventoryError for a resource that is not counted in IOPS.
    """
    if resource.unit != Unit.IOPS:
        raise InventoryError(
            f"a tier's reservation and limit are in IOPS, and {resource} is counted in "
            f"{resource.unit}; state them as rates"
        )
    if tier is None:
        known = Workload.objects.filter(organisation=resource.organisation, name=workload_name)
        tier = known.values_list("tier", flat=True).first()
    return tier_controls(Tier.MEDIUM if tier is None else Tier(tier))
