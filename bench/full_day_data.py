"""Daily peaks of real and drawn demands, those to choose by and those to score apart."""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

import numpy as np

from bench.nab.series import place as nab_place

NAMES = ["AAPL", "AMZN", "CRM", "CVS", "FB", "GOOG", "IBM", "KO", "PFE", "UPS"]
EXCHANGES = [f"exchange-{number}_{price}" for number in (2, 3, 4) for price in ("cpc", "cpm")]
NAB_TO_CHOOSE = (
    *(f"realTweets/Twitter_volume_{name}.csv" for name in NAMES[::2]),
    *(f"realAdExchange/{name}_results.csv" for name in EXCHANGES),
)
NAB_TO_SCORE = (
    *(f"realTweets/Twitter_volume_{name}.csv" for name in NAMES[1::2]),
    "realKnownCause/nyc_taxi.csv",
    "realKnownCause/cpu_utilization_asg_misconfiguration.csv",
    "realTraffic/TravelTime_387.csv",
)
"""All series of NAB of at least 50 days but that of a temperature; none is in both."""
PROPHET_TO_CHOOSE = ("example_wp_log_R.csv", "example_pedestrians_covid.csv")
PROPHET_TO_SCORE = ("example_wp_log_peyton_manning.csv",)
"""Years of daily page views and of pedestrians, from the examples of Prophet (MIT licence)."""
DRAWN = 10
DRAWN_DAYS = 365


@dataclass(frozen=True, slots=True, kw_only=True)
class Peaks:
    """One peak a day in order; None is unknown."""

    name: str
    values: tuple[float | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """The series that constants are chosen by, or those that score them."""

    real: tuple[Peaks, ...]
    drawn: tuple[Peaks, ...]


def to_choose() -> Split:
    return Split(real=_real(NAB_TO_CHOOSE, PROPHET_TO_CHOOSE), drawn=_drawn(0))


def to_score() -> Split:
    return Split(real=_real(NAB_TO_SCORE, PROPHET_TO_SCORE), drawn=_drawn(1000))


def prophet_place() -> Path:
    """Where the clone of https://github.com/facebook/prophet is looked for."""
    cache = Path(os.environ.get("SLUICE_CACHE_DIR") or Path.home() / ".cache" / "sluice")
    return Path(os.environ.get("SLUICE_PROPHET") or cache / "prophet")


def _real(nab: Iterable[str], prophet: Iterable[str]) -> tuple[Peaks, ...]:
    examples = prophet_place() / "examples"
    return (
        *(_read(nab_place() / "data" / name, "timestamp", "value") for name in nab),
        *(_read(examples / name, "ds", "y") for name in prophet),
    )


def _read(path: Path, when: str, value: str) -> Peaks:
    """The largest value of each day; the first and last days of many values are parts of days."""
    peaks: dict[date, float] = {}
    with path.open() as file:
        rows = [(row[when][:10], row[value]) for row in csv.DictReader(file) if row[value]]
    for day, text in rows:
        number = math.exp(float(text)) if "wp_log" in path.name else float(text)
        at = date.fromisoformat(day)
        peaks[at] = max(peaks.get(at, 0.0), number)
    days = sorted(peaks)
    if len(rows) > len(days):
        days = days[1:-1]
    length = (days[-1] - days[0]).days + 1
    values = tuple(peaks.get(days[0] + timedelta(days=past)) for past in range(length))
    return Peaks(name=path.stem, values=values)


def _drawn(seed: int) -> tuple[Peaks, ...]:
    return tuple(_draw(seed + 2 * number) for number in range(DRAWN))


def _draw(seed: int) -> Peaks:
    """A level that drifts, strays and jumps about once in 100 days, weekdays, and heavy tails."""
    draw = np.random.default_rng(seed)
    strays = draw.normal(draw.normal(0.001, 0.002), draw.uniform(0.0, 0.02), DRAWN_DAYS)
    jumps = (draw.random(DRAWN_DAYS) < 0.01) * draw.normal(0.0, 0.3, DRAWN_DAYS)
    weekday = draw.normal(0.0, 0.15, 7)[np.arange(DRAWN_DAYS) % 7]
    noise = draw.standard_t(4, DRAWN_DAYS) * draw.uniform(0.03, 0.2)
    values = 100 * np.exp(strays.cumsum() + jumps.cumsum() + weekday + noise)
    return Peaks(name=f"drawn-{seed}", values=tuple(values.tolist()))
