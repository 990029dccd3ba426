"""The product's advice on the windows of a run, and what of it is kept beside what happened."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from advisor.advice.policy.decide.host_traffic import HostTraffic
from advisor.advice.policy.decide.policy_advice import advise
from advisor.advice.policy.decide.policy_answer import Recommendation
from advisor.advice.policy.decide.policy_inputs import (
    AdviceAllocation,
    AdviceInputs,
    summarize_rates,
)
from advisor.core.demand.latency import SeenLatency
from advisor.core.detection.congestion import DetectorSettings, detect
from advisor.core.detection.incident import fold_incidents
from advisor.core.detection.observed import readings_of
from advisor.core.detection.threshold import FixedThreshold
from advisor.core.observation import AllocationObservation, Observation
from advisor.core.resource import Tier
from advisor.core.waterfill import Floats
from advisor.resource_kinds.registry import traits_of

WINDOW_S = 2.0
BEGAN_AT = datetime(2026, 1, 1, tzinfo=UTC)


def window_end(number: int) -> datetime:
    """When a window ends; those of all phases are counted on."""
    return BEGAN_AT + timedelta(seconds=WINDOW_S * (number + 1))


def allocations_of(
    calm: Floats,
    crowded: Floats,
    *,
    tiers: Sequence[Tier],
    reservations: Sequence[float],
    io_bytes: Sequence[float | None] | None = None,
) -> tuple[AdviceAllocation, ...]:
    """An allocation for each column of rates, (windows, workloads)."""
    return tuple(
        AdviceAllocation(
            allocation=place,
            workload=f"vm{place + 1}",
            host="h1",
            tier=tiers[place],
            reservation=reservations[place],
            usual=summarize_rates(usual, span_days=1.0),
            congested=summarize_rates(rates, span_days=1.0),
            calm_rates=tuple(usual.tolist()),
            congested_rates=tuple(rates.tolist()),
            active=bool(rates.any()),
            mean_io_bytes=None if io_bytes is None else io_bytes[place],
        )
        for place, (usual, rates) in enumerate(zip(calm.T, crowded.T, strict=True))
    )


def observed(
    allocations: Sequence[AdviceAllocation],
    rates: Sequence[float],
    io_bytes: Sequence[float | None] | None = None,
) -> tuple[AllocationObservation, ...]:
    """What each of them got in a window."""
    sizes = [None] * len(rates) if io_bytes is None else io_bytes
    return tuple(
        AllocationObservation(
            workload=one.workload,
            rate=rate,
            reservation=one.reservation,
            shares=float(one.stated_shares),
            mean_io_bytes=size,
            usual_rate=None if one.usual is None else one.usual.mean,
        )
        for one, rate, size in zip(allocations, rates, sizes, strict=True)
    )


def advice_on(
    kind: str,
    observations: Sequence[Observation],
    allocations: Sequence[AdviceAllocation],
    *,
    threshold: float,
    activity_floor: float,
    capacity: float | None,
    latency: SeenLatency | None = None,
) -> object:
    """The advice on the last incident in these windows, or a word on why there is none."""
    traits = traits_of(kind)
    points = detect(
        readings_of(observations),
        settings=DetectorSettings(activity_floor=activity_floor),
        threshold=FixedThreshold(value=threshold),
    ).points
    incidents = fold_incidents(points, observations, traits.modes[0])
    if not incidents:
        return "no incident"
    host_part = traits.host_part
    return advise(
        AdviceInputs(
            resource="lab",
            kind=kind,
            unit=traits.units[0],
            mode=traits.modes[0],
            capacity=capacity,
            reservable=None,
            began_at=incidents[-1].started_at,
            ended_at=observations[-1].at,
            allocations=tuple(allocations),
            incident=incidents[-1],
            host_traffic=None
            if host_part is None or capacity is None
            else HostTraffic(reservation=host_part(capacity), demand=0.0),
            latency=latency,
        )
    )


def write_run(what: str | None, run: Callable[[int, float], dict[str, Any]]) -> None:
    """The command of one run: `run` gets the seed and the seconds of each phase."""
    parser = argparse.ArgumentParser(description=what)
    parser.add_argument("seed", type=int)
    parser.add_argument("--phase", type=float, default=60.0, help="seconds of each phase")
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    asked.out.write_text(json.dumps(run(asked.seed, asked.phase)) + "\n")


def without_advice(advice: object) -> dict[str, Any]:
    """What is kept of a run in which nothing was recommended."""
    return {"advice": None, "why": str(getattr(advice, "summary", advice))}


def predicted(
    advice: Recommendation,
    loads: Sequence[str],
    measured: Sequence[float],
    latency_ms: Sequence[float | None] | None = None,
) -> dict[str, Any]:
    """What was said of each workload, and what it got."""
    return {
        "advice": advice.summary,
        "lead": advice.lead or None,
        "workloads": [
            {
                "workload": row.workload,
                "load": loads[place],
                "before": row.measured,
                "predicted": row.predicted_after,
                "low": None if row.interval is None else row.interval.low,
                "high": None if row.interval is None else row.interval.high,
                "unsure": row.unsure,
                "reservation": row.reservation,
                "limit": row.limit,
                "shares": row.shares,
                "measured": measured[place],
                "latency_now": row.latency_now_ms,
                "latency_predicted": row.latency_ms,
                "latency_low": None if row.latency_interval is None else row.latency_interval.low,
                "latency_high": None
                if row.latency_interval is None
                else row.latency_interval.high,
                "latency": None if latency_ms is None else latency_ms[place],
            }
            for place, row in enumerate(advice.allocations)
        ],
    }
