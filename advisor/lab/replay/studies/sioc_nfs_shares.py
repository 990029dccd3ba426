"""SIOC on NFS, test 1: what shares and the window loop do for the VM with twice the users."""

from advisor.lab.replay.experiment import Outcome
from advisor.lab.replay.figure import Figure, bars, over_time
from advisor.lab.replay.studies.sioc_nfs_orders import (
    BASELINE,
    BASELINE_IOPS,
    BASELINE_LOAD_PCT,
    BASELINE_OUTSTANDING_IO,
    HOSTS,
    VMS,
    WENT_IN,
    change_pct,
    datastore,
    order_cluster,
)
from advisor.lab.simulation.cluster import Run, simulate
from advisor.lab.simulation.totals import Totals

THRESHOLD_MS = 12.0
EQUAL = dict.fromkeys(VMS, 1000.0)
SHARES = EQUAL | {"VM 4": 2000.0}
DURATION_S = 600.0
SETTLED_S = 60.0
SHORT_S = 240.0
"""Of the runs by two points, which are beside those of the study."""


def _second_point() -> tuple[float, float]:
    """I/Os outstanding and their latency in ms with SIOC, which the study prints in parts.

    VM 4 does 5 % more than its third of the baseline, which is 40 % of all; the latency is 88 %.
    """
    part = BASELINE_LOAD_PCT["VM 4"] / sum(BASELINE_LOAD_PCT.values())
    vm_4_iops = part * BASELINE_IOPS * (1 + BASELINE.number("iops_change") / 100)
    iops = vm_4_iops / (BASELINE.numbers("load_managed")["VM 4"] / 100)
    latency_ms = 1000 * BASELINE_OUTSTANDING_IO / BASELINE_IOPS
    latency_ms *= 1 + BASELINE.number("latency_change") / 100
    return iops * latency_ms / 1000, latency_ms


def _servers_by_two_points() -> int:
    """Of the line through the baseline and the second point: intercept over slope, and one."""
    outstanding, latency_ms = _second_point()
    first_ms = 1000 * BASELINE_OUTSTANDING_IO / BASELINE_IOPS
    slope = (first_ms - latency_ms) / (BASELINE_OUTSTANDING_IO - outstanding)
    return 1 + round((first_ms - slope * BASELINE_OUTSTANDING_IO) / slope)


def _by_two_points() -> dict[str, float]:
    """What is left to foretell of the run with SIOC if the line passes through both points.

    The threshold is the latency of the second, at which the study's datastore rested.
    """
    device = datastore(_servers_by_two_points())
    default, managed = (
        simulate(
            order_cluster(shares, threshold_ms=threshold_ms, on=device),
            duration_s=SHORT_S,
            bucket_s=10,
            seed=1,
        )
        for shares, threshold_ms in ((EQUAL, None), (SHARES, _second_point()[1]))
    )
    before, after = default.of("VM 4", SETTLED_S), managed.of("VM 4", SETTLED_S)
    hosts = {
        host: change_pct(_on_host(default, host).iops, _on_host(managed, host).iops)
        for host in ("host 1", "host 2")
    }
    return {
        "servers_2": float(device.servers),
        "rest_2_ms": after.device_latency_ms or 0.0,
        "orders_change_2": change_pct(before.transactions_per_s, after.transactions_per_s),
        "order_time_change_2": change_pct(before.transaction_ms, after.transaction_ms),
        "host_1_change_2": hosts["host 1"],
        "host_2_change_2": hosts["host 2"],
    }


def play() -> Outcome:
    """Default run, then the run with shares and control."""
    default = simulate(
        order_cluster(EQUAL, threshold_ms=None), duration_s=DURATION_S, bucket_s=10, seed=1
    )
    managed = simulate(
        order_cluster(SHARES, threshold_ms=THRESHOLD_MS),
        duration_s=DURATION_S,
        bucket_s=10,
        seed=1,
    )
    before, after = default.whole(SETTLED_S), managed.whole(SETTLED_S)
    vm_4, vm_4_managed = default.of("VM 4", SETTLED_S), managed.of("VM 4", SETTLED_S)
    gains = {vm: managed.of(vm, SETTLED_S).iops - default.of(vm, SETTLED_S).iops for vm in VMS}
    host_changes = {
        host: change_pct(_on_host(default, host).iops, _on_host(managed, host).iops)
        for host in set(HOSTS.values())
    }
    return Outcome(
        values=WENT_IN
        | _by_two_points()
        | {
            "second_outstanding": _second_point()[0],
            "second_ms": _second_point()[1],
            "load_default": {vm: _load_pct(default, vm) for vm in VMS},
            "load_managed": {vm: _load_pct(managed, vm) for vm in VMS},
            "outstanding_default": before.device_outstanding_io,
            "iops_default": before.iops,
            "held": after.device_outstanding_io,
            "rest_ms": vm_4_managed.device_latency_ms,
            "rest_ratio": (after.device_latency_ms or 0.0) / THRESHOLD_MS,
            "orders_change": change_pct(vm_4.transactions_per_s, vm_4_managed.transactions_per_s),
            "order_time_change": change_pct(vm_4.transaction_ms, vm_4_managed.transaction_ms),
            "iops_change": change_pct(vm_4.iops, vm_4_managed.iops),
            "latency_change": change_pct(vm_4.device_latency_ms, vm_4_managed.device_latency_ms),
            "outstanding_change": change_pct(
                before.device_outstanding_io, after.device_outstanding_io
            ),
            "host_1_change": host_changes["host 1"],
            "host_2_change": host_changes["host 2"],
            "gain_beyond_vm_3": gains["VM 4"] - gains["VM 3"],
        },
        figures=_figures(default, managed),
    )


def _load_pct(run: Run, vm: str) -> float:
    """A VM's part of all I/Os."""
    return 100 * run.of(vm, SETTLED_S).iops / run.whole(SETTLED_S).iops


def _on_host(run: Run, host: str) -> Totals:
    """What the VMs of a host did together."""
    return sum((run.of(vm, SETTLED_S) for vm in VMS if HOSTS[vm] == host), Totals())


def _figures(default: Run, managed: Run) -> tuple[Figure, ...]:
    runs = {"default": default, "with SIOC": managed}
    vm_4 = [run.of("VM 4", SETTLED_S) for run in runs.values()]
    loads = (BASELINE_LOAD_PCT, BASELINE.numbers("load_managed"))
    return (
        _against_default(
            "figure 2",
            "Orders of VM 4 with SIOC, against the default configuration",
            {
                "orders completed": ([each.transactions for each in vm_4], "orders_change"),
                "time of an order": ([each.transaction_ms for each in vm_4], "order_time_change"),
            },
        ),
        *(
            bars(
                f"figure {number}a",
                f"Each VM's part of the I/O, {label}",
                "part of the I/O (%)",
                places=list(VMS),
                series={"simulated": [_load_pct(run, vm) for vm in VMS]},
                printed={"simulated": list(printed.values())},
            )
            for number, (label, run), printed in zip((3, 4), runs.items(), loads, strict=True)
        ),
        *(
            over_time(
                f"figure {number}b, throughput",
                f"Throughput of the hosts and the datastore, {label}",
                "IOPS",
                times_s=run.times_s,
                series=_throughputs(run),
                marks={"datastore, study": BASELINE_IOPS} if run is default else {},
            )
            for number, (label, run) in zip((3, 4), runs.items(), strict=True)
        ),
        over_time(
            "figures 3b and 4b, outstanding",
            "Outstanding I/Os of the datastore",
            "outstanding I/Os",
            times_s=default.times_s,
            series={label: _outstanding(run) for label, run in runs.items()},
            marks={"default, study": BASELINE_OUTSTANDING_IO},
        ),
        _against_default(
            "figure 5",
            "I/O of VM 4 with SIOC, against the default configuration",
            {
                "IOPS": ([each.iops for each in vm_4], "iops_change"),
                "latency of an I/O": ([each.device_latency_ms for each in vm_4], "latency_change"),
            },
        ),
    )


def _against_default(
    name: str, title: str, measured: dict[str, tuple[list[float] | list[float | None], str]]
) -> Figure:
    """Per place what was measured without and with SIOC, and the change that the study prints."""
    return bars(
        name,
        title,
        "default = 100",
        places=list(measured),
        series={
            "default": [100.0] * len(measured),
            "with SIOC": [
                100 + change_pct(before, after) for (before, after), _ in measured.values()
            ],
        },
        printed={"with SIOC": [100 + BASELINE.number(change) for _, change in measured.values()]},
    )


def _throughputs(run: Run) -> dict[str, list[float | None]]:
    """IOPS per bucket of each host, and of all of them."""
    by_host: dict[str, list[float | None]] = {}
    for host in sorted(set(HOSTS.values())):
        of_vms = zip(*(run.workloads[vm] for vm in VMS if HOSTS[vm] == host), strict=True)
        by_host[host] = [sum(each.iops for each in bucket) for bucket in of_vms]
    by_bucket = zip(*run.workloads.values(), strict=True)
    return by_host | {"datastore": [sum(each.iops for each in bucket) for bucket in by_bucket]}


def _outstanding(run: Run) -> list[float | None]:
    by_bucket = zip(*run.workloads.values(), strict=True)
    return [sum(each.device_outstanding_io for each in bucket) for bucket in by_bucket]
