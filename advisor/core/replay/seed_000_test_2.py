"""Seed 000, test 2: small I/Os of DVD Store beside large random reads of Iometer."""

from collections.abc import Mapping

from advisor.core.allocation import Allocation
from advisor.core.iosize import size_cost
from advisor.core.replay.experiment import Basis, Experiment, Premise, Replay
from advisor.core.replay.figure import Figure, bars, over_time
from advisor.core.replay.finding import (
    NONE,
    POLICY,
    Finding,
    Relation,
    compare,
    not_modelled,
    of_change,
)
from advisor.core.replay.seed_000_orders import DATASTORE, PREMISES, control, order_vm
from advisor.core.replay.seed_000_test_1 import change_pct
from advisor.core.simulation.cluster import Cluster, Run, simulate
from advisor.core.simulation.load import SimulatedWorkload, SteadyIo

NAME = "000-test-2"
TITLE = "SIOC on NFS: small requests beside large ones"
THRESHOLD_MS = 10.0
USERS = 72
LARGE_BYTES = 64 * 1024
LARGE_OUTSTANDING_IO = 12
DURATION_S = 300.0
SETTLED_S = 60.0

SIZE_WHY = (
    f"a read of 64 KiB costs this model's disks {size_cost(LARGE_BYTES) / size_cost(8192):.1f} "
    "times a small one; the study's loss needs about 5 times, and it prints nothing to calibrate "
    "that on"
)

PREMISES_OF_TEST_2 = (
    Premise(
        quantity="length of a run",
        value=DURATION_S,
        unit="s",
        basis=Basis.ASSUMED,
        source="600 s in the study; the rates do not depend on it",
    ),
    Premise(
        quantity="time to think",
        value=0.5,
        unit="s",
        basis=Basis.ASSUMED,
        source="as in test 1; the study does not repeat it",
    ),
    Premise(
        quantity="device time of a 64 KiB read, against an 8 KiB one",
        value=size_cost(LARGE_BYTES) / size_cost(8192),
        unit="ratio",
        basis=Basis.DEFAULT,
        source="the product's size term",
    ),
)

ORDERS_PCT = {"alone": 100.0, "default": 65.0, "with SIOC": 83.0}
"""Orders of DVD Store as the seed prints them, those without Iometer being 100."""


def play() -> Replay:
    """Alone, beside Iometer, and beside Iometer with shares and control."""
    alone = _run(beside=False, orders_shares=1000.0, large_shares=1000.0, threshold_ms=None)
    default = _run(beside=True, orders_shares=1000.0, large_shares=1000.0, threshold_ms=None)
    managed = _run(
        beside=True, orders_shares=2000.0, large_shares=500.0, threshold_ms=THRESHOLD_MS
    )
    runs = {"alone": alone, "default": default, "with SIOC": managed}
    orders_pct = {label: _orders_pct(run, alone) for label, run in runs.items()}
    return Replay(
        experiment=NAME,
        title=TITLE,
        premises=(*PREMISES, *PREMISES_OF_TEST_2),
        findings=(
            *_throughput(orders_pct),
            _slots(managed),
            *_directions(runs),
            _with_more_shares(),
        ),
        figures=_figures(runs, orders_pct),
    )


EXPERIMENT = Experiment(name=NAME, title=TITLE, play=play)


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


def _throughput(orders_pct: Mapping[str, float]) -> list[Finding]:
    differs = {
        "default": SIZE_WHY,
        "with SIOC": "large reads cost the model's disks too little, as in the default run, so "
        "that there is less to lose",
    }
    return [
        compare(
            f"orders beside Iometer, {label}",
            "% of alone",
            seed_value=ORDERS_PCT[label],
            value=orders_pct[label],
            tolerance=of_change(ORDERS_PCT[label] - ORDERS_PCT["alone"]),
            why="nothing of this test was calibrated on",
            differs=reason,
        )
        for label, reason in differs.items()
    ]


def _slots(managed: Run) -> Finding:
    ours, other = managed.window("host 1", SETTLED_S), managed.window("host 2", SETTLED_S)
    return compare(
        "slots of DVD Store against those of Iometer, with SIOC",
        "ratio",
        seed_value=4.0,
        value=ours / other,
        tolerance=POLICY,
        why="mean windows of the two hosts; shares are 2000 and 500",
        differs=f"a fifth of the {ours + other:.1f} slots at which the windows come to rest "
        f"would be {(ours + other) / 5:.1f}, and no window is smaller than 4",
    )


def _directions(runs: Mapping[str, Run]) -> list[Finding]:
    """What the seed says only as up or down; 0 is the number that must not be passed."""
    orders = {label: run.of("VM 1", SETTLED_S) for label, run in runs.items()}
    alone, default, managed = orders.values()
    large = {
        label: runs[label].of("Iometer", SETTLED_S).iops for label in ("default", "with SIOC")
    }
    changes = {
        "latency of DVD Store's I/Os, default against alone, change": (
            change_pct(alone.device_latency_ms, default.device_latency_ms),
            Relation.AT_LEAST,
            "large I/Os raise the latency of all",
        ),
        "time of an order, default against alone, change": (
            change_pct(alone.transaction_ms, default.transaction_ms),
            Relation.AT_LEAST,
            "and with it the time of an order",
        ),
        "large I/Os of Iometer, with SIOC against default, change": (
            change_pct(large["default"], large["with SIOC"]),
            Relation.AT_MOST,
            "its fifth of the slots is less than it took",
        ),
        "latency of DVD Store's I/Os, with SIOC against default, change": (
            change_pct(default.device_latency_ms, managed.device_latency_ms),
            Relation.AT_MOST,
            "fewer large I/Os: a lower latency for all",
        ),
    }
    return [
        compare(
            quantity, "%", seed_value=0.0, value=value, tolerance=NONE, relation=relation, why=why
        )
        for quantity, (value, relation, why) in changes.items()
    ]


def _with_more_shares() -> Finding:
    return not_modelled(
        "orders with more shares for DVD Store, change",
        "%",
        seed_value=0.0,
        relation=Relation.AT_LEAST,
        why='"could have been improved further by increasing the disk shares", without a number; '
        "Iometer's window is already the smallest that the law knows, so shares change nothing",
    )


def _figures(runs: Mapping[str, Run], orders_pct: Mapping[str, float]) -> tuple[Figure, ...]:
    managed = runs["with SIOC"]
    return (
        bars(
            "figure 6",
            "DVD Store beside 64 KiB random reads",
            "orders, alone = 100",
            places=list(runs),
            series={"simulated": [orders_pct[label] for label in runs]},
            printed={"simulated": [ORDERS_PCT[label] for label in runs]},
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
