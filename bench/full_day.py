"""How often the day on which demand reaches what there is, and its interval, are right.

    .venv/bin/python -m bench.full_day [--choose] [--json FILE]

From each of many days of a series (a rolling origin) the days after it are foretold and seen.
Demand: whether the peak 7, 14 and 30 days ahead lies within the 80 % interval. Day: whether that
on which the peaks first reach 90, 100 or 120 % of the largest peak of the last four weeks does; if
they did not in 30 days, whether the interval goes beyond what was seen. Beside it two baselines:
the last value, by how values that far apart differed, and a straight line of least squares.
`--choose` scores the constants by other series than those that are scored otherwise.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from random import Random

import numpy as np

from advisor.core.demand.full_day import (
    ENOUGH_DAYS,
    HIGH,
    LONGEST_PAST_DAYS,
    LOW,
    SHOWN_DAYS,
    TUNING,
    Floats,
    Tuning,
    draw_peaks,
    first_days,
    quantile_day,
)
from bench.full_day_data import Peaks, to_choose, to_score

AHEAD_DAYS = max(SHOWN_DAYS)
OFTEN_DAYS, SELDOM_DAYS = 11, 37
"""Between two origins of a series of up to 150 days, and of longer ones."""
RATIOS = (0.9, 1.0, 1.2)
ASKED = 0.8
SLACK = 0.05
"""Some hundred origins say a coverage no finer than this."""
NORMAL = 1.2816
"""80 % of a normal distribution lie within so many standard deviations."""
OURS, LAST, LINE = "weeks drawn", "last value", "least squares"
TUNINGS = [
    Tuning(doubt=doubt, strays=strays, noise=noise, offset_ratio=offset)
    for doubt, strays, noise, offset in product(
        (0.0, 1.0, 2.0, 4.0), (1.0, 1.2), (1.0, 1.15), (0.1, 0.5)
    )
]

Row = dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """The interval of each day to come, (days)."""

    low: Floats
    high: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One outcome: whether it lay within, and the interval score (Winkler 1972) by the median.

    The score is the width and, of what lies outside, ten times the distance; None for days.
    """

    method: str
    what: str
    within: bool
    score: float | None = None


def outcomes(series: Sequence[Peaks], tuning: Tuning) -> Iterator[Found]:
    """Of all origins of the series."""
    for one in series:
        step = OFTEN_DAYS if len(one.values) < 150 else SELDOM_DAYS
        for origin in range(ENOUGH_DAYS, len(one.values) - min(SHOWN_DAYS), step):
            past = one.values[max(0, origin - LONGEST_PAST_DAYS) : origin]
            if sum(value is not None for value in past) >= ENOUGH_DAYS:
                yield from _outcomes(past, one.values[origin : origin + AHEAD_DAYS], tuning)


def _outcomes(
    past: Sequence[float | None], future: Sequence[float | None], tuning: Tuning
) -> Iterator[Found]:
    drawn = draw_peaks(past, days=AHEAD_DAYS, random=Random(0), tuning=tuning)
    if drawn is None:
        return
    low, high = np.quantile(drawn, (LOW, HIGH), axis=0)
    known = [one for one in past if one is not None]
    methods = {
        OURS: Bounds(low=low, high=high), LAST: _last_value(past), LINE: _least_squares(past),
    }  # fmt: skip
    for days in SHOWN_DAYS:
        peak = future[days - 1] if days <= len(future) else None
        if peak is None:
            continue
        for method, bounds in methods.items():
            begin, end = float(bounds.low[days - 1]), float(bounds.high[days - 1])
            missed = max(begin - peak, 0.0) + max(peak - end, 0.0)
            yield Found(
                method=method,
                what=f"demand in {days} days",
                within=missed == 0,
                score=(end - begin + 10 * missed) / float(np.median(known)),
            )
    largest = max(one for one in past[-ENOUGH_DAYS:] if one is not None)
    for ratio in RATIOS:
        firsts = first_days(drawn, ratio * largest)
        yield Found(
            method=OURS,
            what=f"day of {ratio:.0%} of the largest",
            within=_holds_day(firsts, future, ratio * largest),
        )


def _holds_day(firsts: Floats, future: Sequence[float | None], full: float) -> bool:
    reached = (day for day, peak in enumerate(future, 1) if peak is not None and peak >= full)
    day = next(reached, None)
    soonest, latest = (quantile_day(firsts, one) or math.inf for one in (LOW, HIGH))
    return latest > len(future) if day is None else soonest <= day <= latest


def _last_value(past: Sequence[float | None]) -> Bounds:
    values = np.array([np.nan if one is None else one for one in past])
    last = values[~np.isnan(values)][-1]
    spread = np.zeros(AHEAD_DAYS)
    for days in range(1, AHEAD_DAYS + 1):
        apart = values[days:] - values[:-days] if days < len(values) else values[:0]
        apart = apart[~np.isnan(apart)]
        spread[days - 1] = apart.std() if len(apart) else spread[days - 2]
    return Bounds(low=last - NORMAL * spread, high=last + NORMAL * spread)


def _least_squares(past: Sequence[float | None]) -> Bounds:
    days = np.array([day for day, one in enumerate(past) if one is not None], dtype=float)
    values = np.array([one for one in past if one is not None])
    slope, start = np.polyfit(days, values, 1)
    left = values - start - slope * days
    ahead = len(past) - 1 + np.arange(1.0, AHEAD_DAYS + 1)
    apart = (ahead - days.mean()) ** 2 / ((days - days.mean()) ** 2).sum()
    spread = np.sqrt(left @ left / (len(days) - 2) * (1 + 1 / len(days) + apart))
    middle = start + slope * ahead
    return Bounds(low=middle - NORMAL * spread, high=middle + NORMAL * spread)


def coverage_rows(name: str, series: Sequence[Peaks], tuning: Tuning) -> list[Row]:
    """The part within the intervals, and their mean scores, by method."""
    by_kind: Mapping[tuple[str, str], list[Found]] = defaultdict(list)
    for one in outcomes(series, tuning):
        by_kind[one.what, one.method].append(one)
    rows = []
    for (what, method), found in sorted(by_kind.items()):
        within = sum(one.within for one in found) / len(found)
        is_ours = method == OURS
        label = f"{name}, {what}, {method}, {len(found)} outcomes"
        rows.append(_row(label, "part within", within, ASKED if is_ours else None))
        scores = [one.score for one in found if one.score is not None]
        if scores:
            mean = sum(scores) / len(scores)
            rows.append(_row(f"{name}, {what}, {method}", "interval score", mean, None))
    return rows


def _row(what: str, unit: str, measured: float, asked: float | None) -> Row:
    return {
        "what": what,
        "unit": unit,
        "asked": asked,
        "measured": round(measured, 3),
        "holds": None if asked is None else measured >= asked - SLACK,
    }


def choice_rows() -> list[Row]:
    """Each tuning by the series to choose by: how far its worst coverage is off, and its score.

    The best has the least score of those that are off by no more than `SLACK`.
    """
    split = to_choose()
    rows = []
    for tuning in TUNINGS:
        off, score = 0.0, 0.0
        for series in (split.real, split.drawn):
            for row in coverage_rows("", series, tuning):
                if OURS in str(row["what"]) and "demand" in str(row["what"]):
                    measured = float(str(row["measured"]))
                    if row["unit"] == "part within":
                        off = max(off, abs(measured - ASKED))
                    else:
                        score += measured
        rows.append(_row(f"off by {off:.3f}: {tuning}", "interval score", score, None))
        rows[-1]["holds"] = off <= SLACK
    return sorted(rows, key=lambda row: float(str(row["measured"])))


def main(argv: list[str]) -> int:
    """Print the rows; exit status 1 if one does not hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--choose", action="store_true")
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args(argv)
    if options.choose:
        rows = choice_rows()
    else:
        split = to_score()
        rows = coverage_rows("real", split.real, TUNING)
        rows += coverage_rows("drawn", split.drawn, TUNING)
    for row in rows:
        holds = "" if row["holds"] is None else "holds" if row["holds"] else "does not hold"
        print(f"{row['what']:72}  {row['measured']:>8} {row['unit']:14}  {holds}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2) + "\n")
    return int(not options.choose and any(row["holds"] is False for row in rows))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
