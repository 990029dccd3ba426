"""What was predicted beside what was measured, over all runs of a kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from advisor.core.let_through import DELIVERED_BY_IOCOST
from bench.fleet.rows import Row, not_measured

MOST_ERROR, MOST_P90 = 0.10, 0.25
AGGRESSOR_P90 = 0.30
MOST_LATENCY_ERROR, LATENCY_COVERED = 0.30, 0.80
LEAST_SPOKEN = 0.60
LEAST_KEPT = 0.90
COVERED = (0.85, 0.95)
LEAST_PART = 0.002
"""A workload that got less than this part of the capacity is not scored: it did nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """A figure of one workload of a run: what was said of it, and what was measured."""

    before: float
    predicted: float
    low: float
    high: float
    measured: float
    is_spoken: bool = True
    is_lead: bool = False
    is_culprit: bool = False

    @property
    def error(self) -> float:
        return abs(self.predicted - self.measured) / self.measured

    @property
    def unchanged_error(self) -> float:
        """The error of saying that nothing changes."""
        return abs(self.before - self.measured) / self.measured

    @property
    def is_within(self) -> bool:
        return self.low <= self.measured <= self.high


def in_force(runs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those in which something was advised and the agent says that it holds.

    What does not hold is not scored, neither as right nor as wrong.
    """
    return [run for run in runs if run["advice"] is not None and run["in_force"]]


def predictions(runs: Sequence[dict[str, Any]]) -> list[Prediction]:
    """Rates of all these runs."""
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
        for place, one in enumerate(run["workloads"])
        if one["measured"] >= LEAST_PART * run["capacity"]
    ]


def latency_predictions(runs: Sequence[dict[str, Any]]) -> list[Prediction]:
    """Latencies in ms, of all these runs, that were predicted."""
    return [
        Prediction(
            before=one["latency_now"],
            predicted=one["latency_predicted"],
            low=one["latency_low"],
            high=one["latency_high"],
            measured=one["latency"],
        )
        for run in runs
        for one in run["workloads"]
        if one["latency_predicted"] is not None
        and one["latency"]
        and one["measured"] >= LEAST_PART * run["capacity"]
    ]


def latency_rows(name: str, found: Sequence[Prediction]) -> list[Row]:
    """The rows of latencies of one kind of resource."""
    what = f"{name}: latency, median error"
    if not found:
        return [not_measured(what, "ratio", f"<= {MOST_LATENCY_ERROR:g}", "no such prediction")]
    errors = [one.error for one in found]
    unchanged = [one.unchanged_error for one in found]
    inside = float(np.mean([one.is_within for one in found]))
    error = float(np.median(errors))
    return [
        Row(
            what=what,
            unit="ratio",
            asked=f"<= {MOST_LATENCY_ERROR:g}",
            measured=error,
            holds=error <= MOST_LATENCY_ERROR,
            note=f"{len(found)} predictions, p90 {np.percentile(errors, 90):.0%}; of 'nothing "
            f"changes' {np.median(unchanged):.0%}",
        ),
        Row(
            what=f"{name}: latencies within their bounds",
            unit="ratio",
            asked=f">= {LATENCY_COVERED:g}",
            measured=inside,
            holds=inside >= LATENCY_COVERED,
            note=f"the upper bound is {np.median([one.high / one.low for one in found]):.1f} "
            "times the lower one",
        ),
    ]


def let_through_row(name: str, runs: Sequence[dict[str, Any]]) -> Row:
    """How much of what a disk gave while congested came through under the policy, at the least.

    A policy of limits may leave some of it unused.
    """
    what = f"{name}: total under the policy beside that while congested, least"
    least, most = DELIVERED_BY_IOCOST
    parts = [
        sum(one["measured"] for one in run["workloads"])
        / float(np.mean([sum(window["rates"]) for window in run["crowded"]]))
        for run in runs
    ]
    if not parts:
        return not_measured(what, "ratio", f">= {least:g}", "no such run")
    return Row(
        what=what,
        unit="ratio",
        asked=f">= {least:g}",
        measured=min(parts),
        holds=min(parts) >= least,
        note=f"{len(parts)} runs, up to {max(parts):.3f}; advice counts on {least:g} to {most:g}",
    )


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
    table.append(_at_least(name, [one for one in found if one.is_lead and not one.is_spoken]))
    part = len(spoken) / len(found)
    inside = float(np.mean([one.is_within for one in found]))
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


def _at_least(name: str, leads: Sequence[Prediction]) -> Row:
    """Headlines that tell the least of a gain, because no more of it is sure."""
    what, asked = f"{name}: headlines of 'at least' that came true", f">= {LEAST_KEPT:g}"
    if not leads:
        return not_measured(what, "ratio", asked, "no such headline")
    kept = float(np.mean([one.low <= one.measured for one in leads]))
    return Row(
        what=what,
        unit="ratio",
        asked=asked,
        measured=kept,
        holds=kept >= LEAST_KEPT,
        note=f"{len(leads)} headlines",
    )


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
