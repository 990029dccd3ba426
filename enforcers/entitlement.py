"""What each workload is entitled to right now: the service's solver once more, without numpy.

`floor` (storage: mClock, SIOC) gives clamp(level * shares, reservation, min(limit, demand)) with
the level at which the capacity is used up; `additive` (network: NetIOC) gives the reservation and
a part of the rest by shares. The result is that of the service's solver to 1e-9.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

from enforcers.contract import ReservationMode


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What a workload may claim of a resource, in the unit of the capacity, none negative.

    `limit` None is unlimited, `demand` None is unknown and counts as unlimited. If the
    reservation exceeds the limit, the limit wins.
    """

    reservation: float = 0.0
    limit: float | None = None
    shares: float = 1.0
    demand: float | None = None

    @property
    def most(self) -> float:
        """What it can take at most; may be infinite."""
        bounds = [bound for bound in (self.limit, self.demand) if bound is not None]
        return min(bounds, default=math.inf)


def entitlements(
    capacity: float, claims: Sequence[Claim], mode: ReservationMode
) -> tuple[float, ...]:
    """What each claim gets of the capacity, in the order of the claims.

    Reservations that do not fit are scaled down in proportion. What one cannot use goes to the
    others by shares; one with shares 0 gets its reservation alone.
    """
    most = [min(claim.most, capacity) for claim in claims]
    least = [min(claim.reservation, top) for claim, top in zip(claims, most, strict=True)]
    reserved = math.fsum(least)
    if reserved >= capacity:
        nothing = [0.0] * len(claims)
        scaled = _fill(capacity, nothing, least, [claim.reservation for claim in claims])
        return _within(scaled, nothing, most)
    shares = [claim.shares for claim in claims]
    match mode:
        case ReservationMode.FLOOR:
            amounts = _fill(capacity, least, most, shares)
        case ReservationMode.ADDITIVE:
            room = [top - low for top, low in zip(most, least, strict=True)]
            extra = _fill(capacity - reserved, [0.0] * len(claims), room, shares)
            amounts = [low + more for low, more in zip(least, extra, strict=True)]
        case _:
            assert_never(mode)
    return _within(amounts, least, most)


def _fill(
    capacity: float, floors: Sequence[float], caps: Sequence[float], weights: Sequence[float]
) -> list[float]:
    """Amounts clamp(level * weight, floor, cap) whose sum is the capacity.

    If the caps are too low, or the rest has weight 0, each gets all that it can take.
    """
    reach = [
        cap if weight > 0 else floor
        for floor, cap, weight in zip(floors, caps, weights, strict=True)
    ]
    if math.fsum(reach) <= capacity:
        return reach
    largest = max(weights)
    parts = [weight / largest for weight in weights]
    enters = [_level(floor, part) for floor, part in zip(floors, parts, strict=True)]
    leaves = [_level(top, part) for top, part in zip(reach, parts, strict=True)]
    low = _last_level_that_fits(capacity, floors, enters, leaves, parts)
    rising = [enter <= low < leave for enter, leave in zip(enters, leaves, strict=True)]
    fixed = math.fsum(
        top if leave <= low else floor
        for floor, top, leave, is_rising in zip(floors, reach, leaves, rising, strict=True)
        if not is_rising
    )
    width = math.fsum(part for part, is_rising in zip(parts, rising, strict=True) if is_rising)
    level = max(capacity - fixed, 0.0) / width if width else 0.0
    return [
        min(max(level * part, floor), top) if is_rising else (top if leave <= low else floor)
        for floor, top, part, leave, is_rising in zip(
            floors, reach, parts, leaves, rising, strict=True
        )
    ]


def _level(amount: float, part: float) -> float:
    return amount / part if part > 0 else math.inf


def _last_level_that_fits(
    capacity: float,
    floors: Sequence[float],
    enters: Sequence[float],
    leaves: Sequence[float],
    parts: Sequence[float],
) -> float:
    """The highest breakpoint at which the sum of the amounts is within the capacity.

    The sum is linear between breakpoints: it rises by `width` per level.
    """
    turns = [(level, part) for level, part in zip(enters, parts, strict=True) if part > 0]
    turns += [(level, -part) for level, part in zip(leaves, parts, strict=True) if part > 0]
    used, width, low = math.fsum(floors), 0.0, 0.0
    for level, change in sorted(turns):
        used += width * (level - low)
        if used > capacity:
            break
        low, width = level, width + change
    return low


def _within(
    amounts: Sequence[float], least: Sequence[float], most: Sequence[float]
) -> tuple[float, ...]:
    """Rounding must not break a reservation or a limit."""
    return tuple(
        min(max(amount, low), top) for amount, low, top in zip(amounts, least, most, strict=True)
    )
