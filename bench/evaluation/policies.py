"""Predictions of a policy's effect against a run of the simulator under that policy.

One run with even shares gives the history; the solver and Little's law predict another policy
from it; a second run, with another seed, is what happened.
"""

from datetime import UTC, datetime, timedelta
from statistics import fmean

from advisor.core.allocation import Allocation, ReservationMode
from advisor.core.forecast.backtest import NoHistory, backtest
from advisor.core.forecast.comparison import Comparison
from advisor.core.forecast.latency_backtest import latency_backtest
from advisor.core.forecast.past import HistoryWindow, windows_of
from advisor.core.forecast.prediction_interval import Outcome
from advisor.core.grant import Grant
from advisor.lab.simulation.cluster import Cluster, Run, simulate
from advisor.lab.simulation.datastore import SimulatedDatastore
from advisor.lab.simulation.load import Load, SimulatedWorkload, SteadyIo, Transactions
from bench.evaluation.table import percent, table

DISKS = SimulatedDatastore(servers=8, access_s=0.004)
QUEUE_DEPTH = 24.0
BUCKET_S = 1.0
WINDOWS = 60
WARM_UP_S = 5.0
HELD_BACK = 2.0
"""A workload of whose I/Os more wait in the host than are at the datastore wants more."""
BEGAN_AT = datetime(2026, 1, 1, tzinfo=UTC)
LOADS: dict[str, Load] = {
    "db": SteadyIo(outstanding_io=16, io_bytes=8192),
    "web": SteadyIo(outstanding_io=16, io_bytes=8192),
    "batch": SteadyIo(outstanding_io=48, io_bytes=8192),
    "orders": Transactions(clients=20, think_s=0.5, ios_per_transaction=4, io_bytes=8192),
}
EVEN = {name: Allocation(shares=1000.0) for name in LOADS}
POLICIES = {
    "shares 4:1:1:1": EVEN | {"db": Allocation(shares=4000.0)},
    "shares 1:1:1:4": EVEN | {"orders": Allocation(shares=4000.0)},
    "reservation for db": EVEN | {"db": Allocation(reservation=900.0, shares=1000.0)},
    "limit on batch": EVEN | {"batch": Allocation(limit=200.0, shares=1000.0)},
    "shares and a limit": EVEN
    | {"db": Allocation(shares=2000.0), "batch": Allocation(limit=300.0, shares=500.0)},
}


def evaluate() -> str:
    """The section as Markdown."""
    past = _run(EVEN, seed=1)
    rows, rates = [], []
    for number, (policy, allocations) in enumerate(POLICIES.items()):
        happened = _run(allocations, seed=100 + number)
        for name, (rate, latency_ms) in _predicted(past, allocations).items():
            seen = happened.of(name, WARM_UP_S)
            waited_ms = _p95_ms(happened, name)
            rates.append(Outcome(predicted=rate, measured=seen.iops))
            rows.append(
                [
                    policy,
                    name,
                    f"{rate:.0f}",
                    f"{seen.iops:.0f}",
                    percent(abs(seen.iops - rate) / rate),
                    f"{latency_ms:.0f}",
                    f"{waited_ms:.0f}",
                ]
            )
    mean = percent(fmean(abs(one.error_ratio) for one in rates))
    head = [
        "policy",
        "workload",
        "IOPS predicted",
        "measured",
        "off by",
        "p95 ms predicted",
        "measured",
    ]
    worst = percent(max(abs(one.error_ratio) for one in rates))
    return f"{table(head, rows)}\n\nMean error of the rates: {mean}; the worst: {worst}."


def _run(allocations: dict[str, Allocation], *, seed: int) -> Run:
    workloads = tuple(
        SimulatedWorkload(name=name, host="h1", load=load, allocation=allocations[name])
        for name, load in LOADS.items()
    )
    cluster = Cluster(datastore=DISKS, workloads=workloads, queue_depth=QUEUE_DEPTH)
    return simulate(cluster, duration_s=BUCKET_S * WINDOWS, bucket_s=BUCKET_S, seed=seed)


def _predicted(past: Run, allocations: dict[str, Allocation]) -> dict[str, tuple[float, float]]:
    """Rate and 95th percentile of window latencies of each workload."""
    names = list(LOADS)
    whole = {name: past.of(name, WARM_UP_S) for name in names}
    held_back = {
        name: one.outstanding_io > HELD_BACK * one.device_outstanding_io
        for name, one in whole.items()
    }
    rows_of_time, outstanding = [], []
    for index in range(round(WARM_UP_S / BUCKET_S), WINDOWS):
        rows = [past.workloads[name][index] for name in names]
        rows_of_time.append(
            HistoryWindow(
                at=BEGAN_AT + timedelta(seconds=index * BUCKET_S),
                window_s=BUCKET_S,
                capacity=sum(row.iops for row in rows),
                demands=tuple(
                    None if held_back[name] else row.iops
                    for name, row in zip(names, rows, strict=True)
                ),
            )
        )
        outstanding.append([row.outstanding_io for row in rows])
    comparison = Comparison(
        mode=ReservationMode.FLOOR, before=_grants(EVEN), after=_grants(allocations)
    )
    windows = windows_of(rows_of_time)
    played = backtest(names, windows, comparison)
    assert not isinstance(played, NoHistory)
    latencies = latency_backtest(names, windows, outstanding, comparison)
    return {
        one.workload: (one.rate_after, latency.p95_after_ms or 0.0)
        for one, latency in zip(played.workloads, latencies, strict=True)
    }


def _p95_ms(run: Run, name: str) -> float:
    """95th percentile over I/Os of the mean latencies of windows, as the prediction has it."""
    rows = [one for one in run.workloads[name][round(WARM_UP_S / BUCKET_S) :] if one.ios]
    rows.sort(key=lambda one: one.latency_ms or 0.0)
    beyond = 0.05 * sum(one.ios for one in rows)
    while len(rows) > 1 and beyond >= rows[-1].ios:
        beyond -= rows.pop().ios
    return rows[-1].latency_ms or 0.0


def _grants(allocations: dict[str, Allocation]) -> list[Grant]:
    return [
        Grant(
            allocation=index,
            reservation=allocations[name].reservation,
            limit=allocations[name].limit,
            shares=round(allocations[name].shares),
        )
        for index, name in enumerate(LOADS)
    ]
