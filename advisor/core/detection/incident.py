"""Incidents: periods of congestion with their victims, aggressors and evidence.

One slow resource is one incident, however many workloads it affects. A period in which a device
stalled is one too, without aggressors: while no I/O completes, no workload slows another.

Incidents are folded window by window: an open one goes on from its sums, and needs none of the
windows that it has already seen.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import groupby

from advisor.core.allocation import ReservationMode
from advisor.core.detection.congestion import ALARMS, CongestionState, StatePoint
from advisor.core.detection.nic_signals import NicEvidence, SignalCount, count_signals
from advisor.core.detection.parties import (
    Aggressor,
    Parties,
    Victim,
    victims_and_aggressors,
)
from advisor.core.observation import Observation
from advisor.core.standing import StandingColumns, standing_columns, table_of

EVIDENCE_ROWS = 60
"""Longer incidents keep fewer windows, evenly spaced, with the first, the worst and the last."""
SHOWN_EVERY = timedelta(minutes=1)
"""What is shown of an open incident is renewed so often, counted from its beginning."""


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
class Tally:
    """All that is known of an incident so far, but for the rows of its evidence.

    `points` windows were seen, the last at `last_at`, the last in alarm at `alarm_at`; `windows`
    of them were judged. Each `stride`-th of them has a row of evidence: the places of those
    windows are `kept`, their values `values`.
    """

    began_at: datetime
    points: int
    last_at: datetime
    alarm_at: datetime
    windows: int
    stalled_windows: int
    peak_value: float | None
    threshold: float | None
    signals: tuple[SignalCount, ...]
    stride: int
    kept: tuple[int, ...]
    values: tuple[float | None, ...]
    parties: Parties


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Grown:
    """An incident with new windows: what is known of it, and what is shown of it.

    `shown` is what was known at the last of these windows at which what is shown is renewed, None
    if at none of them. `rows` has rows of evidence of new windows by their places: all that either
    keeps.
    """

    tally: Tally
    shown: Tally | None
    rows: Mapping[int, EvidenceRow]
    ended_at: datetime | None


Standings = Mapping[datetime, tuple[StandingColumns, int]]
"""By the end of a window what allocations got in it: a row of columns."""


def fold_incidents(
    points: Sequence[StatePoint], observations: Sequence[Observation], mode: ReservationMode
) -> list[Incident]:
    """The incidents in the points, in order; only the last may be open."""
    found = standing_columns([table_of(observation, mode) for observation in observations])
    by_end = {
        observation.at: (columns, 0)
        for observation, columns in zip(observations, found, strict=True)
    }
    grown = [stretch.grown(by_end) for stretch in stretches(points)]
    return [
        incident_of(one.tally, [one.rows[place] for place in one.tally.kept], one.ended_at)
        for one in grown
    ]


def stretches(points: Sequence[StatePoint], before: Tally | None = None) -> "list[Stretch]":
    """The incidents in the points, in order; `before` is open before them and comes first.

    Only the last may be open. An incident begins in the points before the one that opens it, so
    without an open incident the windows by which it is recognised are among the points.
    """
    found: list[Stretch] = []
    current: Stretch | None = None
    if before is not None:
        current = Stretch(began_at=before.began_at, before=before)
        found.append(current)
    waiting: list[StatePoint] = []
    for point in sorted(points, key=lambda one: one.at):
        if current is None:
            waiting.append(point)
            current = _opened(waiting)
            if current is not None:
                found.append(current)
        elif point.state is CongestionState.CLEAR:
            # After a gap, the incident ends with the last congested window.
            current.ended_at = min(point.since, current.alarm_at)
            current, waiting = None, [point]
        else:
            current.points.append(point)
    return found


def _opened(waiting: Sequence[StatePoint]) -> "Stretch | None":
    """The incident that the newest point opens, with the windows that led to it."""
    newest = waiting[-1]
    if newest.state not in ALARMS:
        return None
    is_measured = newest.value is not None and newest.threshold is not None
    if newest.state is CongestionState.CONGESTED and not is_measured:
        return None  # A quiet window is no evidence.
    points = [point for point in waiting if point.at > newest.since]
    return Stretch(began_at=newest.since, points=points, opening=len(points))


@dataclass(slots=True, kw_only=True)
class Stretch:
    """New points of an incident, and what was known of it before them.

    The first `opening` of them opened it, 0 if it was open before.
    """

    began_at: datetime
    before: Tally | None = None
    points: list[StatePoint] = field(default_factory=list)
    opening: int = 0
    ended_at: datetime | None = None

    @property
    def alarm_at(self) -> datetime:
        """The end of the last window in alarm."""
        return _alarm_at(self.before, self.points)

    @property
    def ends(self) -> list[datetime]:
        """The ends of the windows whose parties count."""
        return [point.at for point in self.points if _counts(point)]

    def grown(self, standings: Standings, *, at_once: bool = False) -> Grown:
        """The incident with these windows; those without standings have no parties.

        With `at_once` all of it is shown.
        """
        is_all = at_once or self.ended_at is not None
        count = len(self.points) if is_all else self._renewed()
        first = 0 if self.before is None else self.before.points
        shown, tally = None, self.before
        if count or is_all:
            shown = tally = self._with(tally, self.points[:count], standings)
        if count < len(self.points):
            tally = self._with(tally, self.points[count:], standings)
        assert tally is not None
        kept = {*tally.kept, *(() if shown is None else shown.kept)}
        rows = {place: _row(self.points[place - first]) for place in kept if place >= first}
        return Grown(tally=tally, shown=shown, rows=rows, ended_at=self.ended_at)

    def _renewed(self) -> int:
        """How many points there are up to the last at which what is shown is renewed.

        These are the one that opens the incident, the first of each minute, one above all before,
        and the first stall. They depend on the windows alone, not on when these came.
        """
        found, before = self.opening, self.before
        minute = -1 if before is None else (before.last_at - self.began_at) // SHOWN_EVERY
        worst = -1.0 if before is None or before.peak_value is None else before.peak_value
        is_stalled = before is not None and before.stalled_windows > 0
        for count, point in enumerate(self.points, start=1):
            stalls = point.state is CongestionState.STALLED
            value = point.value if _counts(point) and point.value is not None else -1.0
            own_minute = (point.at - self.began_at) // SHOWN_EVERY
            if own_minute > minute or value > worst or (stalls and not is_stalled):
                found = max(found, count)
            minute, worst = own_minute, max(worst, value)
            is_stalled = is_stalled or stalls
        return found

    def _with(
        self, before: Tally | None, points: Sequence[StatePoint], standings: Standings
    ) -> Tally:
        """What is known after these points."""
        if before is not None and not points:
            return before
        judged = [point for point in points if _is_judged(point)]
        parties = Parties() if before is None else before.parties
        seen = [
            standings[at]
            for at in (point.at for point in points if _counts(point))
            if at in standings
        ]
        for _, windows in groupby(seen, key=lambda one: id(one[0])):
            group = list(windows)
            parties = parties.and_then(group[0][0], [row for _, row in group])
        peak_value, threshold = _peak(before, judged)
        stalled = sum(point.state is CongestionState.STALLED for point in points)
        evidence = _evidence(before, points)
        return Tally(
            began_at=self.began_at,
            points=len(points) + (before.points if before else 0),
            last_at=points[-1].at,
            alarm_at=_alarm_at(before, points),
            windows=len(judged) + (before.windows if before else 0),
            stalled_windows=stalled + (before.stalled_windows if before else 0),
            peak_value=peak_value,
            threshold=threshold,
            signals=count_signals(
                (point.signals for point in points), before.signals if before else ()
            ),
            stride=evidence.stride,
            kept=evidence.kept,
            values=evidence.values,
            parties=parties,
        )


def _is_judged(point: StatePoint) -> bool:
    return point.state is not CongestionState.UNKNOWN


def _counts(point: StatePoint) -> bool:
    """Whether the window says something about parties."""
    return _is_judged(point) and point.value is not None


def _alarm_at(before: Tally | None, points: Sequence[StatePoint]) -> datetime:
    """The end of the last window in alarm."""
    alarms = [point.at for point in points if point.state in ALARMS]
    if alarms:
        return alarms[-1]
    assert before is not None
    return before.alarm_at


def _peak(before: Tally | None, judged: Sequence[StatePoint]) -> tuple[float | None, float | None]:
    """The highest value so far, and the threshold at it."""
    values = [(before.peak_value, before.threshold)] if before else []
    values += [(point.value, point.threshold) for point in judged]
    return max(values, key=lambda one: -1.0 if one[0] is None else one[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Evidence:
    """Windows by their places in the incident, in order, with their values."""

    stride: int
    kept: tuple[int, ...]
    values: tuple[float | None, ...]


def _evidence(before: Tally | None, points: Sequence[StatePoint]) -> _Evidence:
    """Each `stride`-th window, the worst, and the newest; the stride doubles as rows grow many."""
    values: dict[int, float | None] = {}
    count, stride = 0, 1
    if before is not None:
        values = dict(zip(before.kept, before.values, strict=True))
        count, stride = before.points, before.stride
    values |= {count + place: point.value for place, point in enumerate(points)}
    worst = max(values, key=lambda place: -1.0 if (value := values[place]) is None else value)
    while sum(place % stride == 0 for place in values) > EVIDENCE_ROWS - 2:
        stride *= 2
    newest = max(values)
    kept = [place for place in values if place % stride == 0 or place in (worst, newest)]
    return _Evidence(
        stride=stride, kept=tuple(kept), values=tuple(values[place] for place in kept)
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


def incident_of(
    tally: Tally, evidence: Sequence[EvidenceRow], ended_at: datetime | None
) -> Incident:
    """What is known of an incident as people see it; `evidence` has the rows of those kept."""
    victims, aggressors = parties_of(tally)
    return Incident(
        started_at=tally.began_at,
        ended_at=ended_at,
        peak_value=tally.peak_value,
        threshold=tally.threshold,
        windows=tally.windows,
        victims=victims,
        aggressors=aggressors,
        evidence=tuple(evidence),
        signals=tally.signals,
        stalled_windows=tally.stalled_windows,
    )


def parties_of(tally: Tally) -> tuple[tuple[Victim, ...], tuple[Aggressor, ...]]:
    """The victims and aggressors of an incident as people see them."""
    found = victims_and_aggressors(tally.parties)
    # Perhaps no workload gets less than usual, yet I/O waits longer for the same rate.
    return found if found[0] else victims_and_aggressors(tally.parties, prefix="plain_")
