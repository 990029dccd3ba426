"""Incidents: periods of congestion with their victims, aggressors and evidence.

One slow resource is one incident, however many workloads it affects. A period in which a device
stalled is one too, without aggressors: while no I/O completes, no workload slows another.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from advisor.core.allocation import ReservationMode
from advisor.core.detection.congestion import ALARMS, CongestionState, StatePoint
from advisor.core.detection.nic_signals import NicEvidence, SignalCount, count_signals
from advisor.core.observation import Observation
from advisor.core.standing import UNALLOCATED, Standing, standings

TOLERANCE = 0.05
"""Within this fraction of its entitlement a workload is neither victim nor aggressor."""
EVIDENCE_ROWS = 60
"""Longer incidents keep this many windows, evenly spaced, with the first, worst and last."""


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


def fold_incidents(
    points: Sequence[StatePoint], observations: Sequence[Observation], mode: ReservationMode
) -> list[Incident]:
    """The incidents in the points, in order; only the last may be open.

    The points of an open incident, given again with newer ones, give that incident again.
    """
    at = {observation.at: observation for observation in observations}
    return [stretch.incident(at, mode) for stretch in _stretches(points)]


@dataclass(slots=True, kw_only=True)
class _Stretch:
    """The points of an incident while it is being folded."""

    started_at: datetime
    ended_at: datetime | None = None
    last_congested_at: datetime
    points: list[StatePoint] = field(default_factory=list)

    def incident(
        self, observations: dict[datetime, Observation], mode: ReservationMode
    ) -> Incident:
        congested = [point for point in self.points if point.state is not CongestionState.UNKNOWN]
        peak = max(congested, key=lambda point: -1.0 if point.value is None else point.value)
        seen = [
            observations[point.at]
            for point in congested
            if point.at in observations and point.value is not None
        ]
        victims, aggressors = _parties(standings(one, mode) for one in seen)
        if not victims:
            # No workload gets less than usual, yet I/O may wait longer for the same rate.
            rows = (standings(one, mode, by_usual=False) for one in seen)
            victims, aggressors = _parties(rows)
        return Incident(
            started_at=self.started_at,
            ended_at=self.ended_at,
            peak_value=peak.value,
            threshold=peak.threshold,
            windows=len(congested),
            victims=victims,
            aggressors=aggressors,
            evidence=_evidence(self.points, peak),
            signals=count_signals(point.signals for point in self.points),
            stalled_windows=sum(point.state is CongestionState.STALLED for point in self.points),
        )


def _stretches(points: Sequence[StatePoint]) -> list[_Stretch]:
    stretches: list[_Stretch] = []
    current: _Stretch | None = None
    before: list[StatePoint] = []
    for point in sorted(points, key=lambda one: one.at):
        if current is None:
            before.append(point)
            current = _open(before)
            if current is not None:
                stretches.append(current)
        elif point.state is CongestionState.CLEAR:
            # After a gap, the incident ends with the last congested window.
            current.ended_at = min(point.since, current.last_congested_at)
            current, before = None, [point]
        else:
            current.points.append(point)
            if point.state in ALARMS:
                current.last_congested_at = point.at
    return stretches


def _open(before: Sequence[StatePoint]) -> _Stretch | None:
    """The incident that the newest point opens, with the windows that led to it."""
    newest = before[-1]
    if newest.state not in ALARMS:
        return None
    is_measured = newest.value is not None and newest.threshold is not None
    if newest.state is CongestionState.CONGESTED and not is_measured:
        return None  # A quiet window is no evidence.
    return _Stretch(
        started_at=newest.since,
        last_congested_at=newest.at,
        points=[point for point in before if point.at > newest.since],
    )


@dataclass(slots=True, kw_only=True)
class _Sum:
    """Device time of one workload, with all its allocations, over the windows of an incident."""

    windows: int = 0
    last_window: int = -1
    cost: float = 0.0
    entitlement: float = 0.0
    reservation: float = 0.0
    rate: float = 0.0
    entitled_rate: float = 0.0

    def add(self, standing: Standing, window: int) -> None:
        if window != self.last_window:
            self.windows, self.last_window, self.reservation = self.windows + 1, window, 0.0
        self.cost += standing.cost
        self.entitlement += standing.entitlement
        self.reservation += standing.reservation
        self.rate += standing.cost * standing.rate_per_cost
        self.entitled_rate += standing.entitlement * standing.rate_per_cost


def _parties(
    rows: Iterable[tuple[Standing, ...]],
) -> tuple[tuple[Victim, ...], tuple[Aggressor, ...]]:
    sums: dict[str, _Sum] = {}
    for window, row in enumerate(rows):
        for standing in row:
            sums.setdefault(standing.workload, _Sum()).add(standing, window)
    total = sum(one.cost for one in sums.values())
    short = {
        name: one
        for name, one in sums.items()
        if one.cost < one.entitlement * (1 - TOLERANCE) and name != UNALLOCATED
    }
    above = {
        name: one.cost - one.entitlement
        for name, one in sums.items()
        if one.cost - one.entitlement > TOLERANCE * one.entitlement and one.cost > 0
    }
    victims = [
        Victim(
            workload=name,
            rate=one.rate / one.windows,
            entitlement=one.entitled_rate / one.windows,
            reservation=one.reservation,
            shortfall_ratio=1 - one.cost / one.entitlement,
        )
        for name, one in short.items()
    ]
    # Without a victim there is no aggressor: the resource is simply too small.
    aggressors = [
        Aggressor(
            workload=name,
            rate=sums[name].rate / sums[name].windows,
            entitlement=sums[name].entitled_rate / sums[name].windows,
            part_ratio=sums[name].cost / total,
            excess_ratio=excess / sum(above.values()),
        )
        for name, excess in above.items()
        if victims
    ]
    victims.sort(key=lambda one: (-one.shortfall_ratio, one.workload))
    aggressors.sort(key=lambda one: (-one.part_ratio, one.workload))
    return tuple(victims), tuple(aggressors)


def _evidence(points: Sequence[StatePoint], peak: StatePoint) -> tuple[EvidenceRow, ...]:
    count = len(points)
    if count <= EVIDENCE_ROWS:
        chosen = list(range(count))
    else:
        steps = EVIDENCE_ROWS - 2
        even = {round(step * (count - 1) / steps) for step in range(steps + 1)}
        chosen = sorted(even | {points.index(peak)})
    return tuple(
        EvidenceRow(
            at=points[index].at,
            state=points[index].state,
            value=points[index].value,
            threshold=points[index].threshold,
            load=points[index].load,
            reason=points[index].reason,
            signals=points[index].signals,
        )
        for index in chosen
    )
