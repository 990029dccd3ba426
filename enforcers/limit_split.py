"""A limit that several hosts hold together: what each of them may do. Pure.

Each host has a part by the policy, and these add up to the limit. Hosts that tell what they do
lend each other what they do not use; one that tells nothing keeps its own part, for nobody else
counts it. A host is granted more only once those that had it claim less, and takes it only once
it has claimed it, so that an answer which is late or lost does not make the sum exceed the limit.
It gives back what it borrowed, and takes back what it lent, by its own clock
(`limit_exchange.BORROWED_S`, `LENT_S`), whatever it hears. Beyond the limit are only what is
open to hosts that are idle or content (below), and 1 % of rounding.
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

    Reservations beyond the limit are cut in proportion. No host has nothing, for a limit of 0 is
    none: where others reserve it all, it has what stays open on an idle one, and theirs are cut
    by that.
    """
    is_little = min(reserved) < IDLE_RATIO * limit / len(reserved)
    least = IDLE_RATIO * limit if is_little else 0.0
    total = math.fsum(reserved)
    kept = min(1.0, (limit - least) / total) if total > 0 else 1.0
    rest = max(least, limit - kept * total) / len(reserved)
    return tuple(kept * one + rest for one in reserved)


def granted(own: LimitUse, others: Sequence[LimitUse], *, limit: float) -> float:
    """What the host that tells of `own` may do of the limit, as far as it has claimed it.

    It keeps what it claims as far as the others' claims leave it, and is given more only of what
    they will not take. A little is always open, so that it shows that it wants more.
    """
    uses = [own, *others]
    total = math.fsum(use.own for use in uses)
    # While a policy changes a host may still tell of a part that others have by the new one.
    budget = min(total, limit)
    wanted = _dues(budget, uses)
    # Who is held takes all; else each has its part of what nobody takes.
    free_ratio = max(0.0, budget - math.fsum(wanted)) / total
    dues = [want + free_ratio * use.own for use, want in zip(uses, wanted, strict=True)]
    theirs = dues[1:]
    claims = [
        _kept(use, due, want) for use, due, want in zip(others, theirs, wanted[1:], strict=True)
    ]
    kept = min(own.claimed, budget - math.fsum(claims))
    more = budget - math.fsum(map(max, theirs, claims))
    part = max(min(dues[0], max(kept, more)), IDLE_RATIO * own.own)
    return max(part, _open(own, wanted[0])) if _is_anybody_held(uses) and not own.is_held else part


def _dues(budget: float, uses: Sequence[LimitUse]) -> tuple[float, ...]:
    """Of those that are held by their own parts, of what the others do not take."""
    claims = [Claim(shares=use.own, demand=None if use.is_held else use.rate) for use in uses]
    return entitlements(budget, claims, ReservationMode.FLOOR)


def _kept(use: LimitUse, due: float, wanted: float) -> float:
    """What a host does of what it claims; all of it until it has heard that its due is less."""
    most = (due if use.is_held else max(due, _open(use, wanted))) * (1 + _ROUNDING_RATIO)
    return use.claimed if use.claimed > most else min(use.claimed, due)


def _open(use: LimitUse, wanted: float) -> float:
    return max(IDLE_RATIO * use.own, ROOM_RATIO * wanted)


def _is_anybody_held(uses: Sequence[LimitUse]) -> bool:
    return any(use.is_held for use in uses)
