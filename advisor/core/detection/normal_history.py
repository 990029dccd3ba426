"""Which part of a resource's history is normal: neither congested, nor from before it changed.

Of a congested stretch what is far above the calm windows of that hour of the day is left out. The
rest stays: were all of it left out, a threshold learnt from what stayed below the last one would
sink from week to week, because noise alone crosses it now and then.
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
"""From so many weeks on a weekday's own level is told from a change."""
LASTING_DAYS = 3
LASTING_DAYS_OF_FEW_WEEKS = 5
"""Most of so many days in a row are working days: a weekend is no change of level."""
ENOUGH_A_DAY = 12
"""A day with fewer windows has no level."""
FAR_SPREADS = 3.0
"""So many robust spreads above the median, on a scale of ratios, is no noise."""
LARGEST_LOG = 700.0
"""Of a larger number the power is no float."""
SMALLEST_SPREAD = 0.1
"""Windows differ by at least a tenth from each other, on a scale of ratios."""


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
    """A time (began_at, ended_at] in which the resource was congested."""

    began_at: datetime
    ended_at: datetime

    def __post_init__(self) -> None:
        check_aware("began_at", self.began_at)
        check_aware("ended_at", self.ended_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelChange:
    """From `at` on the daily level was about `after`, before it `before`; both are medians."""

    at: datetime
    before: float
    after: float


@dataclass(frozen=True, slots=True, kw_only=True)
class NormalHistory:
    """The points that are normal, in order of time, and why others are not.

    `congested_windows` of those since the change are left out as congestion.
    """

    points: tuple[HistoryPoint, ...]
    congested_windows: int
    change: LevelChange | None

    @property
    def left_out(self) -> str:
        """What is left out, as the end of a sentence; empty if nothing is."""
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

    The level is looked for in all windows: what is congested for good has changed for good. The
    day in which it changed is of both levels, and left out.
    """
    points = sorted(history, key=lambda one: one.at)
    change = _level_change(points)
    recent = [one for one in points if change is None or one.at > change.at]
    usual = _usual(recent, congested)
    return NormalHistory(
        points=tuple(usual), congested_windows=len(recent) - len(usual), change=change
    )


def _usual(points: Sequence[HistoryPoint], congested: Sequence[Stretch]) -> list[HistoryPoint]:
    """Points outside all stretches, and those inside that are not far above them."""
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
    """Above this a value is no noise of these; -1 if they are too few to tell.

    Median and MAD of logarithms, because latencies and loads vary by factors.
    """
    logs = [math.log(value) for value in values if value > 0]
    if len(logs) < ENOUGH_A_DAY:
        return -1.0
    middle = median(logs)
    spread = SPREAD_OF_MAD * median(abs(value - middle) for value in logs)
    return math.exp(min(middle + FAR_SPREADS * max(spread, SMALLEST_SPREAD), LARGEST_LOG))


def _outside(points: Sequence[HistoryPoint], congested: Sequence[Stretch]) -> list[HistoryPoint]:
    """Points in order of time that lie in none of the stretches."""
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
    # Days are counted back from the newest window, so that none of them is begun only.
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
    """Daily levels without what is usual for their day of the week, where that can be told."""
    if len(levels) < ENOUGH_WEEKS * DAYS_A_WEEK:
        return list(levels)
    parts: dict[int, list[float]] = {}
    for end in range(len(levels), DAYS_A_WEEK - 1, -DAYS_A_WEEK):
        week = levels[end - DAYS_A_WEEK : end]
        usual = median(_known(week)) if _known(week) else 0.0
        for weekday, level in enumerate(week):
            if level is not None and usual > 0:
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
    """Those that there are."""
    return [level for level in levels if level is not None]
