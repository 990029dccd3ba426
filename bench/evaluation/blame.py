"""Attribution on simulated clusters, where the aggressor is known because we let it loose.

The simulator serves I/O by I/O and knows nothing of attribution: clients wait for answers, so
everybody's load falls when somebody else's rises.
"""

from collections import Counter
from random import Random

from advisor.core.attribution.attribution import Attribution, AttributionInputs, attribute
from advisor.core.attribution.measure import DEVICE_TIME
from advisor.core.attribution.workload_series import WorkloadSeries
from advisor.core.iosize import size_cost, size_normalized_ms
from advisor.lab.simulation.cluster import Cluster, Run, simulate
from advisor.lab.simulation.datastore import SimulatedDatastore
from advisor.lab.simulation.load import ALWAYS, Load, SimulatedWorkload, SteadyIo, Transactions
from bench.evaluation.table import table

SEEDS = range(3)
BUCKET_S = 1.0
WINDOWS = 90
DISKS = SimulatedDatastore(servers=8, access_s=0.004, bytes_per_s=60e6)
SMALL, LARGE = 8192, 262_144
AGGRESSOR = "w5"

AGGRESSORS: dict[str, Load | None] = {
    "many small I/Os at once": SteadyIo(outstanding_io=64, io_bytes=SMALL),
    "few large I/Os": SteadyIo(outstanding_io=16, io_bytes=LARGE),
    "more clients than the others": Transactions(
        clients=200, think_s=0.2, ios_per_transaction=4, io_bytes=SMALL
    ),
    "nobody: demand is even": None,
}


def evaluate() -> str:
    """The section as Markdown."""
    rows = []
    for name, load in AGGRESSORS.items():
        named = Counter(_verdict(_attribution(seed, load)) for seed in SEEDS)
        rows.append(
            [
                name,
                f"{len(SEEDS)} runs",
                str(named["right"]),
                str(named["wrong"]),
                str(named["nobody"]),
            ]
        )
    return table(["aggressor", "", "named first", "another named", "nobody named"], rows)


def _verdict(result: Attribution) -> str:
    if not result.aggressors:
        return "nobody"
    return "right" if result.aggressors[0] == AGGRESSOR else "wrong"


def _attribution(seed: int, load: Load | None) -> Attribution:
    calm = Transactions(clients=30, think_s=0.4, ios_per_transaction=3, io_bytes=SMALL)
    active = _spans(Random(seed)) if load is not None else ALWAYS
    workloads = [
        SimulatedWorkload(name=f"w{index}", host=f"h{index % 3}", load=calm) for index in range(5)
    ]
    workloads.append(
        SimulatedWorkload(name=AGGRESSOR, host="h2", load=load or calm, active=active)
    )
    cluster = Cluster(datastore=DISKS, workloads=tuple(workloads))
    run = simulate(cluster, duration_s=BUCKET_S * WINDOWS, bucket_s=BUCKET_S, seed=seed)
    return attribute(_inputs(run))


def _spans(random: Random) -> tuple[tuple[float, float], ...]:
    """On and off in stretches of 8 to 20 s, off first."""
    at = 0.0
    spans: list[tuple[float, float]] = []
    while True:
        begin = at + random.uniform(8, 20)
        at = begin + random.uniform(8, 20)
        if at > BUCKET_S * WINDOWS:
            return tuple(spans)
        spans.append((begin, at))


def _inputs(run: Run) -> AttributionInputs:
    """What a host would have stored, and the worse half of the time as the incident."""
    series = tuple(
        WorkloadSeries(
            workload=name,
            load=tuple(one.iops * size_cost(one.mean_io_bytes) for one in totals),
            harm=tuple(
                None
                if one.device_latency_ms is None
                else size_normalized_ms(one.device_latency_ms, one.mean_io_bytes)
                for one in totals
            ),
        )
        for name, totals in run.workloads.items()
    )
    whole = [
        sum(one[index].device_sum_s for one in run.workloads.values()) for index in range(WINDOWS)
    ]
    middle = sorted(whole)[WINDOWS // 2]
    return AttributionInputs(
        series=series,
        in_incident=tuple(one > middle for one in whole),
        window_s=BUCKET_S,
        measure=DEVICE_TIME,
    )
