"""What kind of demand a workload has, told by what it got while calm and while congested.

    grew   = mean(b) > 1.15 · mean(a)  and  mean(b) > mean(a) + 2 · standard error
    held   = mean(b) < 0.95 · mean(a)
    bursty = coefficient of variation of the calm windows > 0.6

with a the calm windows and b those of the incident; a third of the windows counts as independent.
Who grew and waits, or may wait, wants an unknown amount; but only who grew most, and who grew at
least half as much, may want anything: of the others nobody saw more than they got, and twice of it
is taken for the most. A percentile is never a demand: an on/off source takes its peak for a part
of the time, so its windows are drawn (`forecast.py`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import hypot, inf, sqrt

import numpy as np

from advisor.core.waterfill import Floats

GREW_RATIO = 1.15
GREW_ERRORS = 2.0
INDEPENDENT_PART = 3
"""Neighbouring windows are alike, so so many of them count as one."""
HELD_RATIO = 0.95
BURSTY_VARIATION = 0.6
STEADY_VARIATION = 0.04
"""Whose calm windows vary less goes by a clock, whatever the others do."""
FEWEST_CALM = 4
"""With fewer calm windows nothing is known of what a workload wants."""
MOST_RATIO = 2.0
"""Nobody is taken to want more than so many times of what was seen, but who grew most."""
RIVAL_RATIO = 0.5
"""Who grew by at least this part of the largest growth may want anything as well."""


class DemandKind(StrEnum):
    """What the windows of a workload say of what it wants."""

    IDLE = "idle"
    PACED = "paced"
    BURSTY = "bursty"
    GROWN = "grown"
    GREEDY = "greedy"
    UNKNOWN = "unknown"


OPEN_KINDS = frozenset({DemandKind.GREEDY, DemandKind.UNKNOWN})
"""Kinds of demand of which no window tells the amount."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SeenRates:
    """What a workload got in its calm windows and in those of the incident, in order of time.

    `waits` says whether work of its own waited in most of the incident; None is not known.
    `is_throttled` says that its own limit held it there.
    """

    calm: Floats
    congested: Floats
    waits: bool | None = None
    is_throttled: bool = False

    @property
    def most(self) -> float:
        """The largest rate of any window."""
        return max(float(self.calm.max(initial=0.0)), float(self.congested.max(initial=0.0)))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Demand:
    """What a workload wants: `windows` of like load, drawn from for a kind that is not open.

    An open kind wants at least `least`, at most `most`, which may be infinite. `deferred` is the
    work that was put off in the incident and may come on top, as a rate times windows. `answers`
    says that clients may wait for each answer, and so want less where they wait longer; `parts`
    are the least and the most that they then want of it, where that is known.
    """

    kind: DemandKind
    windows: Floats
    least: float = 0.0
    most: float = inf
    deferred: float = 0.0
    answers: bool = False
    parts: tuple[float, float] | None = None

    @property
    def is_open(self) -> bool:
        return self.kind in OPEN_KINDS

    @property
    def mean(self) -> float | None:
        """The mean of what it wants; None for an open kind."""
        return None if self.is_open else float(self.windows.mean())


def demands_of(workloads: Sequence[SeenRates]) -> list[Demand]:
    """The demand of each workload of one resource, judged beside the growth of the others."""
    found = [_alone(one) for one in workloads]
    growth = [
        _growth(seen) if demand.is_open else 0.0
        for seen, demand in zip(workloads, found, strict=True)
    ]
    largest = max(growth, default=0.0)
    return [
        replace(demand, most=MOST_RATIO * demand.least)
        if demand.kind is DemandKind.GREEDY and grew < RIVAL_RATIO * largest
        else demand
        for demand, grew in zip(found, growth, strict=True)
    ]


def _alone(seen: SeenRates) -> Demand:
    """The demand of a workload, whatever the others do."""
    calm, congested = seen.calm, seen.congested
    if not len(congested) or not congested.any():
        return Demand(kind=DemandKind.IDLE, windows=np.zeros(1))
    if seen.is_throttled:
        # Its own limit says how much it may have; beyond that nothing is known.
        return Demand(kind=DemandKind.GROWN, windows=congested)
    least = float(congested.mean())
    if len(calm) < FEWEST_CALM:
        return Demand(kind=DemandKind.UNKNOWN, windows=np.zeros(0), least=least)
    if _grew(calm, congested):
        if seen.waits is False:
            return Demand(kind=DemandKind.GROWN, windows=congested)
        return Demand(kind=DemandKind.GREEDY, windows=np.zeros(0), least=least)
    is_held = least < HELD_RATIO * float(calm.mean())
    windows = calm if is_held else np.concatenate([calm, congested])
    if _variation(calm) > BURSTY_VARIATION:
        return Demand(kind=DemandKind.BURSTY, windows=windows)
    missed = max(float(calm.mean()) - least, 0.0) * len(congested)
    return Demand(
        kind=DemandKind.PACED,
        windows=windows,
        deferred=missed if is_held and seen.waits is not False else 0.0,
        answers=is_held and _variation(calm) > STEADY_VARIATION,
    )


def _grew(calm: Floats, congested: Floats) -> bool:
    usual, now = float(calm.mean()), float(congested.mean())
    error = hypot(*(float(one.std()) / sqrt(_independent(one)) for one in (calm, congested)))
    return now > GREW_RATIO * usual and now > usual + GREW_ERRORS * error


def _independent(windows: Floats) -> float:
    return max(len(windows) / INDEPENDENT_PART, 1.0)


def _variation(windows: Floats) -> float:
    """The standard deviation over the mean; 0 of what is always 0."""
    mean = float(windows.mean())
    return float(windows.std()) / mean if mean > 0 else 0.0


def _growth(seen: SeenRates) -> float:
    usual = float(seen.calm.mean()) if len(seen.calm) else 0.0
    return max(float(seen.congested.mean()) - usual, 0.0)
