"""Above which value a window counts as congested: stated, usual for the hour, or near the peak.

A threshold that cannot be had is None with the reason; a caller may give a fixed value to stand
in for it, and the reason says so.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from math import ceil

import numpy as np

from advisor.core.device.device_fit import FitRefused, LoadPoint, fit_device
from advisor.core.number_checks import check_amount, check_aware, check_positive

HOURS_A_DAY = 24
HOURS_A_WEEK = 168
ENOUGH_WEEKS = 3
"""So many weeks must have filled an hour of the week before it has a normal of its own."""
ENOUGH_DAYS = 3
"""So many days must have filled an hour of the day, or the whole history."""
TAIL_SAMPLES = 5
"""A percentile needs so many samples beyond it."""


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
    """The same value at all times: milliseconds of a datastore, part of an uplink's capacity."""

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
class BaselineThreshold:
    """A percentile of what is usual at that hour of the week, in UTC.

    An hour that too few weeks have filled uses the hour of the day, then the whole history.
    """

    percentile: float
    by_hour_of_week: tuple[float | None, ...]
    by_hour_of_day: tuple[float | None, ...]
    overall: float

    def at(self, at: datetime) -> ThresholdReading:
        """The usual value at this time, and which part of the history says so."""
        check_aware("at", at)
        moment = at.astimezone(UTC)
        name = f"p{self.percentile:g} of"
        weekly = self.by_hour_of_week[moment.weekday() * HOURS_A_DAY + moment.hour]
        if weekly is not None:
            return ThresholdReading(value=weekly, reason=f"{name} the same hour of the week")
        daily = self.by_hour_of_day[moment.hour]
        if daily is not None:
            return ThresholdReading(value=daily, reason=f"{name} the same hour of the day")
        return ThresholdReading(value=self.overall, reason=f"{name} the whole history")


Threshold = FixedThreshold | BaselineThreshold | NoThreshold


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryPoint:
    """The value of one past window: normalised latency in ms, or part of capacity used."""

    at: datetime
    value: float

    def __post_init__(self) -> None:
        check_aware("at", self.at)
        check_amount("value", self.value)


def baseline_threshold(
    history: Sequence[HistoryPoint], *, percentile: float = 95.0, fallback: float | None = None
) -> Threshold:
    """What is usual hour by hour, or the fallback, or none, if the history is too thin.

    Needs three days; an hour of the week needs three weeks and enough samples for its percentile.
    """
    if not 0 < percentile < 100:
        raise ValueError(f"percentile is {percentile!r}; it must be above 0 and below 100")
    seconds = np.array([point.at.timestamp() for point in history])
    values = np.array([point.value for point in history])
    hours = (seconds // 3600).astype(np.int64)
    days = len(np.unique(hours // HOURS_A_DAY))
    need = ceil(TAIL_SAMPLES / (1 - percentile / 100))
    overall = _percentile(values, hours // HOURS_A_DAY, percentile, ENOUGH_DAYS)
    if overall is None or overall == 0:
        reason = (
            f"a baseline needs {ENOUGH_DAYS} days and {need} samples above 0; "
            f"there are {days} days and {np.count_nonzero(values)} samples"
        )
        return _instead(fallback, reason)
    # The epoch began on a Thursday, three days after a Monday.
    hour_of_week = (hours + 3 * HOURS_A_DAY) % HOURS_A_WEEK
    weeks = (hours + 3 * HOURS_A_DAY) // HOURS_A_WEEK
    return BaselineThreshold(
        percentile=percentile,
        by_hour_of_week=tuple(
            _percentile(values[mine], weeks[mine], percentile, ENOUGH_WEEKS)
            for mine in (hour_of_week == hour for hour in range(HOURS_A_WEEK))
        ),
        by_hour_of_day=tuple(
            _percentile(values[mine], hours[mine] // HOURS_A_DAY, percentile, ENOUGH_DAYS)
            for mine in (hours % HOURS_A_DAY == hour for hour in range(HOURS_A_DAY))
        ),
        overall=overall,
    )


def _percentile(
    values: np.ndarray[tuple[int], np.dtype[np.float64]],
    periods: np.ndarray[tuple[int], np.dtype[np.int64]],
    percentile: float,
    enough_periods: int,
) -> float | None:
    need = ceil(TAIL_SAMPLES / (1 - percentile / 100))
    if len(values) < need or len(np.unique(periods)) < enough_periods:
        return None
    usual = float(np.percentile(values, percentile))
    return usual if usual > 0 else None


def peak_throughput_threshold(
    points: Sequence[LoadPoint], *, part: float = 0.9, fallback: float | None = None
) -> Threshold:
    """The latency at which a datastore gives this part of its peak throughput.

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
