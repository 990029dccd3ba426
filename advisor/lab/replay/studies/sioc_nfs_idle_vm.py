"""SIOC on NFS, test 3: the VM with most shares goes idle for five minutes and comes back."""

from statistics import fmean

from advisor.lab.replay.experiment import Outcome
from advisor.lab.replay.figure import Figure, bars, over_time
from advisor.lab.replay.studies.sioc_nfs_orders import VMS, WENT_IN, change_pct, order_cluster
from advisor.lab.replay.studies.sioc_nfs_shares import SHARES, THRESHOLD_MS
from advisor.lab.replay.study import experiment
from advisor.lab.simulation.cluster import Run, simulate
from enforcers.exchange import PERIOD_S
from enforcers.window import WindowLaw

EXPERIMENT = experiment("sioc-nfs-idle-vm")
PHASE_S = 300.0
SETTLED_S = 60.0
LOW = ("VM 1", "VM 2", "VM 3")
DEPTHS = EXPERIMENT.numbers("depth")
SETTLED_PART = 0.1
BUCKET_S = 2.0
"""Orders are drawn over 10 s as in the study, windows over the 4 s for which they stand."""
ORDERS_S = 10.0

PHASES = {0.0: "all active", PHASE_S: "VM 4 idle", 2 * PHASE_S: "VM 4 active again"}


def play() -> Outcome:
    """Three phases of 300 s, as in the study."""
    cluster = order_cluster(
        SHARES,
        threshold_ms=THRESHOLD_MS,
        active={"VM 4": ((0.0, PHASE_S), (2 * PHASE_S, 3 * PHASE_S))},
    )
    run = simulate(cluster, duration_s=3 * PHASE_S, bucket_s=BUCKET_S, seed=1)
    law = WindowLaw(threshold_ms=THRESHOLD_MS)
    orders = [{vm: _orders_per_s(run, vm, phase) for vm in VMS} for phase in range(3)]
    depths = [{host: _depth(run, host, phase) for host in DEPTHS} for phase in range(3)]
    windows = [window for host in DEPTHS for window in run.windows[host]]
    idle = [orders[1][vm] for vm in LOW]
    return Outcome(
        values=WENT_IN
        | {
            "depth": depths[0],
            "depth_ratio": depths[0]["host 1"] / depths[0]["host 2"],
            "orders_vm_4": orders[0]["VM 4"],
            "iops_ratio": _iops(run, "VM 4", 0) / fmean([_iops(run, vm, 0) for vm in LOW]),
            "orders_ratio": orders[0]["VM 4"] / fmean([orders[0][vm] for vm in LOW]),
            "largest_gain": max(change_pct(orders[0][vm], orders[1][vm]) for vm in LOW),
            "orders_evenness": min(idle) / max(idle),
            "depth_1_change": depths[1]["host 1"] - depths[0]["host 1"],
            "depth_2_change": depths[1]["host 2"] - depths[0]["host 2"],
            "depth_ratio_idle": depths[1]["host 1"] / depths[1]["host 2"],
            "back_after_s": _back_after_s(run),
            "orders_back": {vm: orders[2][vm] / orders[0][vm] for vm in VMS},
            "depth_back": {host: depths[2][host] / depths[0][host] for host in DEPTHS},
            "smallest_depth": min(windows),
            "largest_depth": max(windows),
            "lowest": law.lowest,
            "highest": law.highest,
            "period_s": PERIOD_S,
        },
        figures=_figures(run),
    )


def _orders_per_s(run: Run, vm: str, phase: int) -> float:
    """Orders per second of a VM in a phase, after its first minute."""
    begin = phase * PHASE_S
    return run.of(vm, begin + SETTLED_S, begin + PHASE_S).transactions_per_s


def _iops(run: Run, vm: str, phase: int) -> float:
    """I/Os per second of a VM in a phase, after its first minute."""
    begin = phase * PHASE_S
    return run.of(vm, begin + SETTLED_S, begin + PHASE_S).iops


def _depth(run: Run, host: str, phase: int) -> float:
    """Mean window of a host in a phase, after its first minute."""
    begin = phase * PHASE_S
    return run.window(host, begin + SETTLED_S, begin + PHASE_S)


def _back_after_s(run: Run) -> float:
    """Seconds of phase 3 until the windows are back; they may not have been by its end."""
    times = [time for time in run.times_s if time > 2 * PHASE_S]
    rest = {host: _depth(run, host, 0) for host in DEPTHS}
    for time in times:
        soon = min(time + SETTLED_S / 2, 3 * PHASE_S)
        means = {host: run.window(host, time - PERIOD_S, soon) for host in DEPTHS}
        if all(abs(means[host] / rest[host] - 1) <= SETTLED_PART for host in DEPTHS):
            return time - 2 * PHASE_S
    return PHASE_S


def _figures(run: Run) -> tuple[Figure, ...]:
    step = round(ORDERS_S / BUCKET_S)
    ends = run.times_s[step - 1 :: step]
    period = round(PERIOD_S / BUCKET_S)
    return (
        over_time(
            "figure 7",
            "Orders per second of all VMs",
            "orders per second",
            times_s=ends,
            series={
                vm: [run.of(vm, end - ORDERS_S, end).transactions_per_s for end in ends]
                for vm in VMS
            },
            marks={"VM 4, study": EXPERIMENT.number("orders_vm_4")},
            phases=PHASES,
        ),
        *(
            bars(
                f"figure {8 + phase}",
                f"Parts of throughput and of shares, {label}",
                "part of all active VMs (%)",
                places=list(active),
                series={
                    "throughput": _parts([_orders_per_s(run, vm, phase) for vm in active]),
                    "shares": _parts([SHARES[vm] for vm in active]),
                },
            )
            for phase, (label, active) in enumerate(
                (("phase 1", VMS), ("phase 2: VM 4 idle", LOW), ("phase 3", VMS))
            )
        ),
        over_time(
            "figure 11",
            "NFS client queue depth of each host",
            "slots",
            times_s=run.times_s[period - 1 :: period],
            series={host: run.windows[host][period - 1 :: period] for host in DEPTHS},
            marks={f"{host}, study": depth for host, depth in DEPTHS.items()},
            phases=PHASES,
            is_logarithmic=True,
        ),
    )


def _parts(amounts: list[float]) -> list[float]:
    return [100 * amount / sum(amounts) for amount in amounts]
