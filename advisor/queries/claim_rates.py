"""What workloads got of a resource, on a grid of times."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from advisor.models import AdapterKind, Claim, Resource
from advisor.queries.cgroup_device import cgroup_device_numbers
from advisor.queries.cgroup_rate import rate_in_unit
from advisor.queries.grid import Grid, mean_on, total_of
from ingest import queries


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
    claims: dict[str, list[Claim]] = defaultdict(list)
    in_order = claims_in_order(resource)
    devices = cgroup_device_numbers(in_order)
    for claim in in_order:
        claims[claim.workload.name].append(claim)
    return [
        WorkloadTrack(
            workload=name,
            reservation=sum(claim.reservation for claim in found),
            limit=_common_limit(found),
            values=tuple(
                total_of(
                    [
                        _claim_values(
                            claim,
                            grid,
                            unit=resource.unit,
                            device=devices.get(claim.pk),
                            span=(since, until),
                        )
                        for claim in found
                    ]
                )
            ),
        )
        for name, found in claims.items()
    ]


def _common_limit(claims: Sequence[Claim]) -> float | None:
    limits = [claim.limit for claim in claims]
    known = [limit for limit in limits if limit is not None]
    return sum(known) if len(known) == len(limits) else None


def _claim_values(
    claim: Claim, grid: Grid, *, unit: str, device: str | None, span: tuple[datetime, datetime]
) -> list[float | None]:
    points = 2 * len(grid.ends_s)
    if claim.adapter_kind == AdapterKind.VNIC:
        # What a workload sends is what its vNIC receives on the host's side.
        received = queries.net_rates(
            host=claim.host,
            interface=claim.adapter,
            since=span[0],
            until=span[1],
            max_points=points,
        )
        return mean_on(grid, received, [item.received_bits_per_s for item in received])
    if device is None:
        return [None] * len(grid.ends_s)
    done = queries.cgroup_rates(
        host=claim.host,
        path=claim.adapter,
        device=device,
        since=span[0],
        until=span[1],
        max_points=points,
    )
    return mean_on(grid, done, [rate_in_unit(item, unit) for item in done])
