"""SIOC on NFS, test 4: a catalogue server while order servers of three time zones come and go."""

from math import inf

from advisor.lab.replay.experiment import Outcome
from advisor.lab.replay.figure import Figure, bars, over_time
from advisor.lab.replay.studies.sioc_nfs_orders import VMS, WENT_IN, change_pct, order_cluster
from advisor.lab.replay.study import experiment
from advisor.lab.simulation.cluster import BEGAN_AT, Run, simulate
from advisor.lab.simulation.totals import Totals

EXPERIMENT = experiment("sioc-nfs-day")
THRESHOLD_MS = 15.0
SHARES = {"VM 1": 500.0, "VM 2": 500.0, "VM 3": 500.0, "VM 4": 4000.0}
THINK_S = 0.3
BUCKET_S = 10.0
PHASE_S = 300.0
SETTLED_S = 60.0

ACTIVE = {
    "VM 1": ((3 * PHASE_S, 6 * PHASE_S),),
    "VM 2": ((2 * PHASE_S, 5 * PHASE_S),),
    "VM 3": ((1 * PHASE_S, 4 * PHASE_S),),
    "VM 4": ((0.0, inf),),
}
PHASES = {
    0.0: "VM 4",
    1 * PHASE_S: "+ VM 3",
    2 * PHASE_S: "+ VM 2",
    3 * PHASE_S: "+ VM 1",
    4 * PHASE_S: "- VM 3",
    5 * PHASE_S: "- VM 2",
    6 * PHASE_S: "- VM 1",
}
PHASES_BESIDE = {0: (0, 6), 1: (1, 5), 2: (2, 4), 3: (3,)}
"""Which phases have so many order servers beside VM 4."""
COMPETITORS = {1: "one order server", 2: "two order servers", 3: "three order servers"}


def play() -> Outcome:
    """The schedule of table 6 without control, and with SIOC at 15 ms."""
    default, managed = (_run(threshold_ms) for threshold_ms in (None, THRESHOLD_MS))
    losses = {count: _loss_pct(default, count) for count in COMPETITORS}
    steps = [losses[1], losses[2] - losses[1], losses[3] - losses[2]]
    kept = {count: 100 + _loss_pct(managed, count) for count in (2, 3)}
    recovery = [
        change_pct(_orders_per_s(default, count), _orders_per_s(managed, count))
        for count in (2, 3)
    ]
    return Outcome(
        values=WENT_IN
        | {
            "think_s": THINK_S,
            "loss_default": {COMPETITORS[count]: loss for count, loss in losses.items()},
            "smallest_step": -max(steps),
            "largest_step": -min(steps),
            "latency_beside_one": _latency_ms(managed, 1),
            "loss_beside_one": _loss_pct(managed, 1),
            "latency_beside_two": _latency_ms(default, 2),
            "kept": {COMPETITORS[count]: kept_pct for count, kept_pct in kept.items()},
            "kept_change": change_pct(kept[2], kept[3]),
            "smallest_recovery": min(recovery),
            "largest_recovery": max(recovery),
        },
        figures=_figures(default, managed),
    )


def _run(threshold_ms: float | None) -> Run:
    cluster = order_cluster(
        SHARES, threshold_ms=threshold_ms, think_s={"VM 4": THINK_S}, active=ACTIVE
    )
    return simulate(cluster, duration_s=7 * PHASE_S, bucket_s=BUCKET_S, seed=1)


def _orders_per_s(run: Run, competitors: int) -> float:
    """Orders per second of VM 4 beside so many others."""
    parts = _during(run, "VM 4", competitors)
    return sum(part.transactions_per_s for part in parts) / len(parts)


def _loss_pct(run: Run, competitors: int) -> float:
    """Change of VM 4's orders per second against VM 4 alone; a loss is below 0."""
    return change_pct(_orders_per_s(run, 0), _orders_per_s(run, competitors))


def _latency_ms(run: Run, competitors: int) -> float:
    """Mean latency of the I/Os of all VMs while so many order servers are beside VM 4."""
    parts = (part for vm in VMS for part in _during(run, vm, competitors))
    mean_ms = sum(parts, Totals()).device_latency_ms
    if mean_ms is None:
        raise ValueError("no I/O was done in a phase in which VM 4 is active")
    return mean_ms


def _during(run: Run, vm: str, competitors: int) -> list[Totals]:
    """What a VM did in the phases with so many order servers, each after it has settled."""
    return [
        run.of(vm, phase * PHASE_S + SETTLED_S, (phase + 1) * PHASE_S)
        for phase in PHASES_BESIDE[competitors]
    ]


def _figures(default: Run, managed: Run) -> tuple[Figure, ...]:
    runs = {"default": default, "with SIOC": managed}
    losses, kept_pct = list(EXPERIMENT.numbers("loss_default").values()), EXPERIMENT.number("kept")
    drawn = [
        over_time(
            f"figure {number}",
            f"Orders per second of all VMs, {label}",
            "orders per second",
            times_s=run.times_s,
            series={vm: [each.transactions_per_s for each in run.workloads[vm]] for vm in VMS},
            phases=PHASES,
        )
        for number, (label, run) in zip((12, 13), runs.items(), strict=True)
    ]
    windows = over_time(
        "figure 13, windows",
        "Windows with SIOC, and what the detector sees",
        "slots",
        times_s=managed.times_s,
        series=dict(managed.windows),
        phases=_states(managed),
        is_logarithmic=True,
    )
    peak = {label: _orders_per_s(run, 0) for label, run in runs.items()}
    return (
        *drawn,
        windows,
        over_time(
            "figure 14",
            "Orders per second of VM 4, default and with SIOC",
            "orders per second",
            times_s=default.times_s,
            series={
                label: [each.transactions_per_s for each in run.workloads["VM 4"]]
                for label, run in runs.items()
            },
            phases=PHASES,
        ),
        bars(
            "figures 12 to 14, losses",
            "Throughput of VM 4 as order servers join",
            "VM 4 alone = 100",
            places=["alone", *COMPETITORS.values()],
            series={
                label: [100 * _orders_per_s(run, count) / peak[label] for count in range(4)]
                for label, run in runs.items()
            },
            printed={
                "default": [100.0, *(100 + loss for loss in losses)],
                "with SIOC": [100.0, 100 + losses[0], kept_pct, kept_pct],
            },
        ),
    )


def _states(run: Run) -> dict[float, str]:
    """Since when the detector calls the datastore congested or clear."""
    since: dict[float, str] = {}
    last = None
    for point in run.congestion(THRESHOLD_MS):
        if point.state is not last:
            since[(point.since - BEGAN_AT).total_seconds()] = str(point.state)
        last = point.state
    return since
