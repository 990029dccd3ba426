"""SIOC on NFS, test 2: small I/Os of DVD Store beside large random reads of Iometer."""

from collections.abc import Mapping

from advisor.core.allocation import Allocation
from advisor.core.iosize import size_cost
from advisor.lab.replay.experiment import Outcome
from advisor.lab.replay.figure import Figure, bars, over_time
from advisor.lab.replay.studies.sioc_nfs_orders import (
    DATASTORE,
    WENT_IN,
    change_pct,
    control,
    order_vm,
)
from advisor.lab.replay.study import experiment
from advisor.lab.simulation.cluster import Cluster, Run, simulate
from advisor.lab.simulation.load import SimulatedWorkload, SteadyIo

EXPERIMENT = experiment("sioc-nfs-mixed-sizes")
THRESHOLD_MS = 10.0
USERS = 72
LARGE_BYTES = 64 * 1024
LARGE_OUTSTANDING_IO = 12
DURATION_S = 300.0
SETTLED_S = 60.0


def play() -> Outcome:
    """Alone, beside Iometer, and beside Iometer with shares and control."""
    alone = _run(beside=False, orders_shares=1000.0, large_shares=1000.0, threshold_ms=None)
    default = _run(beside=True, orders_shares=1000.0, large_shares=1000.0, threshold_ms=None)
    managed = _run(
        beside=True, orders_shares=2000.0, large_shares=500.0, threshold_ms=THRESHOLD_MS
    )
    runs = {"alone": alone, "default": default, "with SIOC": managed}
    orders_pct = {label: _orders_pct(run, alone) for label, run in runs.items()}
    first, beside, shared = (run.of("VM 1", SETTLED_S) for run in runs.values())
    large, less = (run.of("Iometer", SETTLED_S).iops for run in (default, managed))
    ours, other = (managed.window(host, SETTLED_S) for host in ("host 1", "host 2"))
    return Outcome(
        values=WENT_IN
        | {
            "duration_s": DURATION_S,
            "size_ratio": size_cost(LARGE_BYTES) / size_cost(8192),
            "orders_default": orders_pct["default"],
            "orders_managed": orders_pct["with SIOC"],
            "slots_ratio": ours / other,
            "slots": ours + other,
            "fifth": (ours + other) / 5,
            "latency_default_change": change_pct(
                first.device_latency_ms, beside.device_latency_ms
            ),
            "order_time_change": change_pct(first.transaction_ms, beside.transaction_ms),
            "large_change": change_pct(large, less),
            "latency_managed_change": change_pct(
                beside.device_latency_ms, shared.device_latency_ms
            ),
        },
        figures=_figures(runs, orders_pct),
    )


def _run(
    *, beside: bool, orders_shares: float, large_shares: float, threshold_ms: float | None
) -> Run:
    orders = order_vm("VM 1", shares=orders_shares, users=USERS)
    large = SimulatedWorkload(
        name="Iometer",
        host="host 2",
        load=SteadyIo(outstanding_io=LARGE_OUTSTANDING_IO, io_bytes=LARGE_BYTES),
        allocation=Allocation(shares=large_shares),
    )
    cluster = Cluster(
        datastore=DATASTORE,
        workloads=(orders, large) if beside else (orders,),
        control=control(threshold_ms),
    )
    return simulate(cluster, duration_s=DURATION_S, bucket_s=10, seed=1)


def _orders_pct(run: Run, alone: Run) -> float:
    mine, whole = run.of("VM 1", SETTLED_S), alone.of("VM 1", SETTLED_S)
    return 100 * mine.transactions_per_s / whole.transactions_per_s


def _figures(runs: Mapping[str, Run], orders_pct: Mapping[str, float]) -> tuple[Figure, ...]:
    managed = runs["with SIOC"]
    return (
        bars(
            "figure 6",
            "DVD Store beside 64 KiB random reads",
            "orders, alone = 100",
            places=list(runs),
            series={"simulated": [orders_pct[label] for label in runs]},
            printed={
                "simulated": [
                    100.0,
                    EXPERIMENT.number("orders_default"),
                    EXPERIMENT.number("orders_managed"),
                ]
            },
        ),
        over_time(
            "figure 6, over time",
            "Orders of DVD Store",
            "orders per second",
            times_s=managed.times_s,
            series={
                label: [each.transactions_per_s for each in run.workloads["VM 1"]]
                for label, run in runs.items()
            },
        ),
        over_time(
            "figure 6, windows",
            "Windows with SIOC",
            "slots",
            times_s=managed.times_s,
            series=dict(managed.windows),
            is_logarithmic=True,
        ),
    )
