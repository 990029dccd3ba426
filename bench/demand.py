"""Rates that policy advice predicts against rates simulated under the advised policy.

Fleets are planted: what each workload wants is known, and one of them lets loose. Each fleet runs
calm, then crowded, then under the advised policy. The same inputs are asked twice: without what
is known of calm windows and sizes ("unbounded"), and as the product does ("bounded").

    python -m bench.demand [--fleets 10] [--seed 1000] [--json]
"""

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

import numpy as np

from advisor.advice.policy.decide.policy_advice import advise
from advisor.advice.policy.decide.policy_answer import Recommendation
from advisor.advice.policy.decide.policy_inputs import AdviceInputs
from advisor.core.detection.congestion import DetectorSettings, detect
from advisor.core.detection.incident import fold_incidents
from advisor.core.detection.observed import readings_of
from advisor.core.detection.threshold import FixedThreshold
from advisor.resource_kinds.registry import traits_of
from bench.demand_fleets import WINDOWS, Fleet, at_window, datastore_fleet, uplink_fleet

MEDIAN_ASKED, P90_ASKED = 0.10, 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Errors:
    """Relative errors of the predictions of a run; `advised` of the fleets got advice."""

    headline: tuple[float, ...]
    everyone: tuple[float, ...]
    advised: int


def advice_for(fleet: Fleet, *, bounded: bool) -> Recommendation | None:
    """The advice, with or without what calm windows and sizes tell."""
    observations, allocations = fleet.observations, fleet.allocations
    if not bounded:
        observations = tuple(
            replace(
                one, allocations=tuple(replace(each, usual_rate=None) for each in one.allocations)
            )
            for one in observations
        )
        allocations = tuple(
            replace(allocation, usual=None, calm_rates=(), mean_io_bytes=None)
            for allocation in allocations
        )
    traits = traits_of(fleet.kind)
    mode = traits.modes[0]
    points = detect(
        readings_of(observations),
        settings=DetectorSettings(activity_floor=5.0),
        threshold=FixedThreshold(value=fleet.threshold),
    ).points
    incidents = fold_incidents(points, observations, mode)
    if not incidents:
        return None
    found = advise(
        AdviceInputs(
            resource="planted",
            kind=fleet.kind,
            unit=traits.units[0],
            mode=mode,
            capacity=fleet.capacity,
            reservable=None,
            began_at=incidents[-1].started_at,
            ended_at=at_window(2 * WINDOWS - 1),
            allocations=allocations,
            incident=incidents[-1],
        )
    )
    return found if isinstance(found, Recommendation) else None


def run(fleets: Sequence[Fleet], *, bounded: bool) -> Errors:
    """Errors over all fleets."""
    headline: list[float] = []
    everyone: list[float] = []
    advised = 0
    for fleet in fleets:
        advice = advice_for(fleet, bounded=bounded)
        if advice is None:
            continue
        advised += 1
        rows = advice.allocations
        errors = [
            abs(row.predicted_after - got) / got
            for row, got in zip(rows, fleet.happen(rows), strict=True)
        ]
        everyone += errors
        lead = lead_of(advice.summary)
        headline += [
            error for row, error in zip(rows, errors, strict=True) if row.workload == lead
        ]
    return Errors(headline=tuple(headline), everyone=tuple(everyone), advised=advised)


def lead_of(summary: str) -> str:
    """Whose gain the sentence tells: "...: w1 gets" or "for w1 ...: it gets"."""
    lead = summary.rsplit(": ", 1)[1].split(" ", 1)[0]
    return summary.split(" for ", 1)[1].split(" ", 1)[0] if lead == "it" else lead


Row = dict[str, object]


def rows_of(name: str, fleets: Sequence[Fleet]) -> list[Row]:
    """What was asked and what was measured, the former rule beside it."""
    old, new = run(fleets, bounded=False), run(fleets, bounded=True)
    found: list[Row] = [
        {
            "what": f"{name}: fleets with advice, of {len(fleets)} (unbounded {old.advised})",
            "unit": "fleets",
            "asked": f">= {old.advised}",
            "measured": new.advised,
            "holds": new.advised >= old.advised,
        }
    ]
    for part in ("headline", "everyone"):
        for level, asked in ((50, MEDIAN_ASKED), (90, P90_ASKED)):
            was, now = (float(np.percentile(getattr(one, part), level)) for one in (old, new))
            found += [
                {
                    "what": f"{name}: {part}, p{level} of |predicted - simulated| / simulated, "
                    f"{words}",
                    "unit": "ratio",
                    "asked": f"<= {asked}",
                    "measured": round(value, 3),
                    "holds": value <= asked,
                }
                for words, value in (("unbounded", was), ("bounded", now))
            ]
    return found


def main() -> None:
    """Print the rows."""
    parser = argparse.ArgumentParser(description="predicted against simulated rates")
    parser.add_argument("--fleets", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1000)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    rows: list[Row] = []
    for name, plant in (("uplink", uplink_fleet), ("datastore", datastore_fleet)):
        fleets = [plant(Random(asked.seed + number)) for number in range(asked.fleets)]
        rows += rows_of(name, fleets)
    if asked.json:
        print(json.dumps(rows, indent=1))
    else:
        for row in rows:
            holds = "holds" if row["holds"] else "does not hold"
            print(f"{row['what']}: {row['measured']} {row['unit']}, {row['asked']}: {holds}")


if __name__ == "__main__":
    main()
