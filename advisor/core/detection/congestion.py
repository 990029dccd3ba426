"""Decide window by window whether a resource is congested: a fold with hysteresis.

A datastore's window is above the threshold by its latency, an uplink's by its utilisation or by
another signal. A full uplink is not above if all its workloads are known and none waits.

A window above the threshold counts by its severity: how many times the threshold it was. A
resource becomes congested when the last m windows sum up to n, so n slight ones are needed or a
single grave one. It becomes clear when k windows in a row were at or below the threshold times
the exit ratio. Congestion that comes back after a short calm may do so again and again, because
the threshold lies within normal operation: it needs more windows to end.

A device with hardly any load is clear. Missing data is `unknown`; a short gap keeps the state
before it.

A datastore is stalled in every window in which the device of one of its hosts has I/O in flight
and completes none, whatever the threshold: one such window is enough. In later decisions it
counts as a window above the threshold.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum

from advisor.core.canonical import ADDED
from advisor.core.detection.nic_signals import NicEvidence
from advisor.core.detection.reading import Reading
from advisor.core.detection.threshold import Threshold, ThresholdReading
from advisor.core.detection.weighing import HUNG, LOW, Weighed, weigh
from advisor.core.number_checks import check_amount, check_positive
from advisor.core.quantity import format_rate


class CongestionState(StrEnum):
    """Whether a resource is congested; `unknown` means missing data.

    `stalled` is worse than congested: I/O is in flight and none completes.
    """

    CLEAR = "clear"
    CONGESTED = "congested"
    STALLED = "stalled"
    UNKNOWN = "unknown"


ALARMS = (CongestionState.STALLED, CongestionState.CONGESTED)
"""The states that open an incident, the most severe first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectorSettings:
    """How fast the detector reacts; `activity_floor` is in I/Os or bits per second.

    `enter_windows` is the sum of severities that `enter_of` windows must reach. Congestion that
    comes back within `calm_windows` of the last end needs `flap_windows` to leave.
    """

    activity_floor: float
    enter_windows: int = 3
    enter_of: int = 5
    leave_windows: int = 3
    exit_ratio: float = 0.8
    longest_gap_s: float = 120.0
    flap_windows: int = 12
    calm_windows: int = 360

    def __post_init__(self) -> None:
        check_amount("activity_floor", self.activity_floor)
        check_positive("longest_gap_s", self.longest_gap_s)
        if not 1 <= self.enter_windows <= self.enter_of:
            raise ValueError(
                f"enter_windows is {self.enter_windows}; it must be from 1 to {self.enter_of}"
            )
        for name in ("leave_windows", "flap_windows", "calm_windows"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be at least 1")
        if not 0 < self.exit_ratio <= 1:
            raise ValueError(f"exit_ratio is {self.exit_ratio!r}; it must be above 0, at most 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class StatePoint:
    """The state of one window, and since when it holds.

    `since` is before `at` if the state was recognised with a delay: congestion begins with the
    first window above the threshold. `signals` are those of an uplink beyond their thresholds;
    `device_load` is that of `Reading`.
    """

    at: datetime
    state: CongestionState
    since: datetime
    value: float | None
    threshold: float | None
    load: float | None
    reason: str
    signals: tuple[NicEvidence, ...] = ()
    device_load: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecentWindow:
    """When a recent window began, and how many times the threshold it was if it was above it.

    A window above for another reason than its value counts once.
    """

    began_at: datetime
    above: bool
    severity: float = field(default=1.0, metadata=ADDED)

    @property
    def weight(self) -> float:
        """What it adds to the sum."""
        return self.severity if self.above else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectorState:
    """The state from which the fold continues; `verdict` None means no measurement yet.

    `ended_at` is the end of the last congestion.
    """

    last_at: datetime | None = None
    measured_at: datetime | None = None
    verdict: CongestionState | None = None
    verdict_since: datetime | None = None
    unknown_since: datetime | None = None
    recent: tuple[RecentWindow, ...] = ()
    below_since: datetime | None = None
    below_windows: int = 0
    ended_at: datetime | None = field(default=None, metadata=ADDED)


FRESH = DetectorState()


@dataclass(frozen=True, slots=True, kw_only=True)
class Detection:
    """A point per new window, and the state to continue from."""

    points: tuple[StatePoint, ...]
    state: DetectorState


def detect(
    readings: Sequence[Reading],
    *,
    settings: DetectorSettings,
    threshold: Threshold,
    initial: DetectorState = FRESH,
) -> Detection:
    """Fold the readings of windows into state points, sorted by time.

    Windows that are not newer than the last one are ignored, so that the same windows may be given
    again; of two windows that end at the same time the first counts.
    """
    state, points = initial, []
    for reading in sorted(readings, key=lambda one: one.at):
        if state.last_at is not None and reading.at <= state.last_at:
            continue
        point, state = _step(reading, state, settings, threshold)
        points.append(point)
    return Detection(points=tuple(points), state=state)


def _step(
    reading: Reading, state: DetectorState, settings: DetectorSettings, threshold: Threshold
) -> tuple[StatePoint, DetectorState]:
    state = _forget_after_gap(reading, state, settings)
    limit = threshold.at(reading.at)
    signals: tuple[NicEvidence, ...] = ()
    if reading.stall:
        state = _stalled(state, reading, settings)
        reason = reading.stall
    elif _is_quiet(reading, settings):
        state = _measured(state, reading, LOW, settings)
        reason = reading.reason or f"idle: less than {_floor_text(reading, settings)}"
    elif reading.value is None or limit.value is None:
        state = replace(
            state,
            last_at=reading.at,
            unknown_since=state.unknown_since or reading.began_at,
        )
        reason = reading.reason if reading.value is None else limit.reason
    else:
        weighed = weigh(
            reading.value,
            reading.nic,
            limit.value,
            exit_ratio=settings.exit_ratio,
            grave=float(settings.enter_windows),
        )
        signals = weighed.signals
        state = _measured(state, reading, weighed, settings)
        reason = weighed.why or _counted(state, settings)
        reason = reason if reading.nic and reading.nic.unmet else f"{reason}; {limit.reason}"
    return _point(reading, limit, state, reason, signals), state


def _floor_text(reading: Reading, settings: DetectorSettings) -> str:
    return format_rate(settings.activity_floor, "iops" if reading.nic is None else "bits_per_s")


def _forget_after_gap(
    reading: Reading, state: DetectorState, settings: DetectorSettings
) -> DetectorState:
    """After too long a gap, earlier windows no longer count."""
    if state.measured_at is None:
        return state
    gap_s = (reading.began_at - state.measured_at).total_seconds()
    if gap_s <= settings.longest_gap_s:
        return state
    unknown_since = state.unknown_since or state.measured_at
    return DetectorState(
        last_at=state.last_at, unknown_since=unknown_since, ended_at=state.ended_at
    )


def _is_quiet(reading: Reading, settings: DetectorSettings) -> bool:
    """Whether the window cannot be congested: hardly any load, or only our own limit."""
    if reading.own_limit:
        return True
    return reading.load is not None and (
        reading.load == 0 or reading.load < settings.activity_floor
    )


def _measured(
    state: DetectorState, reading: Reading, weighed: Weighed, settings: DetectorSettings
) -> DetectorState:
    below = weighed.below
    window = RecentWindow(
        began_at=reading.began_at, above=weighed.above, severity=weighed.severity
    )
    state = replace(
        state,
        last_at=reading.at,
        measured_at=reading.at,
        unknown_since=None,
        recent=(*state.recent, window)[-settings.enter_of :],
        below_since=(state.below_since or reading.began_at) if below else None,
        below_windows=state.below_windows + 1 if below else 0,
    )
    if state.verdict is CongestionState.STALLED:
        return _after_stall(state, reading, settings)
    if state.verdict is CongestionState.CONGESTED:
        flaps = _flaps(state, reading.window_s, settings)
        needed = settings.flap_windows if flaps else settings.leave_windows
        if state.below_windows < needed:
            return state
        return _clear(state, state.below_since)
    if _weight(state) >= settings.enter_windows:
        since = next(window.began_at for window in state.recent if window.above)
        return replace(state, verdict=CongestionState.CONGESTED, verdict_since=since)
    if state.verdict is None:
        state = replace(state, verdict=CongestionState.CLEAR, verdict_since=reading.began_at)
    return state


def _weight(state: DetectorState) -> float:
    return sum(window.weight for window in state.recent)


def _clear(state: DetectorState, since: datetime | None) -> DetectorState:
    return replace(
        state, verdict=CongestionState.CLEAR, verdict_since=since, ended_at=since, recent=()
    )


def _flaps(state: DetectorState, window_s: float, settings: DetectorSettings) -> bool:
    """Whether the congestion came back within a short time of the last end."""
    if state.ended_at is None or state.verdict_since is None:
        return False
    calm_s = (state.verdict_since - state.ended_at).total_seconds()
    return calm_s < settings.calm_windows * window_s


def _stalled(state: DetectorState, reading: Reading, settings: DetectorSettings) -> DetectorState:
    """A stalled window changes the state at once, without hysteresis."""
    since = state.verdict_since if state.verdict is CongestionState.STALLED else None
    state = _measured(state, reading, HUNG, settings)
    return replace(state, verdict=CongestionState.STALLED, verdict_since=since or reading.began_at)


def _after_stall(
    state: DetectorState, reading: Reading, settings: DetectorSettings
) -> DetectorState:
    """I/O completes again; the stalled windows count as above the threshold."""
    state = replace(state, verdict_since=reading.began_at)
    is_over = state.below_windows and _weight(state) < settings.enter_windows
    if is_over and not _flaps(state, reading.window_s, settings):
        return _clear(state, reading.began_at)
    return replace(state, verdict=CongestionState.CONGESTED)


def _counted(state: DetectorState, settings: DetectorSettings) -> str:
    above = [window.severity for window in state.recent if window.above]
    counted = f"above in {len(above)} of {settings.enter_of} windows"
    if not len(above) < settings.enter_windows <= sum(above):
        return counted
    return f"{counted}, at worst {max(above):.1f} times the threshold"


def _point(
    reading: Reading,
    limit: ThresholdReading,
    state: DetectorState,
    reason: str,
    signals: tuple[NicEvidence, ...],
) -> StatePoint:
    shown = CongestionState.UNKNOWN if state.unknown_since else state.verdict
    since = state.unknown_since or state.verdict_since
    return StatePoint(
        at=reading.at,
        state=shown or CongestionState.UNKNOWN,
        since=since or reading.began_at,
        value=reading.value,
        threshold=limit.value,
        load=reading.load,
        reason=reason,
        signals=signals,
        device_load=reading.device_load,
    )


def after_quiet_windows(
    state: DetectorState, *, until: datetime | None, window_s: float, settings: DetectorSettings
) -> DetectorState:
    """As after every window from the last one to `until`, all without I/O.

    Of a resource that is clear: nothing else in its state changes then.
    """
    if until is None or state.last_at is None or until <= state.last_at:
        return state
    step = timedelta(seconds=window_s)
    count = round((until - state.last_at) / step)
    kept = min(count, settings.enter_of)
    quiet = [
        RecentWindow(began_at=until - step * back, above=False) for back in range(kept, 0, -1)
    ]
    return replace(
        state,
        last_at=until,
        measured_at=until,
        recent=(*state.recent, *quiet)[-settings.enter_of :],
        below_since=state.below_since or state.last_at,
        below_windows=state.below_windows + count,
    )
