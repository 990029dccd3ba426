"""The backtest of a policy, for pages and commands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from advisor.advice.policy.decide.policy_answer import Recommendation as PolicyAnswer
from advisor.advice.what_if.decide.what_if_draft import PolicyDraft
from advisor.core.duration import duration_text
from advisor.core.enumeration import listed
from advisor.core.forecast.backtest import Change, WorkloadBacktest
from advisor.core.forecast.counterfactual import (
    AllocationEffect,
    Counterfactual,
    LatencyEffect,
    latency_interval,
)
from advisor.core.forecast.prediction_interval import Interval
from advisor.core.forecast.what_if import WhatIf, WhatIfRow


@dataclass(frozen=True, slots=True, kw_only=True)
class PastRow:
    """One allocation; rates are those of the congested windows, or of all if there are none.

    `interval` and `latency_interval` are the expected ranges of its rate and latency, from the
    errors of earlier predictions; `interval_gap` says why there are none.
    """

    workload: str
    host: str
    change: Change
    rate_before: float | None
    rate_after: float | None
    past: WorkloadBacktest | None
    latency: LatencyEffect
    interval: Interval | None
    interval_gap: str
    latency_interval: Interval | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PastTable:
    """Gains, losses and minutes; without rows `gap` says why."""

    rows: tuple[PastRow, ...]
    hours: float
    congested_hours: float
    gap: str
    justification: str = ""

    @property
    def length(self) -> str:
        """How much was simulated, and how much of it was congested."""
        congested = "no window"
        if self.congested_hours > 0:
            congested = duration_text(timedelta(hours=self.congested_hours))
        return (
            f"{duration_text(timedelta(hours=self.hours))} simulated, {congested} of it congested"
        )

    @property
    def gaining(self) -> tuple[str, ...]:
        """The workloads that would have got more."""
        return _names(self.rows, Change.GAINS)

    @property
    def losing(self) -> tuple[str, ...]:
        """The workloads that would have got less."""
        return _names(self.rows, Change.LOSES)

    @property
    def latency_gap(self) -> str:
        """The common reason why no row has a latency; empty if there is none."""
        return _common([row.latency.gap for row in self.rows])

    @property
    def interval_gap(self) -> str:
        """The common reason why no row has an interval; empty if there is none."""
        return _common([row.interval_gap for row in self.rows])

    @property
    def verdict(self) -> str:
        """The workloads that gain and lose, in a sentence."""
        gain = listed(self.gaining) or "No workload"
        lose = listed(self.losing) or "no workload"
        return f"{gain} would have gained; {lose} would have lost"


def _names(rows: Sequence[PastRow], change: Change) -> tuple[str, ...]:
    return tuple(row.workload for row in rows if row.change is change)


def _common(gaps: Sequence[str]) -> str:
    return gaps[0] if gaps and len(set(gaps)) == 1 else ""


def past_table(answer: PolicyAnswer | PolicyDraft) -> PastTable:
    """The past under a recommended or drafted policy."""
    if isinstance(answer, PolicyDraft):
        return what_if_table(answer.what_if)
    played = answer.counterfactual
    if played is None:
        gap = answer.past_gap or "it was not simulated when this was recommended"
        return PastTable(rows=(), hours=0.0, congested_hours=0.0, gap=gap)
    return PastTable(
        rows=tuple(_rows(answer, played)),
        hours=played.hours,
        congested_hours=played.congested_hours,
        gap="",
        justification=answer.justification,
    )


def _rows(answer: PolicyAnswer, played: Counterfactual) -> list[PastRow]:
    return [
        _row(one, item.interval, item.interval_gap, item.predicted_after)
        for one, item in zip(played.allocations, answer.allocations, strict=True)
    ]


def _row(one: AllocationEffect, interval: Interval | None, gap: str, rate: float) -> PastRow:
    return PastRow(
        workload=one.workload,
        host=one.host,
        change=one.change,
        rate_before=(one.contended or one.past).rate_before,
        rate_after=(one.contended or one.past).rate_after,
        past=one.past,
        latency=one.latency,
        interval=interval,
        interval_gap=gap,
        latency_interval=latency_interval(one.latency, rate, interval),
    )


def what_if_table(found: WhatIf) -> PastTable:
    """The past under a what-if."""
    window_h = (found.window_s or 0.0) / 3600
    return PastTable(
        rows=tuple(_what_if_row(row) for row in found.rows),
        hours=found.windows * window_h,
        congested_hours=found.congested_windows * window_h,
        gap=found.gap if not found.windows else "",
    )


def _what_if_row(row: WhatIfRow) -> PastRow:
    before: float | None = row.now
    after: float | None = row.then
    if row.contended is None:
        before = row.past.rate_before if row.past else None
        after = row.past.rate_after if row.past else None
    return PastRow(
        workload=row.workload,
        host=row.host,
        change=row.change,
        rate_before=before,
        rate_after=after,
        past=row.past,
        latency=row.latency,
        interval=row.then_interval,
        interval_gap=row.interval_gap,
        latency_interval=row.latency_interval,
    )
