"""The pools that are stated on a resource."""

from __future__ import annotations

from advisor.core.pools import PoolTerms
from advisor.models import Resource


def pool_terms(resource: Resource) -> tuple[PoolTerms, ...]:
    """The stated pools of a resource that have members, as a policy would carry them."""
    found = []
    for pool in resource.pools.prefetch_related("members"):
        members = sorted(one.pk for one in pool.members.all() if one.vanished_at is None)
        if members:
            found.append(
                PoolTerms(
                    pool=pool.pk,
                    name=pool.name,
                    reservation=pool.reservation,
                    limit=pool.limit,
                    shares=pool.shares,
                    members=tuple(members),
                )
            )
    return tuple(found)
