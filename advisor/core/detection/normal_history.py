"""The normal part of a resource's history: not congested, and since its last change of level.

Of a congested period, windows far above the calm windows of that hour of the day are left out.
The rest stays: without it, the learnt threshold would sink from week to week, because noise alone
crosses it now and then.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from statistics import median

from advisor.core.detection.change_point import SPREAD_OF_MAD, newest_level_change
from advisor.core.number_checks import check_amount, check_aware

DAY = timedelta(days=1)
DAYS_A_WEEK = 7
ENOUGH_WEEKS = 3
"""Weeks needed to know the level of a weekday."""
LASTING_DAYS = 3
LASTING_DAYS_OF_FEW_WEEKS = 5
"""Days that a level must last: most of them are working days, so a weekend is no change."""
ENOUGH_A_DAY = 12
"""Windows that a day needs to have a level."""
FAR_SPREADS = 3.0
"""Values this many robust spreads above the median (of logarithms) are not noise."""
LARGEST_LOG = 700.0
"""The exponential of a larger number is not a finite float."""
SMALLEST_SPREAD = 0.1
"""The least spread: windows vary by at least a tenth."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryPoint:
    """The value of one past window: normalised latency in ms, or part of capacity used."""

    at: datetime
    value: float

    def __post_init__(self) -> None:
        check_aware("at", self.at)
        check_amount("value", self.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """A period (began_at, ended_at] in which the resource was congested."""

    began_at: datetime
    ended_at: datetime

    def __post_init__(self) -> None:
        check_aware("began_at", self.began_at)
        check_aware("ended_at", self.ended_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelChange:
    """A change of the daily level at `at`; `before` and `after` are medians."""

    at: datetime
    before: float
    after: float


@dataclass(frozen=True, slots=True, kw_only=True)
class NormalHistory:
    """The normal points, in order of time, and what was left out.

    `recent` are all since the change, of which `congested_windows` are left out as congestion.
    """

    points: tuple[HistoryPoint, ...]
    recent: tuple[HistoryPoint, ...]
    congested_windows: int
    change: LevelChange | None

    @property
    def left_out(self) -> str:
        """What is left out, as the end of a sentence; empty if nothing."""
        parts = []
        if self.congested_windows:
            parts.append(f"without {self.congested_windows} congested windows")
        if self.change is not None:
            parts.append(
                f"since {self.change.at:%Y-%m-%d %H:%M}, when its level went from "
                f"{self.change.before:.3g} to {self.change.after:.3g}"
            )
        return ", ".join(parts)


def normal_history(
    history: Sequence[HistoryPoint], congested: Sequence[Stretch] = ()
) -> NormalHistory:
    """The history since the newest lasting change of level, without congestion.

    The level is computed from all windows: lasting congestion is a change of level. The day of the
    change has both levels, so it is left out.
    """
    points = sorted(history, key=lambda one: one.at)
    change = _level_change(points)
    recent = [one for one in points if change is None or one.at > change.at]
    usual = _usual(recent, congested)
    return NormalHistory(
        points=tuple(usual),
        recent=tuple(recent),
        congested_windows=len(recent) - len(usual),
        change=change,
    )


def _usual(points: Sequence[HistoryPoint], congested: Sequence[Stretch]) -> list[HistoryPoint]:
    """Points outside all congested periods, and those inside that are not far above them."""
    calm = _outside(points, congested)
    if len(calm) == len(points):
        return calm
    hours: dict[int, list[float]] = {}
    for point in calm:
        hours.setdefault(_hour(point), []).append(point.value)
    bounds = {hour: _far_above(values) for hour, values in hours.items()}
    outside = {id(point) for point in calm}
    return [
        point
        for point in points
        if id(point) in outside or point.value <= bounds.get(_hour(point), -1.0)
    ]


def _hour(point: HistoryPoint) -> int:
    return point.at.astimezone(UTC).hour


def _far_above(values: Sequence[float]) -> float:
    """The value above which a window is not noise; -1 if there are too few values.

    Median and MAD of logarithms, because latencies and loads vary by factors.
    """
    logs = [math.log(value) for value in values if value > 0]
    if len(logs) < ENOUGH_A_DAY:
        return -1.0
    middle = median(logs)
    spread = SPREAD_OF_MAD * median(abs(value - middle) for value in logs)
    return math.exp(min(middle + FAR_SPREADS * max(spread, SMALLEST_SPREAD), LARGEST_LOG))


def _outside(points: Sequence[HistoryPoint], congested: Sequence[Stretch]) -> list[HistoryPoint]:
    """Points outside all congested periods, in order of time."""
    ordered = sorted(congested, key=lambda one: one.began_at)
    outside, place, reach = [], 0, None
    for point in points:
        while place < len(ordered) and ordered[place].began_at < point.at:
            ended_at = ordered[place].ended_at
            reach = ended_at if reach is None else max(reach, ended_at)
            place += 1
        if reach is None or point.at > reach:
            outside.append(point)
    return outside


def _level_change(points: Sequence[HistoryPoint]) -> LevelChange | None:
    if not points:
        return None
    until = points[-1].at
    days: dict[int, list[float]] = {}
    for point in points:
        days.setdefault((until - point.at) // DAY, []).append(point.value)
    # Days are counted back from the newest window, so that every day is complete.
    levels = [
        median(days[back]) if len(days.get(back, ())) >= ENOUGH_A_DAY else None
        for back in range(max(days), -1, -1)
    ]
    weeks = len(levels) // DAYS_A_WEEK
    lasting = LASTING_DAYS if weeks >= ENOUGH_WEEKS else LASTING_DAYS_OF_FEW_WEEKS
    place = newest_level_change(_without_weekdays(levels), lasting=lasting)
    if place is None:
        return None
    return LevelChange(
        at=until - (len(levels) - 1 - place) * DAY,
        before=median(_known(levels[:place])[-lasting:]),
        after=median(_known(levels[place:])),
    )


def _without_weekdays(levels: Sequence[float | None]) -> list[float | None]:
    """Daily levels divided by the usual level of the weekday, where that is known."""
    if len(levels) < ENOUGH_WEEKS * DAYS_A_WEEK:
        return list(levels)
    parts: dict[int, list[float]] = {}
    for end in range(len(levels), DAYS_A_WEEK - 1, -DAYS_A_WEEK):
        week = levels[end - DAYS_A_WEEK : end]
        known = _known(week)
        usual = median(known) if known else None
        for weekday, level in enumerate(week):
            if level is not None and usual:
                parts.setdefault(weekday, []).append(level / usual)
    usual_parts = {weekday: median(found) for weekday, found in parts.items()}
    first = len(levels) % DAYS_A_WEEK
    return [
        None
        if level is None
        else level / (usual_parts.get((place - first) % DAYS_A_WEEK, 1.0) or 1.0)
        for place, level in enumerate(levels)
    ]


def _known(levels: Sequence[float | None]) -> list[float]:
    """The levels that are known."""
    return [level for level in levels if level is not None]
