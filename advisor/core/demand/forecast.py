"""What each workload will get on the mean over the next windows, and between which bounds.

The division of the capacity is exact, the demands are not. So demands are drawn many times from
what was seen, each draw is divided, and the bounds are the 5th and 95th percentile of the rates.
The level of a demand is uncertain twice: the windows seen are a sample of the workload, and so are
the windows to come. Both are drawn in blocks of neighbouring windows, which keeps bursts together
(moving-block bootstrap; Künsch 1989).

    level  = mean of drawn blocks, of as many windows as were seen, over the mean
           + mean of drawn blocks, of as many windows as are to come, over the mean - 1
    bounds = rate -+ 1.35 · (distance to the percentile)

Of who was held back nobody sees what it put off, and whether its clients wait for each answer
(`answering.py`). So up to all that it missed may come on top, and up to the least part of its
demand may be all that it wants; its rate is expected in the middle of the latter.

The draws come from fixed numbers, so the same windows give the same forecast.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import numpy.typing as npt

from advisor.core.demand.answering import parts_wanted
from advisor.core.demand.kind import MOST_RATIO, Demand, DemandKind
from advisor.core.forecast.prediction_interval import Interval
from advisor.core.waterfill import Floats

LEVEL = 0.9
"""Part of the outcomes that should be within the bounds."""
HORIZON = 30
"""Windows to come, over which the mean is forecast."""
DRAWS = 100
BURSTS = 4
"""Windows of each draw that are divided one by one where demands come in bursts."""
BLOCK = 5
"""Neighbouring windows that are drawn together."""
STRETCH = 1.35
"""What all windows seen have in common is in no draw. `make lab` measures how many rates lie
within the bounds by this factor: 89 and 95 of a hundred on uplinks in two calls."""
CONTROL_ERROR = 0.03
"""What a mechanism misses by itself, one standard deviation."""
EXPECTED_RATIO = 1.25
"""What is expected of a bounded demand of unknown amount, beside what the workload got."""
LEAST_LEVEL = 0.05

_SEED = 1989
_HALVES = 12
"""The sum of so many even numbers from 0 to 1 has a variance of 1."""

Indexes = npt.NDArray[np.intp]
Divide = Callable[[Floats, Floats], Floats]
"""Demands (draws, workloads), infinite where unknown, and the parts of the capacity that come
through, (draws), to the rates under a policy."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Forecast:
    """The mean rate of each workload, what it wants, and the bounds, (workloads) each.

    What is wanted is infinite where nothing but the capacity bounds it. The bounds are percentiles
    of `draws` (draws, workloads), or the rate, if all draws are on one side of it.
    """

    rate: Floats
    wanted: Floats
    low: Floats
    high: Floats
    draws: Floats

    def interval(self, place: int) -> Interval:
        """The bounds of one workload."""
        return Interval(low=float(self.low[place]), high=float(self.high[place]), level=LEVEL)


def forecast(
    demands: Sequence[Demand],
    divide: Divide,
    *,
    horizon: int = HORIZON,
    delivered: tuple[float, float] = (1.0, 1.0),
) -> Forecast:
    """The rates that these demands lead to under a policy, over so many windows.

    `delivered` are the least and the most part of the capacity that the mechanism lets through.
    """
    if not demands:
        nobody = np.zeros(0)
        draws = np.zeros((DRAWS, 0))
        return Forecast(rate=nobody, wanted=nobody, low=nobody, high=nobody, draws=draws)
    numbers = _Numbers()
    comes_in_bursts = any(one.kind is DemandKind.BURSTY for one in demands)
    expected = _columns([_expected(one, numbers) for one in demands])
    parts = parts_wanted(
        demands, expected.mean(axis=0), lambda asked: divide(asked, np.ones(len(asked)))
    )
    expected = expected * parts.mean(axis=0)
    least, most = delivered
    rate = divide(expected, np.full(len(expected), (least + most) / 2)).mean(axis=0)
    bursts = BURSTS if comes_in_bursts else 1
    drawn = _columns(list(_all_drawn(demands, horizon, bursts, numbers)))
    if (parts != 1).any():
        drawn *= np.repeat(_answered(parts, numbers), bursts, axis=0)
    let_through = np.full(DRAWS, least)
    if least < most:
        let_through += (most - least) * numbers.even((DRAWS,))
    drawn = np.broadcast_to(drawn, (DRAWS * bursts, len(demands)))
    divided = divide(drawn, np.repeat(let_through, bursts))
    means = divided.reshape(DRAWS, bursts, len(demands)).mean(axis=1)
    means *= 1 + CONTROL_ERROR * numbers.normal(means.shape)
    tail = 50 * (1 - LEVEL)
    low, high = np.percentile(means, [tail, 100 - tail], axis=0)
    return Forecast(
        rate=rate,
        wanted=expected.mean(axis=0),
        low=np.maximum(rate - STRETCH * np.maximum(rate - low, 0.0), 0.0),
        high=rate + STRETCH * np.maximum(high - rate, 0.0),
        draws=np.maximum(rate + STRETCH * (means - rate), 0.0),
    )


def _columns(draws: Sequence[Floats]) -> Floats:
    """One column for each workload; what does not differ from draw to draw is repeated."""
    count = max(len(one) for one in draws)
    return np.stack([np.broadcast_to(one, count) for one in draws], axis=1)


def _expected(demand: Demand, numbers: "_Numbers") -> Floats:
    """What it wants: (1), or (draws) where that differs from window to window."""
    if demand.is_open:
        bounded = np.isfinite(demand.most)
        return np.array([EXPECTED_RATIO * demand.least if bounded else np.inf])
    if demand.kind is DemandKind.BURSTY:
        order = np.argsort(numbers.even((DRAWS,)))
        places = (order + numbers.even((DRAWS,))) * len(demand.windows) / DRAWS
        return np.sort(demand.windows)[places.astype(np.intp)]
    return np.array([demand.windows.mean()])


def _all_drawn(
    demands: Sequence[Demand], horizon: int, bursts: int, numbers: "_Numbers"
) -> Iterator[Floats]:
    """What each may want, (draws · bursts): the bursts of one draw follow each other."""
    for steady, group in groupby(demands, key=_steady_windows):
        if not steady:
            yield from (_drawn(one, horizon, bursts, numbers) for one in group)
            continue
        alike = list(group)
        means = np.array([one.windows for one in alike]).mean(axis=1)
        wants = _levels(alike, horizon, numbers) * means[:, np.newaxis]
        yield from np.repeat(wants, bursts, axis=1)


def _steady_windows(demand: Demand) -> int:
    """How many windows it is drawn from with its neighbours; 0 if it is drawn by itself."""
    alone = demand.is_open or demand.kind is DemandKind.BURSTY or demand.windows.mean() == 0
    return 0 if alone else len(demand.windows)


def _drawn(demand: Demand, horizon: int, bursts: int, numbers: "_Numbers") -> Floats:
    """What it may want by itself, (draws · bursts)."""
    if demand.is_open:
        wants = demand.least * MOST_RATIO ** numbers.even((DRAWS,))
        if not np.isfinite(demand.most):
            wants = np.where(numbers.even((DRAWS,)) < 0.5, np.inf, wants)
        return np.repeat(wants, bursts)
    if demand.windows.mean() == 0:
        level = np.zeros(DRAWS * bursts)
    else:
        level = np.repeat(_levels([demand], horizon, numbers)[0], bursts)
    if demand.kind is DemandKind.BURSTY:
        return level * np.sort(demand.windows)[_spread(len(demand.windows), bursts, numbers)]
    return level


def _spread(count: int, bursts: int, numbers: "_Numbers") -> Indexes:
    """Places of sorted windows, (draws · bursts): those of a draw are from all parts of them.

    A few of many by chance would have a mean of their own, which is no error of the forecast.
    Which of them is the high one is drawn, so that those of two workloads meet by chance.
    """
    begin = numbers.places(bursts, (DRAWS, 1))
    part = (np.arange(bursts) + begin) % bursts
    places = (part + numbers.even((DRAWS, bursts))) * count / bursts
    return places.astype(np.intp).ravel()


def _answered(parts: Floats, numbers: "_Numbers") -> Floats:
    """Which part of its demand each workload wants, (draws, workloads)."""
    middle, half = parts.mean(axis=0), (parts[1] - parts[0]) / 2
    spread = (2 * numbers.even((DRAWS, parts.shape[1])) - 1) / STRETCH
    drawn: Floats = middle + half * spread
    return drawn


def _levels(demands: Sequence[Demand], horizon: int, numbers: "_Numbers") -> Floats:
    """The means of the windows to come beside those of the windows seen, (demands, draws).

    Of demands of as many windows each, whose numbers are drawn one demand after the other.
    """
    windows = np.array([one.windows for one in demands])
    means = windows.mean(axis=1)[:, np.newaxis]
    length = min(BLOCK, windows.shape[1])
    blocks = [max(round(count / length), 1) for count in (windows.shape[1], horizon)]
    drawn = numbers.even((len(demands), DRAWS * (sum(blocks) + 2)))
    ends = np.cumsum([DRAWS * count for count in (*blocks, 1)])
    *places, is_later, later = np.split(drawn, ends, axis=1)
    seen, coming = (_block_means(windows, length, one) / means for one in places)
    comes_later = np.where(is_later < 0.5, later, 0.0)
    deferred = np.array([one.deferred for one in demands])[:, np.newaxis]
    most = deferred / (means * horizon) / STRETCH
    put_off: Floats = 1 + comes_later * most
    levels: Floats = np.maximum(seen + coming - 1, LEAST_LEVEL) * put_off
    return levels


def _block_means(windows: Floats, length: int, drawn: Floats) -> Floats:
    """Means of windows drawn in blocks of so many, (demands, draws).

    `windows` are (demands, windows), and the numbers `drawn` (demands, draws · blocks).
    """
    sums = np.zeros((len(windows), windows.shape[1] + 1))
    np.cumsum(windows, axis=1, out=sums[:, 1:])
    blocks = (sums[:, length:] - sums[:, :-length]) / length
    chosen = (drawn * blocks.shape[1]).astype(np.intp)
    found = np.take_along_axis(blocks, chosen, axis=1)
    means: Floats = found.reshape(len(windows), DRAWS, -1).mean(axis=2)
    return means


class _Numbers:
    """Random numbers that stay the same: NumPy promises that of a generator's raw bits only."""

    def __init__(self) -> None:
        self._bits = np.random.PCG64(_SEED)

    def even(self, shape: tuple[int, ...]) -> Floats:
        """From 0 to below 1."""
        raw = self._bits.random_raw(int(np.prod(shape)))
        return (raw >> np.uint64(11)).astype(np.float64).reshape(shape) * 2.0**-53

    def places(self, count: int, shape: tuple[int, ...]) -> Indexes:
        """From 0 to below the count."""
        return (self.even(shape) * count).astype(np.intp)

    def normal(self, shape: tuple[int, ...]) -> Floats:
        """About 0 with a standard deviation of about 1."""
        sums: Floats = self.even((*shape, _HALVES)).sum(axis=-1) - _HALVES / 2
        return sums
