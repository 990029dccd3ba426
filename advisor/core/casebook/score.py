"""What was found in bundles, beside what is known of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from statistics import fmean
from typing import Any

import numpy as np

from advisor.core.casebook.bundle import MeasuredRate, Truth
from advisor.core.forecast.crps import crps, even_draws

ALIKE_RATIO = 0.02
FEWEST_RATES = 20
"""Of fewer rates, no figure holds: one more could turn it."""
FEWEST_RUNS = 12
"""The same of what an incident has one of: a headline, an aggressor."""
ORIGIN = "all from bundles"
"""Rates under own policies, and after natural changes, are in the database of an installation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundIncident:
    """When it was; `ended_at` None where it still goes on.

    `is_stalled`: in some window of it no I/O completed.
    """

    began_at: datetime
    ended_at: datetime | None
    is_stalled: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What the product makes of a bundle.

    Workloads are those of the longest incident; `answer` is the plain advice at its end, empty
    if there is none.
    """

    incidents: tuple[FoundIncident, ...] = ()
    aggressors: tuple[str, ...] = ()
    victims: tuple[str, ...] = ()
    answer: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """How much more than told was measured, as a part of it, and whether the range held."""

    bias: float
    is_within: bool

    @property
    def error(self) -> float:
        return abs(self.bias)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldRate(Told):
    """A rate that was told.

    `crps` is the score of the range, and `unchanged` that of "nothing changes"; both are parts of
    the measured rate. `is_sure` says that it was proposed, not only suspected, `is_lead` that the
    headline told of it, `is_culprit` that it is of the workload that did it.
    """

    crps: float
    unchanged: float
    is_sure: bool
    is_lead: bool
    is_culprit: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A bundle by the name of its file; `kinds` is what resources of its kind are called."""

    name: str
    truth: Truth | None
    found: Found
    kinds: str = "resources"

    @property
    def congested(self) -> Truth | None:
        """What is known of it, if that is congestion."""
        return self.truth if self.truth is not None and self.truth.is_congested else None

    @property
    def is_detected(self) -> bool | None:
        """Whether congestion was found while it was; None where there was none."""
        if self.congested is None:
            return None
        return len(self.false_alarms) < len(self.found.incidents)

    @property
    def is_stall_found(self) -> bool | None:
        """Whether a stall was found as one while it was; None where there was none."""
        if self.congested is None or not self.congested.is_stalled:
            return None
        return any(one.is_stalled for one in self.found.incidents)

    @property
    def false_alarms(self) -> list[FoundIncident]:
        """Incidents that were over before congestion began, or were found where there was none."""
        if self.truth is None:
            return []
        if not self.truth.is_congested:
            return list(self.found.incidents)
        began = self.truth.began_at
        if began is None:
            return []
        return [
            one
            for one in self.found.incidents
            if one.ended_at is not None and one.ended_at <= began
        ]

    @property
    def is_culprit_named(self) -> bool | None:
        """Whether the first aggressor is who did it; None where there was no congestion."""
        if self.congested is None:
            return None
        return next(iter(self.found.aggressors), None) == self.congested.culprit

    @property
    def idle(self) -> set[str]:
        """Who got nothing in the incident, as far as the advice says what each got."""
        rows = self.found.answer.get("allocations", ())
        return {row["workload"] for row in rows if row.get("measured") == 0}

    @property
    def measured(self) -> Mapping[str, MeasuredRate]:
        """Of each workload that got something under a policy; empty where none was applied."""
        measured = () if self.truth is None else self.truth.measured
        return {one.workload: one for one in measured if one.rate > 0}

    @property
    def is_advice_measured(self) -> bool:
        """Whether the advice is the policy under which was measured.

        An effect of another policy says nothing of what was told.
        """
        rows = self.found.answer.get("allocations", ())
        granted = {} if self.truth is None else {one.workload: one for one in self.truth.measured}
        return bool(rows) and all(
            (grant := granted.get(row["workload"])) is not None
            and row["shares"] == grant.shares
            and _is_alike(row["reservation"], grant.reservation)
            and _is_alike(row["limit"] or 0.0, grant.limit or 0.0)
            for row in rows
        )

    @property
    def told(self) -> list[ToldRate]:
        """The rates that were told with a range, of workloads whose rate was measured then."""
        if not self.is_advice_measured:
            return []
        measured, truth = self.measured, self.truth
        lead, culprit = self.found.answer.get("lead"), None if truth is None else truth.culprit
        return [
            _told(
                row,
                got.rate,
                is_lead=row["workload"] == lead,
                is_culprit=row["workload"] == culprit,
            )
            for row in self.found.answer["allocations"]
            if row["interval"] and (got := measured.get(row["workload"]))
        ]

    @property
    def told_latencies(self) -> list[Told]:
        """The same of latencies."""
        if not self.is_advice_measured:
            return []
        measured = {name: one.latency_ms for name, one in self.measured.items()}
        return [
            Told(
                bias=(ms - row["latency_ms"]) / ms,
                is_within=row["latency_interval"]["low"] <= ms <= row["latency_interval"]["high"],
            )
            for row in self.found.answer["allocations"]
            if row.get("latency_interval") and (ms := measured.get(row["workload"]))
        ]


def _told(row: Mapping[str, Any], rate: float, *, is_lead: bool, is_culprit: bool) -> ToldRate:
    """A row of the advice beside the rate that was measured under it."""
    low, high, level = (row["interval"][name] for name in ("low", "high", "level"))
    draws = even_draws(low=low, middle=row["predicted_after"], high=high, level=level)
    return ToldRate(
        bias=(rate - row["predicted_after"]) / rate,
        is_within=low <= rate <= high,
        crps=crps(draws, rate) / rate,
        unchanged=abs(rate - row["predicted_before"]) / rate,
        is_sure=not row["unsure"],
        is_lead=is_lead,
        is_culprit=is_culprit,
    )


def _is_alike(advised: float, granted: float) -> bool:
    """Counters of a bundle are whole numbers, so amounts differ a little."""
    return math.isclose(advised, granted, rel_tol=ALIKE_RATIO)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreRow:
    """One figure over all bundles; `measured` None where no bundle says anything of it.

    `note` says of how many it is.
    """

    what: str
    unit: str
    asked: str
    measured: float | None
    holds: bool
    note: str


def score(cases: Sequence[Case]) -> list[ScoreRow]:
    """The figures that are asked for, over the bundles of which the truth is known."""
    known = [case for case in cases if case.truth is not None]
    congested = [(case.found, case.congested) for case in known if case.congested is not None]
    named = [({*found.victims}, {*truth.victims}) for found, truth in congested]
    both = [ours & theirs for ours, theirs in named]
    return [
        _part("congestion found", 1.0, [case.is_detected for case in known], "stretches"),
        _false_alarms(known),
        _part("culprit named first", 1.0, [case.is_culprit_named for case in known], "incidents"),
        _ratio("victims named, of those who lost", 1.0, both, [lost for _, lost in named]),
        _ratio("victims who lost, of those named", 1.0, both, [ours for ours, _ in named]),
        _idle(known),
        _part("stalls found as such", 1.0, [case.is_stall_found for case in known], "stalls"),
        *chain.from_iterable(
            _rates(kinds, [case for case in known if case.kinds == kinds])
            for kinds in sorted({case.kinds for case in known if case.measured})
        ),
    ]


def _false_alarms(known: Sequence[Case]) -> ScoreRow:
    count = sum(len(case.false_alarms) for case in known)
    return ScoreRow(
        what="incidents where there was no congestion",
        unit="incidents",
        asked="0",
        measured=count if known else None,
        holds=bool(known) and count == 0,
        note=f"of {sum(len(case.found.incidents) for case in known)} incidents found",
    )


def _idle(known: Sequence[Case]) -> ScoreRow:
    """Who did nothing is neither harmed nor to blame, whatever it waits for."""
    named = [case.idle & {*case.found.victims, *case.found.aggressors} for case in known]
    count = sum(map(len, named))
    return ScoreRow(
        what="workloads that did nothing and are named",
        unit="workloads",
        asked="0",
        measured=count if known else None,
        holds=bool(known) and count == 0,
        note=f"of {sum(len(case.idle) for case in known)} workloads",
    )


def _part(what: str, least: float, said: Sequence[bool | None], of: str) -> ScoreRow:
    answers = [one for one in said if one is not None]
    return ScoreRow(
        what=what,
        unit="ratio",
        asked=f">= {least:g}",
        measured=(measured := sum(answers) / len(answers) if answers else None),
        holds=measured is not None and measured >= least,
        note=f"of {len(answers)} {of}",
    )


def _ratio(
    what: str, least: float, part: Sequence[set[str]], whole: Sequence[set[str]]
) -> ScoreRow:
    """Over the workloads of all bundles."""
    count = len(list(chain.from_iterable(part)))
    of = len(list(chain.from_iterable(whole)))
    return _part(what, least, [True] * count + [False] * (of - count), "workloads")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """What is asked of a figure: it holds from `low` to `high`, over at least `fewest` rates."""

    low: float
    high: float
    fewest: int = FEWEST_RATES

    @property
    def text(self) -> str:
        return f"<= {self.high:g}" if self.low == 0 else f"{self.low:g} to {self.high:g}"


def _rates(kinds: str, known: Sequence[Case]) -> list[ScoreRow]:
    """How true the rates and latencies are that were told of one kind of resource."""
    told = [one for case in known for one in case.told]
    sure = [one for one in told if one.is_sure]
    of = sum(len(case.measured) for case in known)
    applied = [case for case in known if case.measured]
    advised = sum(case.is_advice_measured for case in applied)
    latencies = [one for case in known for one in case.told_latencies]
    return [
        _part(
            f"{kinds}: rates told as sure, of those measured under a policy",
            0.6,
            [True] * len(sure) + [False] * (of - len(sure)),
            f"rates; {advised} of {len(applied)} bundles are advised that policy",
        ),
        *_errors(f"{kinds}: rates told as sure", sure, 0.25, FEWEST_RATES),
        *_errors(f"{kinds}: headline", [one for one in sure if one.is_lead], 0.25, FEWEST_RUNS),
        *_errors(
            f"{kinds}: aggressor's rate", [one for one in told if one.is_culprit], 0.3, FEWEST_RUNS
        ),
        _figure(
            f"{kinds}: more than told, median of those told as sure",
            _percentile([one.bias for one in sure], 50),
            _Asked(low=-0.05, high=0.05),
            len(sure),
        ),
        _figure(
            f"{kinds}: rates within the ranges told, sure or not",
            _within(told),
            _Asked(low=0.85, high=0.95),
            len(told),
        ),
        _crps(kinds, sure),
        *(_latencies(kinds, latencies) if latencies else ()),
    ]


def _errors(what: str, told: Sequence[Told], most_p90: float, fewest: int) -> list[ScoreRow]:
    """Median and 90th percentile of the errors beside what was measured."""
    errors = [one.error for one in told]
    return [
        _figure(
            f"{what}, {words} error",
            _percentile(errors, percent),
            _Asked(low=0.0, high=most, fewest=fewest),
            len(errors),
        )
        for words, percent, most in (("median", 50, 0.1), ("90th percentile of the", 90, most_p90))
    ]


def _latencies(kinds: str, told: Sequence[Told]) -> list[ScoreRow]:
    median = _percentile([one.error for one in told], 50)
    return [
        _figure(f"{kinds}: latency, median error", median, _Asked(low=0.0, high=0.3), len(told)),
        _part(
            f"{kinds}: latencies within the ranges told",
            0.8,
            [one.is_within for one in told],
            "latencies",
        ),
    ]


def _figure(what: str, measured: float | None, asked: _Asked, count: int) -> ScoreRow:
    is_enough = count >= asked.fewest
    return ScoreRow(
        what=what,
        unit="ratio",
        asked=asked.text,
        measured=measured,
        holds=is_enough and measured is not None and asked.low <= measured <= asked.high,
        note=_note(count, asked.fewest),
    )


def _note(count: int, fewest: int) -> str:
    return f"of {count} rates, {ORIGIN}" + ("" if count >= fewest else f"; {fewest} are needed")


def _within(told: Sequence[Told]) -> float | None:
    return sum(one.is_within for one in told) / len(told) if told else None


def _crps(kinds: str, told: Sequence[ToldRate]) -> ScoreRow:
    """The score of the ranges beside that of whoever says that nothing changes."""
    unchanged = sum(one.unchanged for one in told)
    measured = sum(one.crps for one in told) / unchanged if unchanged > 0 else None
    part = f"; {fmean(one.crps for one in told):.0%} of the measured rate" if told else ""
    return ScoreRow(
        what=f"{kinds}: CRPS of the ranges told, beside that of “nothing changes”",
        unit="ratio",
        asked="<= 1",
        measured=measured,
        holds=len(told) >= FEWEST_RATES and measured is not None and measured <= 1,
        note=f"{_note(len(told), FEWEST_RATES)}{part}",
    )


def _percentile(values: Sequence[float], percent: float) -> float | None:
    return float(np.percentile(values, percent)) if values else None
