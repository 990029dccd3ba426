"""The window law: how many I/Os each host may have outstanding on a congested datastore.

With N I/Os at the datastore and a mean latency Λ, L·N/Λ of them would bring it to the threshold L;
by Little's law that is L times what it completes. All hosts divide these slots alike: a workload
has `slots_per_share` for each of its shares, less if it asks for less and more if its reservation
needs more. What is left over goes to those who want more:

    slots_per_share ← (L·N/Λ - met) / active shares,   window ← window + γ·(slots - window)

so errors of the total and of every share fade by 1-γ in a period, and it rests at L. It is PARDA's
law (FAST'09, equations 2 to 4) with β = (L/Λ)·(share·W - w), which fades once shares are settled;
W are the slots in use. Decision 26 derives it.

The law reads no clock. All functions are pure: a frozen state in, a frozen state out.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from enforcers.exchange import DatastoreLoad

GAIN = 0.8
HEADROOM = 2.0
"""A workload's slots are at most so many times what it asks for."""
STEEPEST_FALL = 4.0
"""Slots per share fall at most to this part of what the latency alone asks for: hosts whose
workloads were content until now may want slots too, and say so a period later."""
HELD_FROM, FREE_BELOW = 1.0, 0.9
"""Latency, as a part of the threshold, from which windows are held and below which they open."""
LOWEST_PRESSURE = 1e-6
"""A latency of 0 is one too short to be measured."""
EPSILON = 1e-9
GOLDEN_RATIO = (math.sqrt(5) - 1) / 2


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowLaw:
    """Threshold (L), gain (γ) and bounds of the law, in I/Os (SIOC: 4 to 256)."""

    threshold_ms: float
    gain: float = GAIN
    lowest: float = 4.0
    highest: float = 256.0

    def __post_init__(self) -> None:
        for name in ("threshold_ms", "gain", "lowest", "highest"):
            _check(name, getattr(self, name), above_zero=True)
        if self.gain > 1:
            raise ValueError(f"gain is {self.gain!r}; it must be at most 1")
        if self.lowest > self.highest:
            raise ValueError(f"lowest is {self.lowest:g}; it must not be above {self.highest:g}")

    def bounded(self, window: float) -> float:
        """The window, limited to the bounds."""
        return min(max(window, self.lowest), self.highest)


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """One workload: its shares and what it asks for, as means over a period.

    `outstanding_io` includes what waits in the host for a slot, but nothing that the workload's
    own limit holds back. Its reservation needs `reserved_io` slots (by Little's law its IOPS times
    the threshold).
    """

    shares: float
    outstanding_io: float
    reserved_io: float = 0.0

    def __post_init__(self) -> None:
        for name in ("shares", "outstanding_io", "reserved_io"):
            _check(name, getattr(self, name))


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowState:
    """A host's window, and the slots for each share; None until the host has wanted any."""

    window: float
    slots_per_share: float | None = None

    def __post_init__(self) -> None:
        _check("window", self.window, above_zero=True)
        if self.slots_per_share is not None:
            _check("slots_per_share", self.slots_per_share)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """Shares of the workloads that want more slots, and the slots that content ones take."""

    active_shares: float
    met_io: float


def claim_of(state: WindowState, demands: Sequence[Demand], *, law: WindowLaw) -> Claim:
    """What a host wants of the datastore, at the slots per share that it has.

    A host at a bound of its window can neither take more nor give more: it counts as content.
    """
    asking = [each for each in demands if each.outstanding_io > 0]
    per_share = state.slots_per_share
    if per_share is None:
        return Claim(active_shares=math.fsum(each.shares for each in asking), met_io=0.0)
    wanting = [each.shares for each in asking if _wants_by_shares(each, per_share)]
    met = math.fsum(
        min(_entitled(each, per_share), each.outstanding_io)
        for each in asking
        if not _wants_by_shares(each, per_share)
    )
    slots = math.fsum(wanting) * per_share + met
    if law.lowest * (1 + EPSILON) < slots <= law.highest:
        return Claim(active_shares=math.fsum(wanting), met_io=met)
    asked = math.fsum(each.outstanding_io for each in asking)
    return Claim(active_shares=0.0, met_io=min(law.bounded(slots), asked))


def next_state(
    state: WindowState, demands: Sequence[Demand], load: DatastoreLoad, *, law: WindowLaw
) -> WindowState:
    """The window of the next period.

    Without any latency nobody did any I/O; the window then stays.
    """
    if load.latency_ms is None:
        return replace(state, window=law.bounded(state.window))
    pressure = max(load.latency_ms / law.threshold_ms, LOWEST_PRESSURE)
    per_share = _next_slots_per_share(
        state.slots_per_share, demands, load, pressure=pressure, law=law
    )
    target = math.fsum(
        min(_entitled(each, per_share or 0.0), HEADROOM * each.outstanding_io) for each in demands
    )
    freedom = min(max((HELD_FROM - pressure) / (HELD_FROM - FREE_BELOW), 0.0), 1.0)
    target += freedom * max(0.0, state.window / pressure - target)
    window = _approach(state.window, target, demands, gain=law.gain)
    return WindowState(window=law.bounded(window), slots_per_share=per_share)


def places(window: float, turn: int) -> int:
    """A whole number of slots for this period whose mean over the periods is the window.

    Rounding would keep 9.4 at 9 for ever. The parts that are added, multiples of the golden ratio,
    are spread evenly over any stretch of turns. Hosts begin at turns of their own, so that not all
    of them have their larger number in the same period.
    """
    _check("window", window)
    return math.floor(window + math.fmod(turn * GOLDEN_RATIO, 1.0))


def _next_slots_per_share(
    per_share: float | None,
    demands: Sequence[Demand],
    load: DatastoreLoad,
    *,
    pressure: float,
    law: WindowLaw,
) -> float | None:
    """None if no workload of this host with shares asks for anything."""
    asking = [each for each in demands if each.outstanding_io > 0 and each.shares > 0]
    if not asking:
        return None
    at_lowest = law.lowest / math.fsum(each.shares for each in asking)
    held = at_lowest if per_share is None else per_share
    if load.total_active_shares > 0:
        left = load.outstanding_io / pressure - load.met_io
        found = max(left / load.total_active_shares, held / pressure / STEEPEST_FALL)
    elif pressure > 1 or any(each.outstanding_io > _entitled(each, held) for each in asking):
        found = held / pressure
    else:
        found = held
    # More than that changes no window, and would have to be taken back first when load rises.
    useful = HEADROOM * max(each.outstanding_io / each.shares for each in asking)
    return max(min(found, useful), at_lowest)


def _approach(window: float, target: float, demands: Sequence[Demand], *, gain: float) -> float:
    """A step towards the target; slots that nobody uses are given up at once."""
    if target < window:
        used = math.fsum(each.outstanding_io for each in demands)
        window = min(window, max(target, used))
    return window + gain * (target - window)


def _entitled(each: Demand, per_share: float) -> float:
    """Slots that a workload may have, whatever it asks for."""
    return max(each.shares * per_share, each.reserved_io)


def _wants_by_shares(each: Demand, per_share: float) -> bool:
    """Whether more slots per share would give it more at once."""
    return each.outstanding_io > each.shares * per_share > each.reserved_io


def _check(name: str, value: float, *, above_zero: bool = False) -> None:
    if not math.isfinite(value) or value < 0 or (above_zero and value == 0):
        least = "above 0" if above_zero else "of at least 0"
        raise ValueError(f"{name} is {value!r}; it must be a finite number {least}")
