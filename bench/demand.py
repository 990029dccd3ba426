"""Rates that policy advice predicts against rates simulated under the advised policy.

Fleets are planted: what each workload wants is known, and one of them lets loose. Each fleet runs
calm, then crowded, then under the advised policy. The same inputs are asked twice: without what
is known of calm windows and sizes ("unbounded"), and as the product does ("bounded").

    python -m bench.demand [--fleets 10] [--seed 1000] [--json]
"""

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from random import Random
from statistics import mean

import numpy as np

from advisor.advice.policy.decide.policy_advice import advise
from advisor.advice.policy.decide.policy_answer import Recommendation
from advisor.advice.policy.decide.policy_inputs import (
    AdviceAllocation,
    AdviceInputs,
    summarize_rates,
)
from advisor.advice.shared.decide.recommended_allocation import RecommendedAllocation
from advisor.core.allocation import Allocation, Node
from advisor.core.detection.congestion import DetectorSettings, detect
from advisor.core.detection.incident import fold_incidents
from advisor.core.detection.threshold import FixedThreshold
from advisor.core.observation import (
    AllocationObservation,
    DatastoreObservation,
    HostLatency,
    Observation,
    UplinkObservation,
)
from advisor.core.resource import ResourceKind, Tier
from advisor.lab.simulation.cluster import Cluster, Run, simulate
from advisor.lab.simulation.datastore import SimulatedDatastore
from advisor.lab.simulation.load import SimulatedWorkload, SteadyIo, Transactions
from advisor.lab.simulation.uplink import SimulatedUplink, Stream, transmit
from advisor.resource_kinds.registry import traits_of

BEGAN_AT = datetime(2026, 1, 1, tzinfo=UTC)
WINDOW_S = 2.0
WINDOWS = 40
"""Calm windows, and as many crowded ones."""
PHASE_S = WINDOW_S * WINDOWS
SETTLED = 5
"""Of each phase the first windows are left out."""
UPLINK_BITS_PER_S = 100e6
PIECE_BYTES = 64 * 1024
FULL_RATIO = 0.95
SMALL, LARGE = 8_000, 64_000
# A large I/O takes as much longer as the product takes for granted (51 kB cost an access).
DISKS = SimulatedDatastore(servers=8, access_s=0.004, bytes_per_s=51_000 / 0.004)
FREE_DEPTH, HELD_DEPTH = 256.0, 24.0
"""I/Os a host keeps at the datastore without a policy, and with one, as in the evaluation of
policies. It costs a part of the peak: N / (D - 1 + N) is had with N at D servers."""
GROWN_RATIO, GROWN_PART = 1.3, 0.15
"""So many of the senders want so much more from the crowded phase on, which nobody can see."""
MEDIAN_ASKED, P90_ASKED = 0.10, 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """Observations of both phases, the allocations, and a way to let a policy happen."""

    kind: ResourceKind
    observations: tuple[Observation, ...]
    allocations: tuple[AdviceAllocation, ...]
    threshold: float
    capacity: float | None
    happen: Callable[[Sequence[RecommendedAllocation]], list[float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Errors:
    """Relative errors of the predictions of a run; `advised` of the fleets got advice."""

    headline: tuple[float, ...]
    everyone: tuple[float, ...]
    advised: int


def uplink_fleet(random: Random) -> Fleet:
    """Workloads that send a steady rate, and one that sends all it can by many connections."""
    count = random.randint(3, 6)
    load = random.uniform(0.5, 0.85) * UPLINK_BITS_PER_S
    parts = [random.uniform(0.3, 1.0) for _ in range(count)]
    rates = [load * part / sum(parts) for part in parts]
    streams = [Stream(path=f"/link/w{i}", rate_bits_per_s=rate) for i, rate in enumerate(rates)]
    later = [
        replace(one, rate_bits_per_s=rate * (GROWN_RATIO if random.random() < GROWN_PART else 1.0))
        for one, rate in zip(streams, rates, strict=True)
    ]
    greedy = Stream(path=f"/link/w{count}", starts_s=PHASE_S)
    quiet = Stream(path=f"/link/w{count}", rate_bits_per_s=2e6, ends_s=PHASE_S)
    flows = [1.0] * count + [float(random.randint(2, 8))]

    def sent(nodes: Sequence[Node], found: Sequence[Stream], length_s: float) -> list[list[float]]:
        link = SimulatedUplink(
            capacity_bits_per_s=UPLINK_BITS_PER_S,
            tree=Node(name="link", children=tuple(nodes)),
            piece_bytes=PIECE_BYTES,
        )
        rows = transmit(link, found, duration_s=length_s, bucket_s=WINDOW_S)
        return [list(rows[f"/link/w{i}"]) for i in range(count + 1)]

    free = [Node(name=f"w{i}", shares=shares) for i, shares in enumerate(flows)]
    before = sent(free, [*streams, quiet], PHASE_S)
    crowded = sent(free, [*later, replace(greedy, starts_s=0.0)], PHASE_S)
    rows = [[*calm, *bad] for calm, bad in zip(before, crowded, strict=True)]

    def happen(allocations: Sequence[RecommendedAllocation]) -> list[float]:
        nodes = [
            Node(name=f"w{i}", reservation=one.reservation, limit=one.limit, shares=one.shares)
            for i, one in enumerate(allocations)
        ]
        found = sent(nodes, [*later, replace(greedy, starts_s=0.0)], PHASE_S)
        return [mean(row[SETTLED:]) for row in found]

    tiers = [random.choice((Tier.HIGH, Tier.MEDIUM)) for _ in range(count)] + [Tier.LOW]
    allocations = _allocations(rows, tiers, sizes=[None] * (count + 1))
    observations = tuple(
        UplinkObservation(
            at=_at(index),
            window_s=WINDOW_S,
            tx_bits_per_s=sum(row[index] for row in rows),
            capacity_bits_per_s=UPLINK_BITS_PER_S,
            allocations=_seen(allocations, rows, index),
        )
        for index in range(2 * WINDOWS)
    )
    return Fleet(
        kind=ResourceKind.UPLINK,
        observations=observations,
        allocations=allocations,
        threshold=FULL_RATIO,
        capacity=UPLINK_BITS_PER_S,
        happen=happen,
    )


def datastore_fleet(random: Random) -> Fleet:
    """Clients that think between I/Os of 8 or 64 kB, and a job that keeps many outstanding."""
    count = random.randint(3, 6)
    sizes = [random.choice((SMALL, LARGE)) for _ in range(count + 1)]
    loads = [
        Transactions(
            clients=random.randint(6, 14),
            think_s=random.uniform(0.03, 0.12) * count / 3,
            ios_per_transaction=1,
            io_bytes=size,
        )
        for size in sizes[:-1]
    ]
    job = SteadyIo(outstanding_io=random.randint(40, 120), io_bytes=sizes[-1])
    seeds = [random.randrange(10**6) for _ in range(2)]

    def run(allocations: Sequence[Allocation], *, since_s: float, depth: float, seed: int) -> Run:
        workloads = [
            SimulatedWorkload(name=f"w{i}", host="h1", load=load, allocation=allocations[i])
            for i, load in enumerate(loads)
        ]
        workloads.append(
            SimulatedWorkload(
                name=f"w{count}",
                host="h1",
                load=job,
                allocation=allocations[count],
                active=((since_s, float("inf")),),
            )
        )
        cluster = Cluster(datastore=DISKS, workloads=tuple(workloads), queue_depth=depth)
        length_s = PHASE_S + since_s
        return simulate(cluster, duration_s=length_s, bucket_s=WINDOW_S, seed=seed)

    even = [Allocation(shares=1000.0)] * (count + 1)
    past = run(even, since_s=PHASE_S, depth=FREE_DEPTH, seed=seeds[0])
    rows = [[one.iops for one in past.workloads[f"w{i}"]] for i in range(count + 1)]

    def happen(allocations: Sequence[RecommendedAllocation]) -> list[float]:
        # The host orders I/Os one by one; divided by their cost, shares are of device time.
        settings = [
            Allocation(one.reservation, one.limit, one.shares / _cost(size))
            for one, size in zip(allocations, sizes, strict=True)
        ]
        found = run(settings, since_s=0.0, depth=HELD_DEPTH, seed=seeds[1])
        return [found.of(f"w{i}", SETTLED * WINDOW_S).iops for i in range(count + 1)]

    tiers = [random.choice((Tier.HIGH, Tier.MEDIUM)) for _ in range(count)] + [Tier.LOW]
    waits = [random.choice((None, True)) for _ in range(count + 1)]
    allocations = _allocations(rows, tiers, sizes=sizes, waits=waits)
    hosts = [
        sum(past.workloads[f"w{i}"][index].device_sum_s for i in range(count + 1))
        / max(1.0, sum(past.workloads[f"w{i}"][index].ios for i in range(count + 1)))
        * 1000
        for index in range(2 * WINDOWS)
    ]
    observations = tuple(
        DatastoreObservation(
            at=_at(index),
            window_s=WINDOW_S,
            hosts=(
                HostLatency(
                    host="h1",
                    latency_ms=hosts[index],
                    io_count=sum(row[index] for row in rows) * WINDOW_S,
                ),
            ),
            allocations=_seen(allocations, rows, index),
        )
        for index in range(2 * WINDOWS)
    )
    return Fleet(
        kind=ResourceKind.DATASTORE,
        observations=observations,
        allocations=allocations,
        threshold=1.3 * max(hosts[SETTLED:WINDOWS]),
        capacity=None,
        happen=happen,
    )


def _cost(size: int) -> float:
    return (51_000 + size) / (51_000 + SMALL)


def _at(index: int) -> datetime:
    return BEGAN_AT + timedelta(seconds=WINDOW_S * (index + 1))


def _allocations(
    rows: Sequence[Sequence[float]],
    tiers: Sequence[Tier],
    *,
    sizes: Sequence[int | None],
    waits: Sequence[bool | None] | None = None,
) -> tuple[AdviceAllocation, ...]:
    return tuple(
        AdviceAllocation(
            allocation=index,
            workload=f"w{index}",
            host="h1",
            tier=tier,
            usual=summarize_rates(row[SETTLED:WINDOWS], span_days=1.0),
            congested=summarize_rates(row[WINDOWS + SETTLED :], span_days=1.0),
            mean_io_bytes=size,
            backlogged=None if waits is None else waits[index],
        )
        for index, (row, tier, size) in enumerate(zip(rows, tiers, sizes, strict=True))
    )


def _seen(
    allocations: Sequence[AdviceAllocation], rows: Sequence[Sequence[float]], index: int
) -> tuple[AllocationObservation, ...]:
    return tuple(
        AllocationObservation(
            workload=allocation.workload,
            rate=row[index],
            shares=float(allocation.stated_shares),
            backlogged=allocation.backlogged,
            mean_io_bytes=allocation.mean_io_bytes,
            usual_rate=None if allocation.usual is None else allocation.usual.mean,
        )
        for allocation, row in zip(allocations, rows, strict=True)
    )


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
            replace(allocation, usual=None, mean_io_bytes=None) for allocation in allocations
        )
    traits = traits_of(fleet.kind)
    mode = traits.modes[0]
    points = detect(
        observations,
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
            ended_at=_at(2 * WINDOWS - 1),
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
