"""The parties of an incident: who got less than its entitlement, and who took more.

They are told from sums over its windows, to which windows are added one by one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from advisor.core.canonical import ADDED
from advisor.core.standing import UNALLOCATED, StandingColumns
from advisor.core.waterfill import Booleans, Floats, Indexes

TOLERANCE = 0.05
"""Within this fraction of its entitlement a workload is neither victim nor aggressor."""
KNOWN_PART = 0.5
"""From this fraction of its windows on, that it was seen to wait tells that it wants more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Victim:
    """A workload that got less than its entitlement and its demand; means over the incident.

    `is_demand_known` says whether something showed that it waited; of others it is only known
    that they got less than in calm. None is of an incident from before that was kept.
    """

    workload: str
    rate: float
    entitlement: float
    reservation: float
    shortfall_ratio: float
    is_demand_known: bool | None = field(default=None, metadata=ADDED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggressor:
    """A workload that took more than its entitlement; means over the incident.

    `part_ratio` is its share of device time (on an uplink of bytes), `excess_ratio` its share of
    everything taken above entitlements.
    """

    workload: str
    rate: float
    entitlement: float
    part_ratio: float
    excess_ratio: float


SUMS = (
    "windows",
    "cost",
    "rate",
    "entitlement",
    "entitled_rate",
    "plain_entitlement",
    "plain_entitled_rate",
    "queued",
    "waited",
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Parties:
    """Sums over the windows of an incident, in device time or the unit.

    `sums` is (`SUMS`, workloads): the windows in which a workload took part, what it got and
    was entitled to in them, by usual rates and (plain) without, and the windows in which its queue
    was seen, or anything else that showed that it waited. `reservation` (workloads) is that of its
    allocations in the last of them, `usual_rate` what it took before the incident, NaN if
    unknown. Windows are added one by one, so sums do not depend on how many come at once.
    """

    workloads: tuple[str, ...] = ()
    sums: Floats = field(default_factory=lambda: np.zeros((len(SUMS), 0)))
    reservation: Floats = field(default_factory=lambda: np.zeros(0))
    usual_rate: Floats = field(default_factory=lambda: np.zeros(0))

    def of(self, name: str) -> Floats:
        """One of the sums. (workloads)"""
        found: Floats = self.sums[SUMS.index(name)]
        return found

    def usual_of(self, workloads: tuple[str, ...]) -> Floats | None:
        """The usual rate of each of these, NaN if unknown; None if one is not among its own."""
        count = len(workloads)
        if self.workloads[:count] == workloads:
            return self.usual_rate[:count]
        places = {name: place for place, name in enumerate(self.workloads)}
        if not places.keys() >= set(workloads):
            return None
        return self.usual_rate[[places[name] for name in workloads]]

    def and_then(self, found: StandingColumns, rows: Sequence[int]) -> "Parties":
        """The sums over these windows and later ones, which are rows of `found`."""
        if not rows:
            return self
        later = _per_workload(found, rows)
        own, later = _side_by_side(self, later)
        took_part = later.sums[:, 0] > 0
        last = len(rows) - 1 - np.argmax(took_part[::-1], axis=0)
        reserved = later.reservation[last, np.arange(len(last))]
        return Parties(
            workloads=own.workloads,
            sums=np.add.accumulate(np.concatenate([own.sums[np.newaxis], later.sums]))[-1],
            reservation=np.where(took_part.any(axis=0), reserved, own.reservation),
            usual_rate=later.usual_rate,
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Windows:
    """`sums` are (windows, `SUMS`, workloads), `reservation` is (windows, workloads)."""

    workloads: tuple[str, ...]
    sums: Floats
    reservation: Floats
    usual_rate: Floats


def _per_workload(found: StandingColumns, rows: Sequence[int]) -> _Windows:
    """What windows say; a workload may have several allocations."""
    active, per_cost = found.active[rows], found.rate_per_cost[rows]
    parts = [active.astype(np.float64)]
    for amount in (found.cost[rows], found.entitlement[rows], found.plain_entitlement[rows]):
        parts += [amount, amount * per_cost]
    parts += [seen[rows].astype(np.float64) for seen in (found.queued, found.waited)]
    sums = np.where(active[:, np.newaxis], np.stack(parts, axis=1), 0.0)
    reservation = np.where(active, found.reservation, 0.0)
    names = tuple(dict.fromkeys(found.workloads))
    usual_rate = found.usual_rate
    if len(names) < len(found.workloads):
        owner = [names.index(name) for name in found.workloads]
        sums, reservation = _added(sums, owner), _added(reservation, owner)
        for name in ("windows", "queued", "waited"):
            place = SUMS.index(name)
            sums[:, place] = np.minimum(sums[:, place], 1.0)
        usual_rate = np.full(len(names), np.nan)
        usual_rate[owner] = found.usual_rate
    return _Windows(workloads=names, sums=sums, reservation=reservation, usual_rate=usual_rate)


def _added(columns: Floats, owner: Sequence[int]) -> Floats:
    """Columns of one owner added up, one after the other."""
    found = np.zeros((*columns.shape[:-1], max(owner) + 1))
    for place, own in enumerate(owner):
        found[..., own] += columns[..., place]
    return found


def _side_by_side(own: Parties, later: _Windows) -> tuple[Parties, _Windows]:
    """Both over the workloads of either."""
    if own.workloads == later.workloads:
        return own, later
    names = tuple(dict.fromkeys(own.workloads + later.workloads))
    places = {name: place for place, name in enumerate(names)}
    first, second = ([places[name] for name in one.workloads] for one in (own, later))

    def spread(columns: Floats, places: Sequence[int]) -> Floats:
        found = np.zeros((*columns.shape[:-1], len(names)))
        found[..., places] = columns
        return found

    usual_rate = spread(own.usual_rate, first)
    usual_rate[second] = later.usual_rate
    return (
        Parties(
            workloads=names,
            sums=spread(own.sums, first),
            reservation=spread(own.reservation, first),
            usual_rate=usual_rate,
        ),
        _Windows(
            workloads=names,
            sums=spread(later.sums, second),
            reservation=spread(later.reservation, second),
            usual_rate=usual_rate,
        ),
    )


def victims_and_aggressors(
    parties: Parties, *, prefix: str = ""
) -> tuple[tuple[Victim, ...], tuple[Aggressor, ...]]:
    """Who got too little and who took too much; without a victim nobody took too much."""
    names, windows, cost = parties.workloads, parties.of("windows"), parties.of("cost")
    entitlement, entitled_rate = (
        parties.of(f"{prefix}{name}") for name in ("entitlement", "entitled_rate")
    )
    excess = cost - entitlement
    named = np.array([name != UNALLOCATED for name in names], dtype=np.bool_)
    is_short = (cost < entitlement * (1 - TOLERANCE)) & named
    short = np.flatnonzero(is_short if prefix else is_short & ~_has_its_usual(parties))
    if not len(short):
        # The resource is simply too small.
        return (), ()
    above = np.flatnonzero(excess > TOLERANCE * entitlement)
    rates = (windows, parties.of("rate"), entitled_rate)
    missing = 1 - cost[short] / entitlement[short]
    waited = parties.of("waited")[short] >= KNOWN_PART * windows[short]
    victims = [
        Victim(
            workload=names[place],
            rate=rate,
            entitlement=entitled,
            reservation=reserved,
            shortfall_ratio=shortfall_ratio,
            is_demand_known=is_known,
        )
        for place, rate, entitled, reserved, shortfall_ratio, is_known in _means(
            short, *rates, parties.reservation[short], missing, waited
        )
    ]
    parts, excesses = cost[above] / cost.sum(), excess[above] / excess[above].sum()
    aggressors = [
        Aggressor(
            workload=names[place],
            rate=rate,
            entitlement=entitled,
            part_ratio=part_ratio,
            excess_ratio=excess_ratio,
        )
        for place, rate, entitled, part_ratio, excess_ratio in _means(
            above, *rates, parts, excesses
        )
    ]
    victims.sort(key=lambda one: (-one.shortfall_ratio, one.workload))
    aggressors.sort(key=lambda one: (-one.part_ratio, one.workload))
    return tuple(victims), tuple(aggressors)


def _has_its_usual(parties: Parties) -> Booleans:
    """Who got what they take while all is calm, so that nothing says that they want more.

    More is known to be wanted where a queue was measured. Who grew beyond the usual rate and is
    still below its reservation is taken to want that.
    """
    rate = parties.of("rate") / np.maximum(parties.of("windows"), 1.0)
    has_grown = rate > parties.usual_rate * (1 + TOLERANCE)
    lacks_promised = has_grown & (rate < parties.reservation * (1 - TOLERANCE))
    is_usual = rate >= parties.usual_rate * (1 - TOLERANCE)
    found: Booleans = is_usual & (parties.of("queued") == 0) & ~lacks_promised
    return found


def _means(
    places: Indexes,
    windows: Floats,
    rate: Floats,
    entitled_rate: Floats,
    *others: Floats | Booleans,
) -> Iterator[tuple[Any, ...]]:
    """Each of these places with its mean rates over windows, and what `others` have of it."""
    own = windows[places]
    columns = (places, rate[places] / own, entitled_rate[places] / own, *others)
    return zip(*(column.tolist() for column in columns), strict=True)
