"""Drains requests that have piled up in a device, where no weight counts. Pure.

When groups begin at once, the first requests of all of them are in the device before iocost has
counted them. A model that is as high as the device is fast lets in as many as go out, so they
stay. So the model goes down for a moment by what is to be drained.
"""

from dataclasses import dataclass, replace

_USUAL = 4.0
_PILED_RATIO = 2.0
_LEAST_RATIO = 0.9
# What a device still has after so many periods is its way to work.
_IN_VAIN = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Pile:
    """How many requests the device has as usual, and for how many periods it has been drained."""

    usual: float = _USUAL
    drained_periods: int = 0


def next_pile(pile: Pile, *, queue: float) -> Pile:
    """After a period with so many requests in the device in the mean, while groups wait."""
    if queue <= _PILED_RATIO * pile.usual:
        return Pile(usual=max(_USUAL, min(pile.usual, queue)))
    if pile.drained_periods >= _IN_VAIN:
        return Pile(usual=queue)
    return replace(pile, drained_periods=pile.drained_periods + 1)


def model_ratio(pile: Pile, *, queue: float, ios_per_s: float, period_s: float) -> float:
    """The part of the capacity with which what is piled up is gone in a period."""
    if pile.drained_periods == 0 or ios_per_s <= 0:
        return 1.0
    return max(_LEAST_RATIO, 1 - (queue - pile.usual) / (ios_per_s * period_s))
