"""What was found in bundles, beside what is known of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np

from advisor.core.casebook.bundle import Truth


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What the product makes of a bundle.

    Begin, end and workloads are those of the longest incident; `answer` is the plain advice at
    its end, empty if there is none.
    """

    incidents: int
    began_at: datetime | None = None
    ended_at: datetime | None = None
    aggressors: tuple[str, ...] = ()
    victims: tuple[str, ...] = ()
    answer: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A bundle by the name of its file."""

    name: str
    truth: Truth | None
    found: Found

    @property
    def is_detected(self) -> bool | None:
        """Whether congestion was found where it was, and none where none was."""
        return (
            None if self.truth is None else self.truth.is_congested == bool(self.found.incidents)
        )

    @property
    def is_culprit_named(self) -> bool | None:
        """Whether the first aggressor is who did it; None where there was no congestion."""
        if self.truth is None or not self.truth.is_congested:
            return None
        return next(iter(self.found.aggressors), None) == self.truth.culprit

    @property
    def victims_named(self) -> tuple[int, int] | None:
        """How many of how many victims were named; None where there was no congestion."""
        if self.truth is None or not self.truth.is_congested:
            return None
        return len({*self.truth.victims} & {*self.found.victims}), len(self.truth.victims)

    @property
    def told(self) -> list[tuple[float, bool]]:
        """Of each rate that was told as sure: the error of it, and whether its range held."""
        if self.truth is None:
            return []
        measured = {one.workload: one.rate for one in self.truth.measured}
        return [
            (
                abs(row["predicted_after"] - measured[row["workload"]])
                / measured[row["workload"]],
                row["interval"]["low"] <= measured[row["workload"]] <= row["interval"]["high"],
            )
            for row in self.found.answer.get("allocations", ())
            if not row["unsure"] and row["interval"] and measured.get(row["workload"], 0.0) > 0
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreRow:
    """One figure over all bundles; `measured` None where no bundle says anything of it."""

    what: str
    unit: str
    asked: str
    measured: float | None
    holds: bool


def score(cases: Sequence[Case]) -> list[ScoreRow]:
    """The figures that are asked for, over the bundles of which the truth is known."""
    detected = [case.is_detected for case in cases]
    culprits = [case.is_culprit_named for case in cases]
    victims = [one for case in cases if (one := case.victims_named) is not None]
    told = [one for case in cases for one in case.told]
    errors = [error for error, _ in told]
    return [
        _at_least("congestion found where it was, and nowhere else", 1.0, _ratio(detected)),
        _at_least("culprit named first", 1.0, _ratio(culprits)),
        _at_least(
            "victims named",
            1.0,
            sum(one for one, _ in victims) / every
            if (every := sum(n for _, n in victims))
            else None,
        ),
        _at_most("error of the rates told, median", 0.10, _percentile(errors, 50)),
        _at_most("error of the rates told, 90th percentile", 0.25, _percentile(errors, 90)),
        _within("rates within the ranges told", 0.85, 0.95, _ratio([held for _, held in told])),
    ]


def _ratio(said: Sequence[bool | None]) -> float | None:
    known = [one for one in said if one is not None]
    return sum(known) / len(known) if known else None


def _percentile(values: Sequence[float], percent: float) -> float | None:
    return float(np.percentile(values, percent)) if values else None


def _at_least(what: str, least: float, measured: float | None) -> ScoreRow:
    holds = measured is not None and measured >= least
    return ScoreRow(what=what, unit="ratio", asked=f">= {least:g}", measured=measured, holds=holds)


def _at_most(what: str, most: float, measured: float | None) -> ScoreRow:
    holds = measured is not None and measured <= most
    return ScoreRow(what=what, unit="ratio", asked=f"<= {most:g}", measured=measured, holds=holds)


def _within(what: str, low: float, high: float, measured: float | None) -> ScoreRow:
    holds = measured is not None and low <= measured <= high
    asked = f"{low:g} to {high:g}"
    return ScoreRow(what=what, unit="ratio", asked=asked, measured=measured, holds=holds)
