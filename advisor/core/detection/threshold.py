"""The value above which a window is congested: fixed, usual for the hour, or near the peak.

An unknown threshold is None with the reason; if a caller gives a fixed value as a fallback, the
reason says so.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from math import ceil, inf

import numpy as np

from advisor.core.detection.alarm_budget import GRAVE, AlarmBudget, BudgetFactor, factor_for
from advisor.core.detection.normal_history import HistoryPoint, Stretch, normal_history
from advisor.core.device.device_fit import FitRefused, LoadPoint, fit_device
from advisor.core.number_checks import check_aware, check_positive
from advisor.core.waterfill import Floats

HOURS_A_DAY = 24
HOURS_A_WEEK = 168
ENOUGH_WEEKS = 3
"""Weeks of history that an hour of the week needs for a baseline of its own."""
ENOUGH_DAYS = 3
"""Days that an hour of the day, or the whole history, needs."""
TAIL_SAMPLES = 5
"""Samples that must lie beyond a percentile."""
SEEN_PART = 0.5
"""A day or week counts if it has this fraction of its windows."""
LEARNT_HOLDS = timedelta(hours=6)
"""A learnt value holds for so long while no newer one is learnt; one is due every hour."""


class ThresholdMode(StrEnum):
    """Where the threshold of a resource comes from."""

    FIXED = "fixed"
    BASELINE = "baseline"
    PEAK_THROUGHPUT = "peak_throughput"


@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdReading:
    """The threshold at one time; None means there is none, and `reason` says why."""

    value: float | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedThreshold:
    """The same value at all times: milliseconds, or a fraction of an uplink's capacity."""

    value: float
    reason: str = "fixed"

    def __post_init__(self) -> None:
        check_positive("threshold", self.value)

    def at(self, at: datetime) -> ThresholdReading:  # noqa: ARG002  # Same call as the others.
        """The value."""
        return ThresholdReading(value=self.value, reason=self.reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class NoThreshold:
    """There is no threshold, for this reason; every window is unknown."""

    reason: str

    def at(self, at: datetime) -> ThresholdReading:  # noqa: ARG002  # Same call as the others.
        """None with the reason."""
        return ThresholdReading(value=None, reason=self.reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class Usual:
    """What is usual in one hour; None has its reason in `gap`."""

    value: float | None
    gap: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineThreshold:
    """A percentile of what is usual at that hour of the week, in UTC.

    An hour with too few weeks uses the hour of the day, then the whole history, and says why.
    `left_out` names the history that is not normal. `budget` is the factor above what is usual;
    it leads no further than `full_at`, above which it is full on any day, or what is usual.
    """

    percentile: float
    by_hour_of_week: tuple[Usual, ...]
    by_hour_of_day: tuple[Usual, ...]
    overall: float
    left_out: str = ""
    budget: BudgetFactor | None = None
    full_at: float | None = None

    def at(self, at: datetime) -> ThresholdReading:
        """The usual value at this time, with the history that it comes from."""
        check_aware("at", at)
        moment = at.astimezone(UTC)
        weekly = self.by_hour_of_week[moment.weekday() * HOURS_A_DAY + moment.hour]
        if weekly.value is not None:
            return self._reading(weekly.value, "the same hour of the week")
        daily = self.by_hour_of_day[moment.hour]
        if daily.value is not None:
            return self._reading(daily.value, f"the same hour of the day ({weekly.gap})")
        return self._reading(self.overall, f"the whole history ({daily.gap})")

    def _reading(self, value: float, source: str) -> ThresholdReading:
        usual = f"p{self.percentile:g} of {source}"
        left_out = f", {self.left_out}" if self.left_out else ""
        if self.budget is None:
            return ThresholdReading(value=value, reason=f"{usual}{left_out}")
        factor = self.budget.value
        reason = f"{factor:.2f} times {usual}, {self.budget.reason}{left_out}"
        if self.full_at is None or factor * value <= self.full_at:
            return ThresholdReading(value=factor * value, reason=reason)
        most = max(self.full_at, value)
        return ThresholdReading(value=most, reason=f"{most:.2g}, where it is full; else {reason}")


@dataclass(frozen=True, slots=True, kw_only=True)
class LearntReading:
    """What was learnt for the windows that end at `since` or later; None has its reason."""

    since: datetime
    value: float | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LearntThreshold:
    """At each time the newest of the `readings`, which are in order of time.

    Where none holds, the fixed `fallback` with the reason.
    """

    readings: tuple[LearntReading, ...]
    fallback: float

    def __post_init__(self) -> None:
        check_positive("threshold", self.fallback)

    def at(self, at: datetime) -> ThresholdReading:
        """The value as of that time: what is learnt later does not change it."""
        place = bisect_right(self.readings, at, key=lambda one: one.since)
        if place == 0:
            return self._fixed("it is not learnt yet")
        newest = self.readings[place - 1]
        if at - newest.since >= LEARNT_HOLDS:
            return self._fixed(f"none was learnt since {newest.since:%Y-%m-%d %H:%M} UTC")
        if newest.value is None:
            return self._fixed(newest.reason)
        return ThresholdReading(value=newest.value, reason=newest.reason)

    def _fixed(self, reason: str) -> ThresholdReading:
        return ThresholdReading(value=self.fallback, reason=f"fixed, because {reason}")


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptThreshold:
    """The values by which windows were judged before: `kept` are their ends and values, in order.

    A window that was not judged has that of the one before it, the first ones that of the first.
    """

    kept: tuple[tuple[datetime, float], ...]
    otherwise: "Threshold"

    def __post_init__(self) -> None:
        if not self.kept:
            raise ValueError("no window was judged before")

    def at(self, at: datetime) -> ThresholdReading:
        """The value by which the window that ends then was judged."""
        place = max(bisect_right(self.kept, at, key=lambda one: one[0]) - 1, 0)
        found, value = self.otherwise.at(at), self.kept[place][1]
        if value == found.value:
            return found
        return ThresholdReading(value=value, reason="the threshold of that time")


Threshold = FixedThreshold | BaselineThreshold | LearntThreshold | NoThreshold | KeptThreshold


def baseline_threshold(
    history: Sequence[HistoryPoint],
    *,
    congested: Sequence[Stretch] = (),
    percentile: float = 95.0,
    budget: AlarmBudget | None = None,
    full_at: float | None = None,
    fallback: float | None = None,
) -> Threshold:
    """The usual value of each hour; with too little normal history the fallback, or none.

    With a budget of false alarms it is so far above the usual value that calm days raise no more:
    up to `full_at`, or else three times the usual value.
    Congestion, and everything before the newest lasting change of level, is not normal. It needs
    three days; an hour of the week needs three weeks and enough samples for its percentile.
    """
    if not 0 < percentile < 100:
        raise ValueError(f"percentile is {percentile!r}; it must be above 0 and below 100")
    normal = normal_history(history, congested)
    values = np.array([point.value for point in normal.points])
    seconds = np.array([point.at.timestamp() for point in normal.points])
    hours = (seconds // 3600).astype(np.int64)
    days = hours // HOURS_A_DAY
    overall = _usual(values, days, percentile, ENOUGH_DAYS, "days")
    if overall.value is None:
        left_out = f" {normal.left_out}" if normal.left_out else ""
        reason = f"a baseline needs more normal history: {overall.gap}{left_out}"
        return _instead(fallback, reason)
    # The epoch began on a Thursday, three days after a Monday.
    hour_of_week = (hours + 3 * HOURS_A_DAY) % HOURS_A_WEEK
    weeks = (hours + 3 * HOURS_A_DAY) // HOURS_A_WEEK
    found = BaselineThreshold(
        percentile=percentile,
        by_hour_of_week=tuple(
            _usual(values[mine], weeks[mine], percentile, ENOUGH_WEEKS, "weeks")
            for mine in (hour_of_week == hour for hour in range(HOURS_A_WEEK))
        ),
        by_hour_of_day=tuple(
            _usual(values[mine], days[mine], percentile, ENOUGH_DAYS, "days")
            for mine in (hours % HOURS_A_DAY == hour for hour in range(HOURS_A_DAY))
        ),
        overall=overall.value,
        left_out=normal.left_out,
        full_at=full_at,
    )
    if budget is None:
        return found
    return replace(found, budget=_factor(found, normal.recent, budget))


def _factor(
    baseline: BaselineThreshold, recent: Sequence[HistoryPoint], budget: AlarmBudget
) -> BudgetFactor:
    """By all windows: without those that raised an alarm, the next like them would raise one."""
    seconds = np.array([point.at.timestamp() for point in recent])
    hours = (seconds // 3600).astype(np.int64)
    usual = _usual_values(baseline)[(hours + 3 * HOURS_A_DAY) % HOURS_A_WEEK]
    ratios = np.array([point.value for point in recent]) / usual
    most = GRAVE if baseline.full_at is None else inf
    return factor_for(ratios, seconds, budget=budget, most=most)


def _usual_values(baseline: BaselineThreshold) -> Floats:
    """The usual value of each hour of the week."""
    return np.array(
        [
            _first_known(weekly, baseline.by_hour_of_day[hour % HOURS_A_DAY], baseline.overall)
            for hour, weekly in enumerate(baseline.by_hour_of_week)
        ]
    )


def _first_known(weekly: Usual, daily: Usual, overall: float) -> float:
    if weekly.value is not None:
        return weekly.value
    return overall if daily.value is None else daily.value


def _usual(
    values: np.ndarray[tuple[int], np.dtype[np.float64]],
    periods: np.ndarray[tuple[int], np.dtype[np.int64]],
    percentile: float,
    enough_periods: int,
    word: str,
) -> Usual:
    """The percentile, if enough periods and samples are there and it is above 0."""
    need = ceil(TAIL_SAMPLES / (1 - percentile / 100))
    _, counts = np.unique(periods, return_counts=True)
    if len(counts) < enough_periods:
        gap = f"{len(counts)} of {enough_periods} needed {word}"
        return Usual(value=None, gap=gap)
    if len(values) < need:
        return Usual(value=None, gap=f"{len(values)} of {need} needed windows")
    # A period with only a few windows does not count.
    found = int(np.count_nonzero(counts >= need / enough_periods * SEEN_PART))
    if found < enough_periods:
        gap = f"{found} of {enough_periods} needed {word} have enough windows"
        return Usual(value=None, gap=gap)
    usual = float(np.percentile(values, percentile))
    return Usual(value=usual) if usual > 0 else Usual(value=None, gap="its usual value is 0")


def peak_throughput_threshold(
    points: Sequence[LoadPoint], *, part: float = 0.9, fallback: float | None = None
) -> Threshold:
    """The latency at which a datastore gives this fraction of its peak throughput.

    Comes from the fitted line of latency against outstanding I/O; a poor fit is refused.
    """
    fit = fit_device(points)
    if isinstance(fit, FitRefused):
        return _instead(fallback, fit.reason)
    latency_ms = fit.latency_at_part_of_peak_ms(part)
    if latency_ms is None:
        return _instead(
            fallback, f"the peak seen, {fit.peak_iops:.0f} IOPS, is above what the fit can explain"
        )
    reason = (
        f"latency at {part:.0%} of peak throughput, fitted on {fit.point_count} windows "
        f"(R² {fit.r_squared:.2f})"
    )
    return FixedThreshold(value=latency_ms, reason=reason)


def _instead(fallback: float | None, reason: str) -> Threshold:
    if fallback is None:
        return NoThreshold(reason=reason)
    return FixedThreshold(value=fallback, reason=f"fixed, because {reason}")
