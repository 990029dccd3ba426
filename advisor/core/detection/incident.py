"""Incidents: periods of congestion with their victims, aggressors and evidence.

One slow resource is one incident, however many workloads it affects. A period in which a device
stalled is one too, without aggressors: while no I/O completes, no workload slows another.

Incidents are folded window by window: an open one goes on from its sums, and needs none of the
windows that it has already seen.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np

from advisor.core.allocation import ReservationMode
from advisor.core.detection.congestion import ALARMS, CongestionState, StatePoint
from advisor.core.detection.nic_signals import NicEvidence, SignalCount, count_signals
from advisor.core.observation import DatastoreObservation, Observation
from advisor.core.standing import (
    UNALLOCATED,
    StandingColumns,
    standing_columns,
    table_of,
)
from advisor.core.waterfill import Floats

TOLERANCE = 0.05
"""Within this fraction of its entitlement a workload is neither victim nor aggressor."""
EVIDENCE_ROWS = 60
"""Longer incidents keep fewer windows, evenly spaced, with the first, the worst and the last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Victim:
    """A workload that got less than its entitlement and its demand; means over the incident."""

    workload: str
    rate: float
    entitlement: float
    reservation: float
    shortfall_ratio: float


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


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceRow:
    """One window of the incident; `signals` are those of an uplink beyond their thresholds."""

    at: datetime
    state: CongestionState
    value: float | None
    threshold: float | None
    load: float | None
    reason: str
    signals: tuple[NicEvidence, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    """A period of congestion; `ended_at` None means that it is ongoing.

    `peak_value` is None if no I/O completed in any window; `stalled_windows` is the number of such
    windows. `threshold` is the one at the peak, None if unknown. `signals` are counted over all
    windows of an uplink, also those without an evidence row.
    """

    started_at: datetime
    ended_at: datetime | None
    peak_value: float | None
    threshold: float | None
    windows: int
    victims: tuple[Victim, ...]
    aggressors: tuple[Aggressor, ...]
    evidence: tuple[EvidenceRow, ...]
    signals: tuple[SignalCount, ...] = ()
    stalled_windows: int = 0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Parties:
    """Sums over the windows of an incident, each (workloads), in device time or the unit.

    `windows` is the number of windows in which a workload took part; `reservation` is that of its
    allocations in the last of them.
    """

    workloads: tuple[str, ...] = ()
    windows: Floats = field(default_factory=lambda: np.zeros(0))
    cost: Floats = field(default_factory=lambda: np.zeros(0))
    entitlement: Floats = field(default_factory=lambda: np.zeros(0))
    reservation: Floats = field(default_factory=lambda: np.zeros(0))
    rate: Floats = field(default_factory=lambda: np.zeros(0))
    entitled_rate: Floats = field(default_factory=lambda: np.zeros(0))

    def and_then(self, later: "Parties") -> "Parties":
        """The sums over these windows and later ones."""
        names = tuple(dict.fromkeys(self.workloads + later.workloads))
        one, other = _spread(self, names), _spread(later, names)
        return Parties(
            workloads=names,
            reservation=np.where(other["windows"] > 0, other["reservation"], one["reservation"]),
            **{name: one[name] + other[name] for name in SUMS if name != "reservation"},
        )


SUMS = ("windows", "cost", "entitlement", "reservation", "rate", "entitled_rate")


def _spread(sums: Parties, names: tuple[str, ...]) -> dict[str, Floats]:
    """Each column over these workloads, 0 for those without sums."""
    place = {name: at for at, name in enumerate(names)}
    own = [place[name] for name in sums.workloads]
    spread = {}
    for column in SUMS:
        spread[column] = np.zeros(len(names))
        spread[column][own] = getattr(sums, column)
    return spread


def parties_of(found: StandingColumns) -> Parties:
    """The sums over windows; a workload may have several allocations."""
    names = tuple(dict.fromkeys(found.workloads))
    place = {name: at for at, name in enumerate(names)}
    owner = np.array([place[name] for name in found.workloads], dtype=np.int64)
    active = found.active
    took_part = np.zeros((len(active), len(names)), dtype=np.bool_)
    for column, name in enumerate(owner.tolist()):
        took_part[:, name] |= active[:, column]
    some = took_part.any(axis=0)
    last = np.where(some, len(active) - 1 - np.argmax(took_part[::-1], axis=0), 0)
    held = active[last[owner], np.arange(len(owner))] if len(active) else active.any(axis=0)

    def per_workload(values: Floats) -> Floats:
        return np.bincount(owner, weights=values, minlength=len(names)).astype(np.float64)

    def total(columns: Floats) -> Floats:
        return per_workload(np.where(active, columns, 0.0).sum(axis=0))

    return Parties(
        workloads=names,
        windows=took_part.sum(axis=0).astype(np.float64),
        cost=total(found.cost),
        entitlement=total(found.entitlement),
        reservation=per_workload(np.where(held, found.reservation, 0.0)),
        rate=total(found.cost * found.rate_per_cost),
        entitled_rate=total(found.entitlement * found.rate_per_cost),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tally:
    """What an open incident needs to go on.

    `points` windows were seen, the last in alarm at `alarm_at`. Each `stride`-th of them has a row
    of evidence; the places of those windows are `kept`, their values `values`. `parties` and
    `plain` are the sums with the usual rates of workloads, and without.
    """

    points: int
    alarm_at: datetime
    stride: int
    kept: tuple[int, ...]
    values: tuple[float | None, ...]
    parties: Parties
    plain: Parties


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Folded:
    """An incident as far as it was seen, and what it needs to go on.

    Of one that went on, `evidence` has rows of the new windows alone; of the rows before them
    those at the places `stays` are still its evidence. So nobody has to read them to go on.
    """

    incident: Incident
    tally: Tally
    stays: tuple[int, ...] = ()


Sums = Callable[[datetime, Sequence[datetime]], tuple[Parties, Parties]]
"""The parties of windows that end at these times, with usual rates and without.

Usual are the rates from before the given time, at which the incident began.
"""


def fold_incidents(
    points: Sequence[StatePoint], observations: Sequence[Observation], mode: ReservationMode
) -> list[Incident]:
    """The incidents in the points, in order; only the last may be open."""
    return [one.incident for one in fold(points, sums_of(observations, mode))]


def sums_of(observations: Sequence[Observation], mode: ReservationMode) -> Sums:
    """The parties of any of these windows."""
    at = {observation.at: observation for observation in observations}

    def sums(_: datetime, ends: Sequence[datetime]) -> tuple[Parties, Parties]:
        found = (Parties(), Parties())
        for end in ends:
            if end in at:
                one = at[end]
                unit = one.unit if isinstance(one, DatastoreObservation) else None
                table = table_of(one)
                later = (
                    standing_columns(table, mode, unit=unit),
                    standing_columns(table, mode, unit=unit, by_usual=False),
                )
                found = (
                    found[0].and_then(parties_of(later[0])),
                    found[1].and_then(parties_of(later[1])),
                )
        return found

    return sums


def fold(points: Sequence[StatePoint], sums: Sums, open_one: Folded | None = None) -> list[Folded]:
    """The incidents in the points, in order; `open_one` is open before them and comes first.

    Only the last may be open. An incident begins in the points before the one that opens it, so
    without an open incident the windows by which it is recognised are among the points.
    """
    stretches: list[_Stretch] = []
    current: _Stretch | None = None
    if open_one is not None:
        current = _Stretch(began_at=open_one.incident.started_at, before=open_one)
        stretches.append(current)
    waiting: list[StatePoint] = []
    for point in sorted(points, key=lambda one: one.at):
        if current is None:
            waiting.append(point)
            current = _opened(waiting)
            if current is not None:
                stretches.append(current)
        elif point.state is CongestionState.CLEAR:
            # After a gap, the incident ends with the last congested window.
            current.ended_at = min(point.since, current.alarm_at)
            current, waiting = None, [point]
        else:
            current.points.append(point)
    return [stretch.folded(sums) for stretch in stretches]


def _opened(waiting: Sequence[StatePoint]) -> "_Stretch | None":
    """The incident that the newest point opens, with the windows that led to it."""
    newest = waiting[-1]
    if newest.state not in ALARMS:
        return None
    is_measured = newest.value is not None and newest.threshold is not None
    if newest.state is CongestionState.CONGESTED and not is_measured:
        return None  # A quiet window is no evidence.
    return _Stretch(
        began_at=newest.since, points=[point for point in waiting if point.at > newest.since]
    )


@dataclass(slots=True, kw_only=True)
class _Stretch:
    """New points of an incident, and the incident as it was before them."""

    began_at: datetime
    before: Folded | None = None
    points: list[StatePoint] = field(default_factory=list)
    ended_at: datetime | None = None

    @property
    def alarm_at(self) -> datetime:
        """The end of the last window in alarm."""
        alarms = [point.at for point in self.points if point.state in ALARMS]
        if alarms:
            return alarms[-1]
        assert self.before is not None
        return self.before.tally.alarm_at

    def folded(self, sums: Sums) -> Folded:
        before = self.before
        judged = [point for point in self.points if point.state is not CongestionState.UNKNOWN]
        new = sums(self.began_at, [point.at for point in judged if point.value is not None])
        parties, plain = (
            new
            if before is None
            else (
                before.tally.parties.and_then(new[0]),
                before.tally.plain.and_then(new[1]),
            )
        )
        was = None if before is None else before.incident
        evidence = _evidence(None if before is None else before.tally, self.points)
        stalled = sum(point.state is CongestionState.STALLED for point in self.points)
        peak_value, threshold = _peak(was, judged)
        # Perhaps no workload gets less than usual, yet I/O waits longer for the same rate.
        victims, aggressors = _victims_and_aggressors(parties)
        if not victims:
            victims, aggressors = _victims_and_aggressors(plain)
        return Folded(
            incident=Incident(
                started_at=self.began_at,
                ended_at=self.ended_at,
                peak_value=peak_value,
                threshold=threshold,
                windows=len(judged) + (was.windows if was else 0),
                victims=victims,
                aggressors=aggressors,
                evidence=evidence.rows,
                signals=count_signals(
                    (point.signals for point in self.points), was.signals if was else ()
                ),
                stalled_windows=stalled + (was.stalled_windows if was else 0),
            ),
            tally=Tally(
                points=len(self.points) + (before.tally.points if before else 0),
                alarm_at=self.alarm_at,
                stride=evidence.stride,
                kept=evidence.kept,
                values=evidence.values,
                parties=parties,
                plain=plain,
            ),
            stays=evidence.stays,
        )


def _peak(was: Incident | None, judged: Sequence[StatePoint]) -> tuple[float | None, float | None]:
    """The highest value so far, and the threshold at it."""
    values = [(was.peak_value, was.threshold)] if was else []
    values += [(point.value, point.threshold) for point in judged]
    return max(values, key=lambda one: -1.0 if one[0] is None else one[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Evidence:
    """Windows by their places in the incident, in order, with their values.

    `stays` are those of the rows before that are kept, `rows` are new.
    """

    stride: int
    kept: tuple[int, ...]
    values: tuple[float | None, ...]
    stays: tuple[int, ...]
    rows: tuple[EvidenceRow, ...]


def _evidence(before: Tally | None, points: Sequence[StatePoint]) -> _Evidence:
    """Each `stride`-th window, the worst, and the newest; the stride doubles as rows grow many."""
    values: dict[int, float | None] = {}
    count, stride = 0, 1
    if before is not None:
        values = dict(zip(before.kept, before.values, strict=True))
        count, stride = before.points, before.stride
    earlier = list(values)
    values |= {count + place: point.value for place, point in enumerate(points)}
    worst = max(values, key=lambda place: -1.0 if (value := values[place]) is None else value)
    while sum(place % stride == 0 for place in values) > EVIDENCE_ROWS - 2:
        stride *= 2
    newest = max(values)
    kept = [place for place in values if place % stride == 0 or place in (worst, newest)]
    return _Evidence(
        stride=stride,
        kept=tuple(kept),
        values=tuple(values[place] for place in kept),
        stays=tuple(at for at, place in enumerate(earlier) if place in kept),
        rows=tuple(_row(points[place - count]) for place in kept if place >= count),
    )


def _row(point: StatePoint) -> EvidenceRow:
    return EvidenceRow(
        at=point.at,
        state=point.state,
        value=point.value,
        threshold=point.threshold,
        load=point.load,
        reason=point.reason,
        signals=point.signals,
    )


def _victims_and_aggressors(
    sums: Parties,
) -> tuple[tuple[Victim, ...], tuple[Aggressor, ...]]:
    """Who got too little and who took too much; without a victim nobody took too much."""
    excess = sums.cost - sums.entitlement
    named = np.array([name != UNALLOCATED for name in sums.workloads], dtype=np.bool_)
    short = np.flatnonzero((sums.cost < sums.entitlement * (1 - TOLERANCE)) & named)
    if not len(short):
        # The resource is simply too small.
        return (), ()
    above = np.flatnonzero((excess > TOLERANCE * sums.entitlement) & (sums.cost > 0))
    victims = [
        Victim(
            workload=sums.workloads[place],
            rate=float(sums.rate[place] / sums.windows[place]),
            entitlement=float(sums.entitled_rate[place] / sums.windows[place]),
            reservation=float(sums.reservation[place]),
            shortfall_ratio=float(1 - sums.cost[place] / sums.entitlement[place]),
        )
        for place in short.tolist()
    ]
    aggressors = [
        Aggressor(
            workload=sums.workloads[place],
            rate=float(sums.rate[place] / sums.windows[place]),
            entitlement=float(sums.entitled_rate[place] / sums.windows[place]),
            part_ratio=float(sums.cost[place] / sums.cost.sum()),
            excess_ratio=float(excess[place] / excess[above].sum()),
        )
        for place in above.tolist()
    ]
    victims.sort(key=lambda one: (-one.shortfall_ratio, one.workload))
    aggressors.sort(key=lambda one: (-one.part_ratio, one.workload))
    return tuple(victims), tuple(aggressors)
