"""Whether a policy fits an interface beside the host's own traffic. Pure."""

from collections.abc import Sequence
from typing import assert_never

from enforcers.contract import Allocation, Outcome, Pool, ReservationMode, ResourceSpec, Unit
from enforcers.mechanism import Note
from enforcers.mechanisms.tc_htb import sizing
from enforcers.mechanisms.tc_htb.sizing import Guarantee
from enforcers.pools import members_of

# Rounding of sums, not slack: reservations that truly exceed the link are refused.
RELATIVE_ROUNDING = 1e-9


def guarantee(spec: ResourceSpec, allocation: Allocation) -> Guarantee:
    """What becomes the class's rate.

    HTB shares out what the rates leave, which is the additive meaning. For the floor meaning
    the rate is the solver's result, which has the shares in it already.
    """
    match spec.mode:
        case ReservationMode.ADDITIVE:
            entitlement = 0.0
        case ReservationMode.FLOOR:
            entitlement = allocation.entitlement
        case _:
            assert_never(spec.mode)
    return Guarantee(reservation=allocation.reservation, entitlement=entitlement)


def guarantees(
    spec: ResourceSpec, allocations: Sequence[Allocation], pools: Sequence[Pool]
) -> dict[str, Guarantee]:
    """By id what becomes the rate of each pool, and of each allocation without one."""
    alone = {item.id: guarantee(spec, item) for item in allocations if item.pool is None}
    return alone | {
        pool.id: _of_pool(
            pool, [guarantee(spec, item) for item in members_of(pool.id, allocations)]
        )
        for pool in pools
    }


def _of_pool(pool: Pool, members: Sequence[Guarantee]) -> Guarantee:
    """Entitlements never raise the rate above the limit, for HTB lets rates through."""
    entitled = sum(max(item.reservation, item.entitlement) for item in members)
    return Guarantee(
        reservation=max(pool.reservation, sum(item.reservation for item in members)),
        entitlement=entitled if pool.limit is None else min(entitled, pool.limit),
        least=sum(item.least for item in members),
    )


def host_rate_of(spec: ResourceSpec, host: Allocation | None) -> int:
    """The rate of the host's own traffic: what the policy reserves for it, never less than its
    part of the uplink.
    """
    least = sizing.host_rate_bits_per_s(spec.capacity)
    return least if host is None else max(least, sizing.shown_rate_bits_per_s(host.reservation))


def whole_problem(
    spec: ResourceSpec,
    allocations: Sequence[Allocation],
    host: Allocation | None,
    pools: Sequence[Pool] = (),
) -> Note | None:
    """Why an interface is refused as a whole; `allocations` are those of workloads."""
    if spec.unit is not Unit.BITS_PER_S:
        return Note(
            outcome=Outcome.UNSUPPORTED,
            reason=f"tc_htb enforces {Unit.BITS_PER_S}, not {spec.unit}",
        )
    host_rate = host_rate_of(spec, host)
    room = spec.capacity - host_rate
    if room < sizing.MINIMUM_RATE_BITS_PER_S * len(allocations):
        return Note(
            outcome=Outcome.UNSUPPORTED,
            reason=f"a link of {spec.capacity:.0f} bit/s is too small for {len(allocations)} "
            f"classes of {sizing.MINIMUM_RATE_BITS_PER_S} bit/s beside the {host_rate} bit/s "
            "for the host's own traffic",
        )
    wanted = guarantees(spec, allocations, pools)
    for pool in pools:
        if pool.limit is not None and pool.limit < wanted[pool.id].least:
            return Note(
                outcome=Outcome.UNSUPPORTED,
                reason=f"the limit of pool {pool.name!r}, {pool.limit:.0f} bit/s, is too small "
                f"for a class of {sizing.MINIMUM_RATE_BITS_PER_S} bit/s for each of its members",
            )
    total = sum(max(item.reservation, item.entitlement) for item in wanted.values())
    if total > spec.capacity * (1 + RELATIVE_ROUNDING):
        return Note(
            outcome=Outcome.FAILED,
            reason=f"guarantees of {total:.0f} bit/s exceed the {spec.capacity:.0f} bit/s of "
            f"{spec.device}; HTB would let them through together",
        )
    reserved = sum(item.reservation for item in wanted.values())
    if reserved > room * (1 + RELATIVE_ROUNDING):
        return Note(
            outcome=Outcome.FAILED,
            reason=f"reservations of {reserved:.0f} bit/s exceed the {room:.0f} bit/s that "
            f"{spec.device} has beside the {host_rate} bit/s for the host's own traffic; "
            f"reserve {reserved - room:.0f} bit/s less",
        )
    return None


def beyond_host_limit(
    spec: ResourceSpec, host: Allocation | None, of_kinds: Sequence[Allocation]
) -> dict[str, Note]:
    """The kinds whose reservations, on top of the host's rate, do not fit its limit.

    HTB lets a class do its rate whatever its ceiling, so those would break the limit.
    """
    if host is None or host.limit is None:
        return {}
    notes: dict[str, Note] = {}
    reserved = float(host_rate_of(spec, host))
    for item in of_kinds:
        if item.reservation > 0 and reserved + item.reservation > host.limit:
            notes[item.id] = Note(
                outcome=Outcome.FAILED,
                reason=f"{item.reservation:.0f} bit/s for {item.selector.value} come on top of "
                f"{reserved:.0f} bit/s for the host's own traffic, and exceed its limit of "
                f"{host.limit:.0f} bit/s; raise that, or reserve less",
            )
        else:
            reserved += item.reservation
    return notes


def host_limit_problem(spec: ResourceSpec, host: Allocation | None) -> Note | None:
    """Why the limit of the host's own traffic is not held: no document takes its part away."""
    if host is None or host.limit is None or host.limit >= host_rate_of(spec, host):
        return None
    return Note(
        outcome=Outcome.INEFFECTIVE,
        reason=f"the host's own traffic keeps its part of {host_rate_of(spec, host)} bit/s, "
        f"which is above its limit of {host.limit:.0f} bit/s",
    )
