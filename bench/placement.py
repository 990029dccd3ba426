"""How good advice on placement is, and how long it takes.

Run `python -m bench.placement`. The first table compares plans of small generated clusters with
the optimum of a mixed-integer program (`bench.placement_optimum`). The second tells times in large
clusters: full ones where no move helps, so that all single moves and all exchanges are weighed,
and uneven ones where many do. The rival is the plain search: the exact effect of every pair of
virtual disks, whose time is told from a part of the pairs.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path
from random import Random

import numpy as np

from advisor.advice.placement.decide.disk_answer import PlacementAdvice
from advisor.advice.placement.decide.disk_inputs import (
    DatastoreState,
    PlacementInputs,
    PlacementRules,
    VdiskState,
)
from advisor.advice.placement.decide.disk_layout import layout_of
from advisor.advice.placement.decide.disk_placement import advise_placement
from advisor.advice.placement.decide.move_effect import move_effect
from bench.placement_optimum import REL_GAP, optimum, plan_cost

SIZES = ((10, 200), (20, 1_000), (50, 2_000), (50, 10_000))
SAMPLED_PAIRS = 20_000
NOW = datetime(2026, 1, 1, tzinfo=UTC)

CLUSTERS = 200
ASKED_GAP = 0.02
ASKED_S = {1_000: 1.0, 10_000: 5.0}
"""Most seconds for clusters of up to so many virtual disks."""

Row = dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """A plan beside the optimum; gaps are parts of the optimum's cost."""

    gap: float
    saved: float
    possible: float
    proved: bool


def small_cluster(seed: int) -> PlacementInputs:
    """3 to 5 datastores with 12 to 16 virtual disks; one or more are above the threshold.

    One datastore has more virtual disks than the others, room runs from plenty to none, and some
    virtual disks belong together or apart.
    """
    random = Random(seed)
    names = [f"ds{number}" for number in range(random.randint(3, 5))]
    crowded = random.choice(names)
    weights = [3 if name == crowded else 1 for name in names]
    vdisks = tuple(
        VdiskState(
            vdisk=f"v{number:02}",
            workload=f"w{number // 2:02}",
            datastore=random.choices(names, weights)[0],
            size_bytes=random.uniform(2e10, 3e11),
            outstanding_io=0.1 + random.expovariate(1 / 6),
            iops=random.uniform(50, 1500),
        )
        for number in range(random.randint(12, 16))
    )
    datastores = []
    for name in names:
        used = sum(one.size_bytes for one in vdisks if one.datastore == name)
        datastores.append(
            DatastoreState(
                datastore=name,
                intercept_ms=random.uniform(0.3, 2),
                slope_ms=random.uniform(0.05, 0.4),
                capacity_bytes=1e11 + used / random.uniform(0.35, 0.8),
                used_bytes=used,
                copy_bytes_per_s=random.choice([1e8, 2e8, 4e8]),
            )
        )
    inputs = PlacementInputs(
        datastores=tuple(datastores),
        vdisks=vdisks,
        now=NOW,
        rules=_rules(random, vdisks),
        samples=200,
    )
    known = [load.latency_ms for load in layout_of(inputs).loads.values()]
    latencies = sorted(one for one in known if one is not None)
    least = latencies[-2] if random.random() < 0.6 else latencies[0]
    return replace(inputs, threshold_ms=random.uniform(least, latencies[-1]))


def _rules(random: Random, vdisks: tuple[VdiskState, ...]) -> PlacementRules:
    """Up to two pairs of each kind, of those that lie as the rule wants."""
    alike: list[tuple[str, str]] = []
    unlike: list[tuple[str, str]] = []
    for one, other in combinations(vdisks, 2):
        pair = (one.vdisk, other.vdisk)
        (alike if one.datastore == other.datastore else unlike).append(pair)
    return PlacementRules(
        vdisks_together=tuple(random.sample(alike, min(random.randint(0, 2), len(alike)))),
        vdisks_apart=tuple(random.sample(unlike, min(random.randint(0, 2), len(unlike)))),
    )


def compared(inputs: PlacementInputs, *, limit_s: float) -> Compared:
    """Our plan beside the optimum of the same cluster."""
    answer = advise_placement(inputs)
    targets: dict[str, str] = {}
    for move in answer.moves if isinstance(answer, PlacementAdvice) else ():
        targets |= dict.fromkeys(move.vdisks, move.target)
        targets |= dict.fromkeys(move.in_return, move.source)
    best = optimum(inputs, limit_s=limit_s)
    now, ours = plan_cost(inputs, {}), plan_cost(inputs, targets)
    return Compared(
        gap=(ours - best.bound) / best.bound,
        saved=(now - ours) / now,
        possible=(now - best.bound) / now,
        proved=best.cost - best.bound <= 10 * REL_GAP * best.cost,
    )


def gap_rows(found: list[Compared]) -> list[Row]:
    """The gap in the middle, which is asked for, and what tells how it is spread."""
    gaps = [one.gap for one in found]
    what = f"cost above the optimum of a MILP (HiGHS), {len(found)} clusters"
    rows = [
        _row(f"{what}, median", "part of cost", float(np.median(gaps)), asked=ASKED_GAP),
        _row(f"{what}, p95", "part of cost", float(np.percentile(gaps, 95))),
        _row(f"{what}, worst", "part of cost", max(gaps)),
        _row("clusters at the optimum", "clusters", sum(gap <= 1e-5 for gap in gaps)),
        _row("optimum proved", "clusters", sum(one.proved for one in found)),
    ]
    for name in ("saved", "possible"):
        mean = float(np.mean([getattr(one, name) for one in found]))
        rows.append(_row(f"{name} of the cost before, mean", "part of cost", mean))
    return rows


def _row(what: str, unit: str, measured: float, *, asked: float | None = None) -> Row:
    return {
        "what": what,
        "unit": unit,
        "asked": None if asked is None else f"<= {asked}",
        "measured": round(measured, 6),
        "holds": None if asked is None else measured <= asked,
    }


def cluster(datastores: int, vdisks: int, seed: int) -> PlacementInputs:
    """Full datastores of like speed, all slow."""
    random = Random(seed)
    return PlacementInputs(
        datastores=tuple(
            DatastoreState(
                datastore=f"ds{number:02}",
                intercept_ms=random.uniform(0.5, 2),
                slope_ms=random.uniform(0.1, 0.2),
                capacity_bytes=1e13,
                used_bytes=0.79e13,
                copy_bytes_per_s=1e8,
            )
            for number in range(datastores)
        ),
        vdisks=tuple(
            VdiskState(
                vdisk=f"v{number:05}",
                workload=f"w{number:05}",
                datastore=f"ds{random.randrange(datastores):02}",
                size_bytes=random.uniform(5e10, 3e11),
                outstanding_io=random.uniform(1, 20),
                iops=random.uniform(50, 1000),
            )
            for number in range(vdisks)
        ),
        now=NOW,
        threshold_ms=1.0,
        samples=200,
    )


def uneven_cluster(datastores: int, vdisks: int, seed: int) -> PlacementInputs:
    """The same with room, a few very busy virtual disks, and half of the datastores slow."""
    random, even = Random(seed), cluster(datastores, vdisks, seed)
    inputs = replace(
        even,
        datastores=tuple(replace(one, used_bytes=0.3e13) for one in even.datastores),
        vdisks=tuple(
            replace(
                one,
                outstanding_io=random.paretovariate(0.8),
                iops=50 * random.paretovariate(1.0),
            )
            for one in even.vdisks
        ),
    )
    latencies = [load.latency_ms or 0.0 for load in layout_of(inputs).loads.values()]
    return replace(inputs, threshold_ms=float(np.median(latencies)))


def plain_search_s(inputs: PlacementInputs) -> float:
    """The time for every pair of virtual disks of two datastores, from a part of them."""
    layout = layout_of(inputs)
    random, vdisks = Random(0), list(layout.vdisks.values())
    pairs = [(random.choice(vdisks), random.choice(vdisks)) for _ in range(SAMPLED_PAIRS)]
    begin = time.process_time()
    for one, other in pairs:
        ends = [(layout.datastores[x.datastore], layout.loads[x.datastore]) for x in (one, other)]
        move_effect([one], ends[0], ends[1], inputs, back=[other])
    each_s = (time.process_time() - begin) / SAMPLED_PAIRS
    return each_s * len(vdisks) ** 2 / 2


def time_rows(seed: int) -> Iterator[Row]:
    """CPU time of the plan in clusters of all sizes."""
    for datastores, vdisks in SIZES:
        for name, make in (("full", cluster), ("uneven", uneven_cluster)):
            inputs = make(datastores, vdisks, seed)
            begin = time.process_time()
            answer = advise_placement(inputs)
            took_s = time.process_time() - begin
            what = f"plan of {vdisks:,} virtual disks on {datastores} datastores, {name}"
            asked = min(limit for size, limit in ASKED_S.items() if vdisks <= size)
            yield _row(f"{what}, {answer.outcome}", "CPU seconds", took_s, asked=asked)
        yield _row(
            f"plain search of {vdisks:,}'s exchanges", "CPU seconds", plain_search_s(inputs)
        )


def main(argv: list[str]) -> int:
    """Print the rows; exit status 1 if one does not hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--clusters", type=int, default=CLUSTERS)
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for each optimum")
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args(argv)
    rows = []
    for row in _measured(options.seed, options.clusters, options.limit):
        rows.append(row)
        holds = "" if row["holds"] is None else "holds" if row["holds"] else "does not hold"
        print(f"{row['what']:78}  {row['measured']:>12} {row['unit']:12}  {holds}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2) + "\n")
    return int(any(row["holds"] is False for row in rows))


def _measured(seed: int, clusters: int, limit_s: float) -> Iterator[Row]:
    yield from time_rows(seed)
    begin = 1_000 * seed
    seeds = range(begin, begin + clusters)
    if seeds:
        yield from gap_rows([compared(small_cluster(one), limit_s=limit_s) for one in seeds])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
