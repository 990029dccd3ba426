"""On which host a workload's network reservation holds: admission, placing, and moving.

At most three quarters of a host's smallest uplink may be reserved. A reservation is first admitted
to its pool; a host that then holds too many gives workloads to others, within five minutes.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from advisor.advice.host_placement.decide.host_cluster import Cluster
from advisor.advice.host_placement.decide.host_inputs import (
    HostMove,
    HostPlacementAdvice,
    HostPlacementInputs,
    NetworkWorkload,
    RefusedReservation,
)
from advisor.advice.host_placement.decide.host_why import MODEL_VERSION, advice, shown_rate
from advisor.core.admission import RequestedReservation, admit, reservable_in_pool
from advisor.core.explanation.answer import InsufficientData, Missing, NoChange
from advisor.core.explanation.rounding import round_all

FIX_WITHIN_S = 300.0
"""A violated reservation is mended within five minutes."""

HostPlacementAnswer = HostPlacementAdvice | NoChange | InsufficientData


def advise_hosts(inputs: HostPlacementInputs) -> HostPlacementAnswer:
    """Moves and starts with which all admitted reservations hold, and those refused.

    Workloads are moved one by one, not exchanged: a packing that needs an exchange is not found.
    """
    if not inputs.hosts:
        return InsufficientData(
            summary="No host is known",
            missing=(Missing(what="hosts", have=0, need=1),),
            model_version=MODEL_VERSION,
        )
    refused = _refused_by_pool(inputs)
    names = {one.workload for one in refused}
    admitted = [
        replace(one, reservation_bits_per_s=0.0) if one.workload in names else one
        for one in sorted(inputs.workloads, key=_promised_first)
    ]
    before = Cluster(inputs.hosts, admitted, reservable_ratio=inputs.reservable_ratio)
    cluster = Cluster(inputs.hosts, admitted, reservable_ratio=inputs.reservable_ratio)
    moves = _starts(cluster, refused, names)
    for host in cluster.hosts:
        moves += _fix(cluster, host, inputs.now, refused)
    if not moves and not refused:
        return NoChange(
            summary="Every network reservation fits the host its workload is on",
            model_version=MODEL_VERSION,
        )
    return round_all(advice(inputs, before, cluster, moves, refused))


def _promised_first(workload: NetworkWorkload) -> tuple[bool, int, str]:
    return (not workload.promised, workload.rank, workload.workload)


def _refused_by_pool(inputs: HostPlacementInputs) -> list[RefusedReservation]:
    """What does not fit the pool, whatever host it is on."""
    pool = inputs.pool_bits_per_s
    if pool is None:
        rates = [rate for one in inputs.hosts for rate in one.uplink_bits_per_s]
        pool = reservable_in_pool(rates, ratio=inputs.reservable_ratio)
    ordered = sorted(inputs.workloads, key=_promised_first)
    return _refused_of(ordered, pool, f"the pool of {shown_rate(pool)}")


def _refused_of(
    workloads: Sequence[NetworkWorkload], reservable: float, place: str
) -> list[RefusedReservation]:
    """The workloads that do not fit, in this order, with what was left for them."""
    allocations = [
        RequestedReservation(workload=one.workload, reservation=one.reservation_bits_per_s)
        for one in workloads
    ]
    admission = admit(reservable, allocations)
    left = max(reservable - admission.reserved, 0.0)
    reason = f"{place} is fully reserved" if left == 0 else f"{place} has {shown_rate(left)} left"
    return [
        RefusedReservation(
            workload=one.workload,
            reservation_bits_per_s=one.reservation_bits_per_s,
            reason=reason,
        )
        for one in workloads
        if one.workload in admission.refused
    ]


def _starts(
    cluster: Cluster, refused: list[RefusedReservation], names: set[str]
) -> list[HostMove]:
    """Places for the workloads without a host, the largest reservation first."""
    waiting = [
        one for one in cluster.workloads.values() if one.host is None and one.workload not in names
    ]
    moves = []
    for one in sorted(waiting, key=lambda one: (-one.reservation_bits_per_s, one.workload)):
        target = cluster.target_for(one)
        if target is None:
            refused.append(
                RefusedReservation(
                    workload=one.workload,
                    reservation_bits_per_s=one.reservation_bits_per_s,
                    reason="no host has so much left of what may be reserved",
                )
            )
            continue
        moves.append(
            HostMove(
                workload=one.workload,
                source=None,
                target=target,
                reservation_bits_per_s=one.reservation_bits_per_s,
                due_at=None,
                reason=f"{target} has room for its reservation",
            )
        )
        cluster.put(one.workload, target)
    return moves


def _fix(
    cluster: Cluster, host: str, now: datetime, refused: list[RefusedReservation]
) -> list[HostMove]:
    """Move workloads away until what is reserved on the host may be."""
    moves: list[HostMove] = []
    stuck: set[str] = set()
    since = cluster.hosts[host].violated_since or now
    while (excess := cluster.excess(host)) > 0:
        chosen = _to_move(cluster, host, excess, stuck)
        if chosen is None:
            place = f"{host}, and nothing more can be moved away: it"
            refused += _refused_of(cluster.on(host), cluster.reservable(host), place)
            break
        target = cluster.target_for(chosen)
        if target is None:
            stuck.add(chosen.workload)
            continue
        reserved = cluster.reservable(host) + excess
        moves.append(
            HostMove(
                workload=chosen.workload,
                source=host,
                target=target,
                reservation_bits_per_s=chosen.reservation_bits_per_s,
                due_at=since + timedelta(seconds=FIX_WITHIN_S),
                reason=f"{shown_rate(reserved)} are reserved on {host}, where "
                f"{shown_rate(cluster.reservable(host))} may be",
            )
        )
        cluster.put(chosen.workload, target)
    return moves


def _to_move(
    cluster: Cluster, host: str, excess: float, stuck: set[str]
) -> NetworkWorkload | None:
    """The smallest reservation whose move ends the violation, else the largest."""
    candidates = sorted(
        (
            one
            for one in cluster.on(host)
            if one.movable and one.reservation_bits_per_s > 0 and one.workload not in stuck
        ),
        key=lambda one: (one.reservation_bits_per_s, one.workload),
    )
    # What is left over by rounding is no violation.
    nearly = excess - cluster.tolerance(host)
    enough = [one for one in candidates if one.reservation_bits_per_s >= nearly]
    if enough:
        return enough[0]
    return candidates[-1] if candidates else None
