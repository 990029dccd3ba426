"""Weights that give each group of a device what it is entitled to right now. Pure.

Iocost divides a device by weights and knows no reservation (block/blk-iocost.c). Weights in the
proportion of the entitlements, which hold the reservations, give it one.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from enforcers.contract import ReservationMode
from enforcers.entitlement import Claim, entitlements

LARGEST_WEIGHT = 10_000
# Below it, whole numbers are too coarse for a proportion.
_FINE_WEIGHT = 50
# More than this nobody can be given at once, beside those who are at work.
_MOST_AT_ONCE = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """A group, what the policy gives it, and what it did in the last period.

    `rate` is in the unit of the capacity; `waits`: it wanted more than iocost let through.
    """

    group: str
    claim: Claim
    rate: float
    waits: bool


def unhindered(group: str, claim: Claim) -> Contender:
    """A group of which nothing is known yet: it may take all that it is entitled to."""
    return Contender(group=group, claim=claim, rate=0.0, waits=True)


def entitled_weights(
    capacity: float, contenders: Sequence[Contender], mode: ReservationMode
) -> dict[str, int]:
    """The weight of each group, from 1 to 10000; equal to the shares where nothing else binds.

    Who waits has the weight of its entitlement. Who does not wait has one by which it gets its
    due at once when it comes back; until then iocost gives what it leaves to the others by
    their weights, so theirs are not touched by it.
    """
    amounts = entitlements(capacity, [_bounded(one) for one in contenders], mode)
    at_work = [one for one in contenders if one.waits or one.rate > 0]
    shares = math.fsum(one.claim.shares for one in at_work)
    total = math.fsum(amounts)
    level = {
        one.group: amount
        if one.waits
        else max(amount, _on_return(one, amount, capacity=capacity, total=total, shares=shares))
        for one, amount in zip(contenders, amounts, strict=True)
    }
    return _as_weights(level, contenders)


def _bounded(one: Contender) -> Claim:
    return one.claim if one.waits else replace(one.claim, demand=one.rate)


def _on_return(
    one: Contender, amount: float, *, capacity: float, total: float, shares: float
) -> float:
    """The part beside the others' with which one gets its due of the whole capacity.

    due / capacity = part / (part + others), solved for the part.
    """
    claim = one.claim
    own = 0.0 if one.rate > 0 else claim.shares
    by_shares = capacity * claim.shares / (shares + own) if shares + own > 0 else 0.0
    due = min(max(claim.reservation, by_shares), claim.most, _MOST_AT_ONCE * capacity)
    return due * (total - amount) / (capacity - due)


def _as_weights(level: dict[str, float], contenders: Sequence[Contender]) -> dict[str, int]:
    """Whole numbers in this proportion, of the size of the shares as far as they are fine."""
    waiting = [one for one in contenders if one.waits] or contenders
    given = math.fsum(level[one.group] for one in waiting)
    if given <= 0:
        return {one.group: 1 for one in contenders}
    size = math.fsum(one.claim.shares for one in waiting) / given
    smallest = min(amount for amount in level.values() if amount > 0) * size
    largest = max(level.values()) * size
    size *= min(max(1.0, _FINE_WEIGHT / smallest), LARGEST_WEIGHT / largest)
    return {group: max(1, round(amount * size)) for group, amount in level.items()}
