"""The day on which demand reaches what there is, drawn from its daily peaks.

A day's peak is taken as a level that moves slowly, an effect of its weekday, and what is left.
The level begins at the median of the last week and goes on by the slope of Theil and Sen, as far
as that is clear. How far it strays is drawn from how its weeks differed from each other, and what
is left from what was left. All is done on a logarithm: large demands vary more than small ones.
`python -m bench.full_day` chooses the constants and measures how often its bounds hold.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

WEEK = 7
ENOUGH_DAYS = 28
"""Four weeks: fewer say nothing of how a level strays over a week."""
LONGEST_PAST_DAYS = 120
HORIZON_DAYS = 90
SHOWN_DAYS = (7, 14, 30)
FULL_RATIO = 0.95
"""What is measured seldom comes quite up to a limit: from here on it counts as reached."""
LOW, HIGH = 0.1, 0.9
"""80 % of outcomes are to lie between."""
DRAWS = 400
LEAST_RATIO = 1e-3
"""Of the largest peak: less than that is as nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """What `python -m bench.full_day --choose` chooses among.

    The larger `doubt`, the less is believed of a slope that chance may have made. `strays` and
    `noise` widen how far the level and single days stray. `offset_ratio` of the median is added
    before the logarithm, so that calm days count less.
    """

    doubt: float = 4.0
    strays: float = 1.0
    noise: float = 1.15
    offset_ratio: float = 0.5


TUNING = Tuning()


@dataclass(frozen=True, slots=True, kw_only=True)
class DemandAhead:
    """The peak so many days ahead: 80 % of outcomes lie between `low` and `high`."""

    days: int
    low: float
    median: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FullDay:
    """In how many days a peak first reaches what there is; 80 % of outcomes lie between
    `soonest_days` and `latest_days`.

    None is not within `HORIZON_DAYS`. `reached_days_ago` is how long ago one last did; None if
    none did. `ahead` is the demand to come.
    """

    soonest_days: int | None
    median_days: int | None
    latest_days: int | None
    reached_days_ago: int | None
    ahead: tuple[DemandAhead, ...]


def full_day(peaks: Sequence[float | None], *, full: float, random: Random) -> FullDay | str:
    """When a daily peak first reaches `full`, or why that is not known.

    `peaks` has one for each day in order, None is unknown.
    """
    peaks = peaks[-LONGEST_PAST_DAYS:]
    known = sum(one is not None for one in peaks)
    if known < ENOUGH_DAYS:
        return f"not enough history: {known} of {ENOUGH_DAYS} days are known"
    drawn = draw_peaks(peaks, days=HORIZON_DAYS, random=random)
    if drawn is None:
        return "not enough history: too many days between are not known"
    firsts = first_days(drawn, FULL_RATIO * full)
    soonest, median, latest = (quantile_day(firsts, one) for one in (LOW, 0.5, HIGH))
    reached = [
        ago
        for ago, one in enumerate(reversed(peaks))
        if one is not None and one >= FULL_RATIO * full
    ]
    return FullDay(
        soonest_days=soonest,
        median_days=median,
        latest_days=latest,
        reached_days_ago=reached[0] if reached else None,
        ahead=tuple(_ahead(drawn, days) for days in SHOWN_DAYS),
    )


def first_days(drawn: Floats, full: float) -> Floats:
    """In how many days each draw first reaches `full`, (draws); infinite if it does not."""
    reaches = drawn >= full
    return np.where(reaches.any(axis=1), reaches.argmax(axis=1) + 1.0, np.inf)


def quantile_day(firsts: Floats, quantile: float) -> int | None:
    """A day that was drawn, so that the infinite ones count; None is beyond all days."""
    found = float(np.quantile(firsts, quantile, method="higher" if quantile > 0.5 else "lower"))
    return int(found) if np.isfinite(found) else None


def _ahead(drawn: Floats, days: int) -> DemandAhead:
    low, median, high = np.quantile(drawn[:, days - 1], (LOW, 0.5, HIGH)).tolist()
    return DemandAhead(days=days, low=low, median=median, high=high)


def draw_peaks(
    peaks: Sequence[float | None],
    *,
    days: int,
    random: Random,
    tuning: Tuning = TUNING,
    draws: int = DRAWS,
) -> Floats | None:
    """Peaks of the days after the last one, (draws, days), in the unit given.

    `peaks` has one for each day in order, None is unknown. Without two weeks that can be compared
    with the week before there are no draws.
    """
    past = np.array([np.nan if one is None else one for one in peaks[-LONGEST_PAST_DAYS:]])
    largest = float(np.nanmax(past, initial=0.0))
    offset = max(tuning.offset_ratio * float(np.nanmedian(past)), LEAST_RATIO * largest) or 1.0
    logs = np.log(past + offset)
    weekday = _weekday_effects(logs)
    calm = logs - weekday[np.arange(len(logs)) % WEEK]
    level = _levels(calm)
    strayed = _known(level[WEEK:] - level[:-WEEK])
    if len(strayed) < 2 * WEEK:
        return None
    strayed -= np.median(strayed)
    slope = _believed(_slope(calm), strayed, tuning.doubt)
    left = calm - level
    generator = np.random.default_rng(random.getrandbits(64))
    weeks = -(-days // WEEK)
    steps = tuning.strays * generator.choice(strayed, (draws, weeks))
    ends = np.concatenate([np.zeros((draws, 1)), steps.cumsum(axis=1)], axis=1)
    ahead = np.arange(1, days + 1)
    week, part = np.divmod(ahead, WEEK)
    after = np.minimum(week + 1, weeks)
    strays = ends[:, week] + part / WEEK * (ends[:, after] - ends[:, week])
    noise = tuning.noise * generator.choice(_known(left), (draws, days))
    effects = weekday[(len(logs) - 1 + ahead) % WEEK]
    drawn = np.exp(_known(level)[-1] + slope * ahead + strays + noise + effects) - offset
    found: Floats = np.maximum(drawn, 0.0)
    return found


def _slope(values: Floats) -> float:
    """The median slope between any two days (Sen, JASA 1968), a day."""
    places = np.flatnonzero(~np.isnan(values))
    first, second = np.triu_indices(len(places), k=1)
    apart = places[second] - places[first]
    slopes = (values[places[second]] - values[places[first]]) / apart
    return float(np.median(slopes))


def _believed(slope: float, strayed: Floats, doubt: float) -> float:
    """The less of a slope the nearer it is to what weeks that stray give by chance."""
    error = float(strayed.std()) / WEEK / math.sqrt(len(strayed) / WEEK)
    return 0.0 if slope == 0 else slope * max(0.0, 1.0 - doubt * (error / slope) ** 2)


def _weekday_effects(logs: Floats) -> Floats:
    """How far each weekday lies above the days around it, by place in the week; in sum 0."""
    around = _levels(logs, centred=True)
    beyond = logs - around
    found = np.zeros(WEEK)
    for place in range(WEEK):
        own = _known(beyond[place::WEEK])
        # A weekday that was seen seldom is believed less.
        found[place] = np.median(own) * len(own) / (len(own) + 1) if len(own) else 0.0
    centred: Floats = found - found.mean()
    return centred


def _levels(values: Floats, *, centred: bool = False) -> Floats:
    """The median of the week that ends with each day, or that it is the middle of; NaN unknown."""
    behind = WEEK // 2 if centred else WEEK - 1
    padded = np.concatenate([np.full(behind, np.nan), values, np.full(WEEK - 1 - behind, np.nan)])
    weeks = np.lib.stride_tricks.sliding_window_view(padded, WEEK)
    known = np.count_nonzero(~np.isnan(weeks), axis=1)
    found = np.full(len(values), np.nan)
    enough = known > WEEK // 2
    found[enough] = np.nanmedian(weeks[enough], axis=1)
    return found


def _known(values: Floats) -> Floats:
    known: Floats = values[~np.isnan(values)]
    return known
