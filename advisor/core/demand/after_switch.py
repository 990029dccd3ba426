"""What the others get after a workload starts or stops, foretold from the windows before it.

It is the forecast that advice makes of an incident (`kind.py`, `forecast.py`). The windows in
which the workload was on stand for those of the incident, the clear ones in which it was off for
the calm ones; the newest of each count. Where it starts, what it wants is told by an earlier time
in which it was on; where it stops, it wants nothing. If the resource was clear while it was on,
nobody waited, so what each got is what it wanted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from advisor.core.demand.forecast import Divide, Forecast, forecast
from advisor.core.demand.kind import Demand, DemandKind, SeenRates, demands_of
from advisor.core.forecast.natural_switch import OFF_RATIO, ON_RATIO, SIDE
from advisor.core.waterfill import Booleans, Floats

NEWEST = 40
"""So many windows of each kind count, as in advice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotForetold:
    """Why nothing is foretold of a switch."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BeforeSwitch:
    """What was seen of each workload before one of them switched.

    `was_on` (windows) are those that stand for the incident; `is_clear` says that the resource was
    clear in most of them.
    """

    column: int
    starts: bool
    seen: tuple[SeenRates, ...]
    was_on: Booleans
    is_clear: bool


def before_switch(
    rates: Floats, clear: Booleans, *, column: int, starts: bool
) -> BeforeSwitch | NotForetold:
    """What the windows before the switch say; `rates` (windows, workloads) are no others.

    `clear` (windows) says in which of them the resource was found clear.
    """
    own = rates[:, column]
    high = _earlier_high(own) if starts else float(own[-SIDE:].mean())
    if high is None or np.isnan(high):
        return NotForetold(reason="it was not on before, so what it wants is not known")
    if starts and not (own[-SIDE:] <= OFF_RATIO * high).all():
        return NotForetold(reason="it was never on as much before")
    known = ~np.isnan(rates).any(axis=1)
    was_on = _newest(known & (own >= ON_RATIO * high))
    was_off = _newest(known & clear & (own <= OFF_RATIO * high))
    is_clear = bool(clear[was_on].mean() >= 0.5) if was_on.any() else False
    seen = tuple(
        SeenRates(calm=line[was_off], congested=line[was_on], waits=False if is_clear else None)
        for line in rates.T
    )
    return BeforeSwitch(column=column, starts=starts, seen=seen, was_on=was_on, is_clear=is_clear)


def after_switch(before: BeforeSwitch, divide: Divide) -> tuple[Sequence[Demand], Forecast]:
    """What each wants afterwards, and the rates that this leads to."""
    wants = demands_of(before.seen)
    if not before.starts:
        wants[before.column] = Demand(kind=DemandKind.IDLE, windows=np.zeros(1))
    return wants, forecast(wants, divide, horizon=SIDE)


def _earlier_high(own: Floats) -> float | None:
    """The most that it took on the mean over `SIDE` windows; None where it is not known to have
    done anything for so long.
    """
    if len(own) < SIDE:
        return None
    means = np.convolve(own, np.full(SIDE, 1 / SIDE), mode="valid")
    # What is not known spreads over the windows about it, and no further.
    known = np.isnan(own).astype(np.float64)
    whole = np.convolve(known, np.ones(SIDE), mode="valid") == 0
    most = float(means[whole].max(initial=0.0))
    return most if most > 0 else None


def _newest(chosen: Booleans) -> Booleans:
    found: Booleans = np.zeros(len(chosen), dtype=np.bool_)
    found[np.flatnonzero(chosen)[-NEWEST:]] = True
    return found
