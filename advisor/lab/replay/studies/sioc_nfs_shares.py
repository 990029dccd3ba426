"""Seed 000, test 1: what shares and the window loop do for the VM with twice the users."""

from advisor.lab.replay.experiment import Experiment, Replay
from advisor.lab.replay.figure import Figure, bars, over_time
from advisor.lab.replay.finding import (
    LOAD_POINTS,
    NONE,
    Finding,
    Relation,
    calibrated,
    compare,
    of_change,
)
from advisor.lab.replay.studies.sioc_nfs_orders import (
    BASELINE_IOPS,
    BASELINE_LOAD_PCT,
    BASELINE_OUTSTANDING_IO,
    HOSTS,
    PREMISES,
    VMS,
    order_cluster,
)
from advisor.lab.simulation.cluster import Run, simulate
from advisor.lab.simulation.totals import Totals

NAME = "000-test-1"
TITLE = "SIOC on NFS: performance impact of shares"
THRESHOLD_MS = 12.0
EQUAL = dict.fromkeys(VMS, 1000.0)
SHARES = EQUAL | {"VM 4": 2000.0}
DURATION_S = 600.0
SETTLED_S = 60.0
MANAGED_LOAD_PCT = {"VM 1": 20.0, "VM 2": 20.0, "VM 3": 20.0, "VM 4": 40.0}


def play() -> Replay:
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
    return Replay(
        experiment=NAME,
        title=TITLE,
        premises=PREMISES,
        findings=(*_baseline(default), *_loads(managed), *_changes(default, managed)),
        figures=_figures(default, managed),
    )


EXPERIMENT = Experiment(name=NAME, title=TITLE, play=play)


def load_pct(run: Run, vm: str) -> float:
    """A VM's part of all I/Os."""
    return 100 * run.of(vm, SETTLED_S).iops / run.whole(SETTLED_S).iops


def change_pct(before: float | None, after: float | None) -> float:
    """By how much a measured number changed; both must exist."""
    if not before or after is None:
        raise ValueError("nothing was measured that a change could be told from")
    return 100 * (after / before - 1)


def on_host(run: Run, host: str) -> Totals:
    """What the VMs of a host did together."""
    return sum((run.of(vm, SETTLED_S) for vm in VMS if HOSTS[vm] == host), Totals())


def _baseline(default: Run) -> list[Finding]:
    whole = default.whole(SETTLED_S)
    rows = [
        calibrated(f"load of {vm}, default", "%", seed_value=printed, value=load_pct(default, vm))
        for vm, printed in BASELINE_LOAD_PCT.items()
    ]
    rows.append(
        calibrated(
            "outstanding I/Os of the datastore, default",
            "I/Os",
            seed_value=BASELINE_OUTSTANDING_IO,
            value=whole.device_outstanding_io,
        )
    )
    rows.append(
        calibrated(
            "throughput of the datastore, default",
            "IOPS",
            seed_value=BASELINE_IOPS,
            value=whole.iops,
        )
    )
    return rows


def _loads(managed: Run) -> list[Finding]:
    return [
        compare(
            f"load of {vm}, with SIOC",
            "%",
            seed_value=printed,
            value=load_pct(managed, vm),
            tolerance=LOAD_POINTS,
            why="part of the I/Os while all VMs are active; shares are 1000 and 2000",
            differs="the users of VM 4 do not always keep its part of the slots filled, and what "
            "they leave goes to VM 3 on the same host",
        )
        for vm, printed in MANAGED_LOAD_PCT.items()
    ]


def _changes(default: Run, managed: Run) -> list[Finding]:
    before, after = default.of("VM 4", SETTLED_S), managed.of("VM 4", SETTLED_S)
    waiting = (
        "the model's VM 4 waits in its host for a slot as long as it gains at the datastore: with "
        f"the product's gain the windows hold {_held(managed):.0f} I/Os, and VM 4's part of them "
        "is less than it had without control"
    )
    latency = (
        "the study prints 88 %, 21.7 ms by Little's law, far above its threshold of 12 ms; the "
        f"product's windows come to rest at {after.device_latency_ms:.0f} ms"
    )
    printed = {
        "orders completed by VM 4, change": (
            3.0,
            change_pct(before.transactions_per_s, after.transactions_per_s),
            waiting,
        ),
        "time of an order of VM 4, change": (
            -10.0,
            change_pct(before.transaction_ms, after.transaction_ms),
            waiting,
        ),
        "IOPS of VM 4, change": (5.0, change_pct(before.iops, after.iops), waiting),
        "latency of the datastore for VM 4, change": (
            -12.0,
            change_pct(before.device_latency_ms, after.device_latency_ms),
            latency,
        ),
    }
    rows = [
        compare(
            quantity,
            "%",
            seed_value=seed_value,
            value=value,
            tolerance=of_change(seed_value),
            why="default run against the run with SIOC, after its windows have settled",
            differs=differs,
        )
        for quantity, (seed_value, value, differs) in printed.items()
    ]
    return rows + _directions(default, managed)


def _held(run: Run) -> float:
    """Mean outstanding I/Os at the datastore."""
    return run.whole(SETTLED_S).device_outstanding_io


def _directions(default: Run, managed: Run) -> list[Finding]:
    """What the seed says only as up or down; 0 is the number that must not be passed."""
    changes = {
        "outstanding I/Os of the datastore, change": (
            default.whole(SETTLED_S).device_outstanding_io,
            managed.whole(SETTLED_S).device_outstanding_io,
            Relation.AT_MOST,
        ),
        "IOPS of host 1, change": (
            on_host(default, "host 1").iops,
            on_host(managed, "host 1").iops,
            Relation.AT_MOST,
        ),
        "IOPS of host 2, change": (
            on_host(default, "host 2").iops,
            on_host(managed, "host 2").iops,
            Relation.AT_LEAST,
        ),
    }
    rows = [
        compare(
            quantity,
            "%",
            seed_value=0.0,
            value=change_pct(before, after),
            tolerance=NONE,
            relation=relation,
            why="the study says only that it fell or rose",
            differs="fewer outstanding I/Os cost this datastore throughput; the study's own 40 % "
            "and +5 % for VM 4 leave 1,420 IOPS in all, and 850 of host 2's former 890",
        )
        for quantity, (before, after, relation) in changes.items()
    ]
    gains = {vm: managed.of(vm, SETTLED_S).iops - default.of(vm, SETTLED_S).iops for vm in VMS}
    return [
        *rows,
        compare(
            "gain of VM 4 beyond that of VM 3 on the same host",
            "IOPS",
            seed_value=0.0,
            value=gains["VM 4"] - gains["VM 3"],
            tolerance=NONE,
            relation=Relation.AT_LEAST,
            why='"the bulk of this increase in IOPS was seen by VM 4"',
        ),
    ]


def _figures(default: Run, managed: Run) -> tuple[Figure, ...]:
    runs = {"default": default, "with SIOC": managed}
    vm_4 = [run.of("VM 4", SETTLED_S) for run in runs.values()]
    return (
        _against_default(
            "figure 2",
            "Orders of VM 4 with SIOC, against the default configuration",
            {
                "orders completed": ([each.transactions for each in vm_4], 103.0),
                "time of an order": ([each.transaction_ms for each in vm_4], 90.0),
            },
        ),
        *(
            bars(
                f"figure {number}a",
                f"Each VM's part of the I/O, {label}",
                "part of the I/O (%)",
                places=list(VMS),
                series={"simulated": [load_pct(run, vm) for vm in VMS]},
                printed={"simulated": list(printed.values())},
            )
            for number, (label, run), printed in zip(
                (3, 4), runs.items(), (BASELINE_LOAD_PCT, MANAGED_LOAD_PCT), strict=True
            )
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
                "IOPS": ([each.iops for each in vm_4], 105.0),
                "latency of an I/O": ([each.device_latency_ms for each in vm_4], 88.0),
            },
        ),
    )


def _against_default(
    name: str, title: str, measured: dict[str, tuple[list[float] | list[float | None], float]]
) -> Figure:
    """Per place what was measured without and with SIOC, and what the seed prints of the two."""
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
        printed={"with SIOC": [seed_value for _, seed_value in measured.values()]},
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
