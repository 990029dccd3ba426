"""A limit that several hosts hold together: what each of them may do. Pure.

Each host has a part by the policy, and these add up to the limit. Hosts that tell what they do
lend each other what they do not use; one that tells nothing keeps its own part, for nobody else
counts it. A host is granted more only once those that had it claim less, and takes it only once
it has claimed it, so that an answer which is late or lost never makes the sum exceed the limit.
"""

import math
from collections.abc import Sequence

from enforcers.contract import ReservationMode
from enforcers.entitlement import Claim, entitlements
from enforcers.limit_exchange import LimitUse

ROOM_RATIO = 1.3
"""What a host that is content may take at once, of what it took, while another is held."""
IDLE_RATIO = 0.05
"""Of its own part stays open on a host that is idle, so that its first I/O does not wait."""
_ROUNDING_RATIO = 0.01


def own_parts(limit: float, reserved: Sequence[float]) -> tuple[float, ...]:
    """Each host's part by the policy: what is reserved there, and as much of the rest as others.

    Reservations beyond the limit are cut in proportion.
    """
    total = math.fsum(reserved)
    if total >= limit:
        return tuple(limit * one / total for one in reserved)
    rest = (limit - total) / len(reserved)
    return tuple(one + rest for one in reserved)


def granted(own: LimitUse, others: Sequence[LimitUse]) -> float:
    """What the host that tells of `own` may do of the limit, as far as it has claimed it."""
    uses = [own, *others]
    budget = math.fsum(use.own for use in uses)
    dues = _dues(budget, uses)
    taken = math.fsum(
        _taken(use, due, budget, dues) for use, due in zip(others, dues[1:], strict=True)
    )
    due = _due_with_rest(own, dues[0], budget, dues)
    part = min(due, max(budget - taken, min(own.claimed, due)))
    return max(part, _open(own, dues[0])) if _is_anybody_held(uses) and not own.is_held else part


def _dues(budget: float, uses: Sequence[LimitUse]) -> tuple[float, ...]:
    """Of those that are held by their own parts, of what the others do not take."""
    claims = [Claim(shares=use.own, demand=None if use.is_held else use.rate) for use in uses]
    return entitlements(budget, claims, ReservationMode.FLOOR)


def _due_with_rest(use: LimitUse, due: float, budget: float, dues: Sequence[float]) -> float:
    """With its part of what nobody takes; who is held takes it all."""
    return due + max(0.0, budget - math.fsum(dues)) * use.own / budget


def _taken(use: LimitUse, due: float, budget: float, dues: Sequence[float]) -> float:
    """What must be left to a host: its due, or all that it claims until it has heard of less."""
    due = _due_with_rest(use, due, budget, dues)
    most = (due if use.is_held else max(due, _open(use, due))) * (1 + _ROUNDING_RATIO)
    return use.claimed if use.claimed > most else due


def _open(use: LimitUse, due: float) -> float:
    return max(IDLE_RATIO * use.own, ROOM_RATIO * due)


def _is_anybody_held(uses: Sequence[LimitUse]) -> bool:
    return any(use.is_held for use in uses)
