"""Create and change pools of workloads on an uplink."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction

from advisor.core.admission import TOLERANCE, RequestedReservation, admit
from advisor.core.enumeration import listed
from advisor.core.pools import reserved_together
from advisor.core.quantity import format_rate
from advisor.decisions.reservable import reservable_on
from advisor.errors import InventoryError
from advisor.models import Allocation, Pool, Resource, Unit
from enforcers.contract import HOST_KIND
from ingest.core.lengths import LONGEST_STATED_NAME, shortened

MOST_SHARES = 1_000_000
"""The most that the wire of agents takes."""


@transaction.atomic
def set_pool(
    *,
    resource: Resource,
    name: str,
    reservation: float = 0.0,
    limit: float | None = None,
    shares: int | None = None,
    members: Sequence[str] | None = None,
    may_exceed: bool = False,
) -> Pool:
    """Set a pool on an uplink. `members` are all workloads that are in it; None keeps them.

    A member of another pool leaves that one. Policies in force stay as they were approved.
    With `may_exceed` a reservation is taken that does not fit.
    """
    _lock(resource)
    _check_terms(resource, name, reservation, limit, shares)
    before = reserved_on(resource)
    pool, _ = Pool.objects.update_or_create(
        resource=resource,
        name=name,
        defaults={"reservation": reservation, "limit": limit, "shares": shares},
    )
    if members is not None:
        inside = _allocations_of(resource, members)
        pool.members.exclude(pk__in=[one.pk for one in inside]).update(pool=None)
        Allocation.objects.filter(pk__in=[one.pk for one in inside]).update(pool=pool)
    check_limit(pool)
    if not may_exceed:
        admit_on(resource, before)
    return pool


def loosen_pool(*, resource: Resource, name: str) -> None:
    """For as long as its members change: its terms are stated anew in the same transaction."""
    resource.pools.filter(name=name).update(reservation=0.0, limit=None)


@transaction.atomic
def remove_pool(*, resource: Resource, name: str) -> None:
    """Remove a pool; its members keep their allocations, and the policy in force stays.

    Nothing is admitted anew: what members reserve each never exceeds what was reserved with it.
    """
    _lock(resource)
    find_pool(resource, name).delete()


def find_pool(resource: Resource, name: str) -> Pool:
    """The resource's pool of this name."""
    pool = Pool.objects.filter(resource=resource, name=name).first()
    if pool is None:
        names = listed(resource.pools.values_list("name", flat=True))
        raise InventoryError(f'{resource} has no pool "{name}"; there are: {names or "none"}')
    return pool


def check_limit(pool: Pool) -> None:
    """Refuse more reserved by its members than it may have."""
    reserved = sum(pool.members.values_list("reservation", flat=True))
    if pool.limit is None or reserved <= pool.limit * (1 + TOLERANCE):
        return
    unit = pool.resource.unit
    raise InventoryError(
        f"the members of pool {pool.name} reserve {format_rate(reserved, unit)}, "
        f"above its limit {format_rate(pool.limit, unit)}"
    )


def reserved_on(resource: Resource) -> dict[int | str, RequestedReservation]:
    """What is reserved on a resource, by pool, or by workload without one."""
    rows = resource.allocations.filter(reservation__gt=0).order_by("pk")
    return reserved_together(
        [
            (RequestedReservation(workload=name, reservation=reservation), pool)
            for name, reservation, pool in rows.values_list(
                "workload__name", "reservation", "pool"
            )
        ],
        {
            pool.pk: RequestedReservation(
                workload=f"pool {pool.name}", reservation=pool.reservation
            )
            for pool in resource.pools.all()
        },
    )


def admit_on(resource: Resource, before: dict[int | str, RequestedReservation]) -> None:
    """Refuse more in all than `before` if all together does not fit."""
    now = reserved_on(resource)
    raised = [one for key, one in now.items() if _raises(one, before.get(key))]
    # Who only joins or leaves a pool may reserve in it, or beside it, what it had before.
    if not raised or _total(now) <= _total(before) * (1 + TOLERANCE):
        return
    present = [one for one in now.values() if one not in raised and one.reservation > 0]
    reservable, rule = reservable_on(resource)
    if admit(reservable, [*present, *raised]).admitted:
        return
    asked = " and ".join(
        f"{format_rate(one.reservation, resource.unit)} for {one.workload}" for one in raised
    )
    taken = format_rate(sum(one.reservation for one in present), resource.unit)
    raise InventoryError(
        f"{resource}: {asked} does not fit; {taken} of "
        f"{format_rate(reservable, resource.unit)} that can be reserved are reserved for "
        f"{listed(one.workload for one in present) or 'none'} ({rule})"
    )


def _total(reserved: dict[int | str, RequestedReservation]) -> float:
    return sum(one.reservation for one in reserved.values())


def _raises(one: RequestedReservation, before: RequestedReservation | None) -> bool:
    least = 0.0 if before is None else before.reservation
    return one.reservation > least * (1 + TOLERANCE)


def _lock(resource: Resource) -> None:
    """One who states pools at a time, so that two do not both take what is free."""
    Resource.objects.select_for_update(no_key=True).get(pk=resource.pk)


def _check_terms(
    resource: Resource, name: str, reservation: float, limit: float | None, shares: int | None
) -> None:
    unit = resource.unit
    if unit != Unit.BITS_PER_S:
        raise InventoryError(
            f"{resource} is a {resource.traits.words.noun}; there are pools on uplinks alone"
        )
    if not name.strip() or len(name) > LONGEST_STATED_NAME:
        raise InventoryError(
            f'the pool "{shortened(name, 40)}" needs a name of 1 to {LONGEST_STATED_NAME} '
            "characters"
        )
    if limit is not None and limit <= 0:
        raise InventoryError(f"{name}: the limit must be above 0")
    if limit is not None and limit < reservation:
        raise InventoryError(
            f"{name}: the limit {format_rate(limit, unit)} is below the "
            f"reservation {format_rate(reservation, unit)}"
        )
    if shares is not None and not 1 <= shares <= MOST_SHARES:
        raise InventoryError(f"{name}: shares must be 1 to {MOST_SHARES:,}")


def _allocations_of(resource: Resource, workloads: Sequence[str]) -> list[Allocation]:
    """Those of the workloads on the resource; each must have one."""
    found = list(
        resource.allocations.filter(workload__name__in=workloads).select_related("workload")
    )
    if missing := sorted(set(workloads) - {one.workload.name for one in found}):
        raise InventoryError(
            f"no allocation on {resource}: {listed(missing)}; "
            f"state one with: sluice allocation set {resource} {missing[0]}"
        )
    for one in found:
        if one.recognised_by[0] == HOST_KIND:
            raise InventoryError(f"{one.workload} is the host's own traffic, which is in no pool")
    return found
