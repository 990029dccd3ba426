"""What workloads got of a resource, on a grid of times."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from advisor.history.cgroup_rate import growth_in_unit, growth_of_received
from advisor.history.claim_adapters import claim_adapters
from advisor.models import Claim, Resource
from advisor.queries.grid import Floats, Grid, mean_of_columns, total_of
from ingest.core.growth_columns import GrowthColumns
from ingest.many_rates import cgroup_growth_of, net_growth_of


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadTrack:
    """One workload's claims on one resource: what it got, and what it was promised in sum.

    `limit` is None when one of its claims has none.
    """

    workload: str
    reservation: float
    limit: float | None
    values: tuple[float | None, ...]


def claims_in_order(resource: Resource) -> list[Claim]:
    """The claims as pages list them: the largest promise first, so it is the ground of a stack."""
    rows = resource.claims.select_related("workload", "host")
    return list(rows.order_by("-reservation", "workload__name", "host__name"))


def workload_tracks(
    resource: Resource, grid: Grid, *, since: datetime, until: datetime
) -> list[WorkloadTrack]:
    """One track per workload with a claim, in the order of `claims_in_order`."""
    in_order = claims_in_order(resource)
    values = _values_by_claim(in_order, grid, unit=resource.unit, span=(since, until))
    claims: dict[str, list[Claim]] = defaultdict(list)
    for claim in in_order:
        claims[claim.workload.name].append(claim)
    return [
        WorkloadTrack(
            workload=name,
            reservation=sum(claim.reservation for claim in found),
            limit=_common_limit(found),
            values=tuple(total_of([values[claim.pk] for claim in found])),
        )
        for name, found in claims.items()
    ]


def _common_limit(claims: Sequence[Claim]) -> float | None:
    limits = [claim.limit for claim in claims]
    known = [limit for limit in limits if limit is not None]
    return sum(known) if len(known) == len(limits) else None


def _values_by_claim(
    claims: Sequence[Claim], grid: Grid, *, unit: str, span: tuple[datetime, datetime]
) -> dict[int, list[float | None]]:
    """What each claim got in each cell, None where nothing was measured."""
    adapters = claim_adapters(claims)
    times = {"since": span[0], "until": span[1]}
    points = 2 * len(grid.ends_s)
    received = net_growth_of(set(adapters.interfaces.values()), max_points=points, **times)
    done = cgroup_growth_of(set(adapters.cgroups.values()), max_points=points, **times)
    values: dict[int, list[float | None]] = {
        claim.pk: [None] * len(grid.ends_s) for claim in claims
    }
    for pk, interface in adapters.interfaces.items():
        growth = received[interface]
        # What a workload sends is what its vNIC receives on the host's side.
        values[pk] = _on_grid(grid, growth, growth_of_received(growth))
    for pk, cgroup in adapters.cgroups.items():
        growth = done[cgroup]
        values[pk] = _on_grid(grid, growth, growth_in_unit(growth, unit))
    return values


def _on_grid(grid: Grid, growth: GrowthColumns, values: Floats) -> list[float | None]:
    return mean_of_columns(grid, ends_s=growth.ends_s, seconds=growth.seconds, values=values)
