"""What the past would have been under a candidate: who wins and loses, minutes, and latency."""

from collections.abc import Sequence
from dataclasses import dataclass

from advisor.core.allocation import ReservationMode
from advisor.core.explanation.rounding import round_all
from advisor.core.forecast.backtest import (
    Backtest,
    Change,
    NoHistory,
    WorkloadBacktest,
    backtest,
)
from advisor.core.forecast.latency_backtest import (
    ENOUGH_WINDOWS,
    WorkloadLatency,
    latency_backtest,
)
from advisor.core.forecast.past import Past
from advisor.core.forecast.play import Pressure
from advisor.core.forecast.prediction_interval import Interval
from advisor.core.grant import Grant

NO_OUTSTANDING = "how much each workload kept outstanding is not known"


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyEffect:
    """A claim's 95th percentile of latency under both policies, by Little's law.

    Over the congested windows, or over all if none was. None where nothing can be told; `gap`
    says why. `starved` counts minutes in which it would wait for ever.
    """

    p95_before_ms: float | None
    p95_after_ms: float | None
    starved_min_before: float
    starved_min_after: float
    gap: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimEffect:
    """One claim: `past` over all windows, `contended` over the congested ones, None without.

    `change` goes by the congested windows if there were any.
    """

    claim: int
    workload: str
    host: str
    change: Change
    past: WorkloadBacktest
    contended: WorkloadBacktest | None
    latency: LatencyEffect


@dataclass(frozen=True, slots=True, kw_only=True)
class Counterfactual:
    """The past under a candidate; `idle_ratio` is what limits left unused though it was wanted."""

    hours: float
    windows: int
    congested_windows: int
    idle_ratio_before: float
    idle_ratio_after: float
    claims: tuple[ClaimEffect, ...]

    def of(self, change: Change) -> tuple[ClaimEffect, ...]:
        """The claims to which this happens."""
        return tuple(one for one in self.claims if one.change is change)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayedClaim:
    """A claim by its number, and the words that tell people which one it is."""

    claim: int
    workload: str
    host: str


def counterfactual(
    claims: Sequence[PlayedClaim],
    past: Past,
    *,
    mode: ReservationMode,
    before: Sequence[Grant],
    after: Sequence[Grant],
    capacity_ratio: float = 1.0,
    before_as_measured: bool = False,
    after_as_pressed: bool = False,
) -> Counterfactual | None:
    """Play the past under both policies; None without windows or claims.

    With `before_as_measured` the first is what was measured, where that is known: without a
    policy no model knows who presses hardest. With `after_as_pressed` everybody presses as hard
    under the second too, and only limits hold them: that is what limits do where shares are in
    force and did not help.
    """
    names = [str(one.claim) for one in claims]

    def pressure(some: Past) -> tuple[Pressure, Pressure]:
        return (
            some.pressure if before_as_measured else (),
            some.pressure if after_as_pressed else (),
        )

    def played(some: Past) -> Backtest | None:
        found = backtest(
            names,
            some.windows,
            mode=mode,
            before=before,
            after=after,
            capacity_ratio=capacity_ratio,
            pressure=pressure(some),
        )
        return None if isinstance(found, NoHistory) else found

    whole = played(past)
    if whole is None:
        return None
    felt = past.contended() if any(past.congested) else past
    contended = played(felt) if any(past.congested) else None
    latencies = [unknown_latency(past.latency_gap or NO_OUTSTANDING)] * len(names)
    if felt.outstanding:
        waited = latency_backtest(
            names,
            felt.windows,
            felt.outstanding,
            mode=mode,
            before=before,
            after=after,
            capacity_ratio=capacity_ratio,
            pressure=pressure(felt),
        )
        latencies = [_effect(one) for one in waited]
    return round_all(
        Counterfactual(
            hours=past.hours,
            windows=len(past.windows),
            congested_windows=sum(past.congested),
            idle_ratio_before=whole.idle_ratio_before,
            idle_ratio_after=whole.idle_ratio_after,
            claims=tuple(
                ClaimEffect(
                    claim=one.claim,
                    workload=one.workload,
                    host=one.host,
                    change=(contended or whole).workloads[index].change,
                    past=whole.workloads[index],
                    contended=contended.workloads[index] if contended else None,
                    latency=latencies[index],
                )
                for index, one in enumerate(claims)
            ),
        )
    )


def unknown_latency(gap: str) -> LatencyEffect:
    """No latency, for this reason."""
    return LatencyEffect(
        p95_before_ms=None,
        p95_after_ms=None,
        starved_min_before=0.0,
        starved_min_after=0.0,
        gap=gap,
    )


def _effect(found: WorkloadLatency) -> LatencyEffect:
    gap = ""
    if found.windows < ENOUGH_WINDOWS:
        gap = f"{found.windows} windows with I/O outstanding, {ENOUGH_WINDOWS} are needed"
    elif found.p95_before_ms is None or found.p95_after_ms is None:
        gap = "in no window it would get any I/O done"
    return LatencyEffect(
        p95_before_ms=found.p95_before_ms,
        p95_after_ms=found.p95_after_ms,
        starved_min_before=found.starved_min_before,
        starved_min_after=found.starved_min_after,
        gap=gap,
    )


def latency_interval(
    latency: LatencyEffect, rate: float, interval: Interval | None
) -> Interval | None:
    """Where the latency is expected if the rate comes to lie in its interval, by Little's law.

    What is outstanding stays, so latency times rate does. None where the rate may fall to 0.
    """
    if latency.p95_after_ms is None or interval is None or interval.low <= 0 or rate <= 0:
        return None
    return round_all(
        Interval(
            low=latency.p95_after_ms * (rate / interval.high),
            high=latency.p95_after_ms * (rate / interval.low),
            level=interval.level,
        )
    )
