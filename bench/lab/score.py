"""What was predicted beside what was measured, over all runs of a kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench.fleet.rows import Row, not_measured

MOST_ERROR, MOST_P90 = 0.10, 0.25
AGGRESSOR_P90 = 0.30
LEAST_SPOKEN = 0.60
COVERED = (0.85, 0.95)
LEAST_PART = 0.002
"""A workload that got less than this part of the link is not scored: it did nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """One workload of a run: what was said of it, and what it got."""

    before: float
    predicted: float
    low: float
    high: float
    is_spoken: bool
    is_lead: bool
    is_culprit: bool
    measured: float

    @property
    def error(self) -> float:
        return abs(self.predicted - self.measured) / self.measured

    @property
    def unchanged_error(self) -> float:
        """The error of saying that nothing changes."""
        return abs(self.before - self.measured) / self.measured


def predictions(runs: Sequence[dict[str, Any]]) -> list[Prediction]:
    """Those of all runs in which something was advised."""
    return [
        Prediction(
            before=one["before"],
            predicted=one["predicted"],
            low=one["low"],
            high=one["high"],
            is_spoken=not one["unsure"],
            is_lead=one["workload"] == run["lead"],
            is_culprit=place == run["culprit"],
            measured=one["measured"],
        )
        for run in runs
        if run["advice"] is not None
        for place, one in enumerate(run["workloads"])
        if one["measured"] >= LEAST_PART * run["link"]
    ]


def rows(name: str, found: Sequence[Prediction]) -> list[Row]:
    """The rows of one kind of resource."""
    spoken = [one for one in found if one.is_spoken]
    leads = [one for one in found if one.is_lead and one.is_spoken]
    culprits = [one for one in found if one.is_culprit]
    table = [
        *_errors(f"{name}: spoken rates", spoken, MOST_P90),
        *_errors(f"{name}: headline", leads, MOST_P90),
        *_errors(f"{name}: aggressor", culprits, AGGRESSOR_P90),
    ]
    if not found:
        return table
    part = len(spoken) / len(found)
    inside = float(np.mean([one.low <= one.measured <= one.high for one in found]))
    unchanged = [one.unchanged_error for one in found]
    every = [one.error for one in found]
    return [
        *table,
        Row(
            what=f"{name}: workloads of which a rate is spoken",
            unit="ratio",
            asked=f">= {LEAST_SPOKEN:g}",
            measured=part,
            holds=part >= LEAST_SPOKEN,
            note=f"{len(spoken)} of {len(found)}",
        ),
        Row(
            what=f"{name}: 90 % intervals that cover",
            unit="ratio",
            asked=f"{COVERED[0]:g} to {COVERED[1]:g}",
            measured=inside,
            holds=COVERED[0] <= inside <= COVERED[1],
            note=f"all rates: median error {np.median(every):.0%}, p90 "
            f"{np.percentile(every, 90):.0%}; of 'nothing changes' {np.median(unchanged):.0%}, "
            f"{np.percentile(unchanged, 90):.0%}",
        ),
    ]


def _errors(what: str, found: Sequence[Prediction], most_p90: float) -> list[Row]:
    """Median and 90th percentile of the relative errors."""
    asked = ((50, "median", MOST_ERROR), (90, "p90", most_p90))
    if not found:
        return [
            not_measured(f"{what}, {word} error", "ratio", f"<= {most:g}", "no such prediction")
            for _, word, most in asked
        ]
    errors = [one.error for one in found]
    return [
        Row(
            what=f"{what}, {word} error",
            unit="ratio",
            asked=f"<= {most:g}",
            measured=(value := float(np.percentile(errors, level))),
            holds=value <= most,
            note=f"{len(errors)} predictions",
        )
        for level, word, most in asked
    ]
