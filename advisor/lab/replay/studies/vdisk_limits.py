"""Limits of virtual disks: 200 IOPS on each of two, in ESX 5.0 and in ESX 5.5."""

from dataclasses import dataclass
from itertools import cycle, islice

from advisor.advice.limit_check.decide.limit_check import LimitCheck, check_limits
from advisor.advice.limit_check.decide.limit_finding import MISBEHAVIOUR
from advisor.advice.limit_check.decide.limit_inputs import LimitInputs, LimitWindow, VdiskLimit
from advisor.core.allocation import Allocation
from advisor.core.resource import IoCount, LimitScope
from advisor.lab.replay.experiment import Outcome, Value
from advisor.lab.replay.figure import Figure, bars, over_time
from advisor.lab.replay.study import experiment
from advisor.lab.simulation.cluster import Cluster, Run, simulate
from advisor.lab.simulation.datastore import SimulatedDatastore
from advisor.lab.simulation.load import SimulatedWorkload, SteadyIo

VM = "VM"
VDISK_LIMITS = (200.0, 200.0)
POOLED_LIMIT = sum(VDISK_LIMITS)
"""ESX consolidates the limits of a virtual machine's disks per LUN."""
IO_BYTES = 4096
DURATION_S = 20.0
SETTLED_S = 2.0
WORKERS = (1, 2, 4)
CHECKED_WINDOWS = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Lab:
    """A lab of the study: what one and two workers reach without limits."""

    one_worker_iops: float
    two_workers_iops: float

    @property
    def datastore(self) -> SimulatedDatastore:
        """The line through both: s for one I/O, s·(D + 1)/D for each of two, D rounded."""
        alone_s = 1 / self.one_worker_iops
        paired_s = 2 / self.two_workers_iops
        return SimulatedDatastore(
            servers=max(1, round(alone_s / (paired_s - alone_s))), access_s=alone_s
        )


def _lab(name: str) -> Lab:
    one, two = experiment(name).numbers("unlimited").values()
    return Lab(one_worker_iops=one, two_workers_iops=two)


ESX_5_0, ESX_5_5 = "vdisk-limits-esx-5.0", "vdisk-limits-esx-5.5"
OLD, NEW = _lab(ESX_5_0), _lab(ESX_5_5)


def play_old() -> Outcome:
    """The limit works: one and two workers, without and with it."""
    limited = {workers: _run(OLD, workers, POOLED_LIMIT) for workers in WORKERS[:2]}
    seconds = {
        _workers(workers): [each.iops for each in run.workloads[VM]][int(SETTLED_S) :]
        for workers, run in limited.items()
    }
    return Outcome(
        values=_went_in(OLD)
        | {
            "least": {workers: min(iops) for workers, iops in seconds.items()},
            "most": {workers: max(iops) for workers, iops in seconds.items()},
            "misbehaving": _misbehaving(*_swings(ESX_5_0)),
        },
        figures=_figures(OLD, limited, printed={1: None, 2: None}),
    )


def play_new() -> Outcome:
    """The limit as it should work; the study's release let 2000 pass and starved the rest."""
    limited = {workers: _run(NEW, workers, POOLED_LIMIT) for workers in WORKERS}
    iops = {_workers(workers): _iops(run) for workers, run in limited.items()}
    observed = experiment(ESX_5_5).numbers("observed")["1 worker"]
    return Outcome(
        values=_went_in(NEW)
        | {
            "limited": iops,
            "observed": iops,
            "misbehaving": _misbehaving(observed),
            "observed_slow": {_workers(count): iops[_workers(count)] for count in WORKERS[1:]},
        },
        figures=_figures(NEW, limited, printed={1: observed, 2: None, 4: None}),
    )


def _swings(name: str) -> tuple[float, float]:
    """Between which rates the study saw the limited VM."""
    stated = experiment(name)
    return stated.number("least"), stated.number("most")


def _misbehaving(*printed_iops: float) -> int:
    """How many limits the product finds to misbehave, by the rates that the study prints.

    The VM wants more than its limits in every window, and its I/Os go to the disks in turn.
    """
    rates = list(islice(cycle(printed_iops), CHECKED_WINDOWS))
    vdisks = tuple(
        VdiskLimit(
            vdisk=f"disk {number}",
            limit_iops=limit,
            windows=tuple(
                LimitWindow(iops=rate / len(VDISK_LIMITS), mean_io_bytes=IO_BYTES, backlogged=True)
                for rate in rates
            ),
        )
        for number, limit in enumerate(VDISK_LIMITS, start=1)
    )
    answer = check_limits(
        LimitInputs(
            workload=VM,
            datastore="LUN",
            scope=LimitScope.POOLED,
            count=IoCount.PLAIN,
            vdisks=vdisks,
        )
    )
    if not isinstance(answer, LimitCheck):
        raise TypeError(f"nothing is said of the limits: {answer.summary}")
    return sum(one.finding in MISBEHAVIOUR for one in answer.limits)


def _went_in(lab: Lab) -> dict[str, Value | dict[str, Value]]:
    """What the premises name, and what the lab reaches without limits."""
    return {
        "access_ms": 1000 * lab.datastore.access_s,
        "servers": lab.datastore.servers,
        "pooled_limit": POOLED_LIMIT,
        "one_worker": lab.one_worker_iops,
        "two_workers": lab.two_workers_iops,
        "unlimited": {_workers(count): _iops(_run(lab, count, None)) for count in WORKERS[:2]},
    }


def _workers(count: int) -> str:
    return "1 worker" if count == 1 else f"{count} workers"


def _run(lab: Lab, workers: int, limit: float | None) -> Run:
    """Each worker keeps one I/O outstanding; the VM's disks share one limit."""
    vm = SimulatedWorkload(
        name=VM,
        host="host",
        load=SteadyIo(outstanding_io=workers, io_bytes=IO_BYTES),
        allocation=Allocation(limit=limit, shares=1000),
    )
    cluster = Cluster(datastore=lab.datastore, workloads=(vm,))
    return simulate(cluster, duration_s=DURATION_S, bucket_s=1.0, seed=1)


def _iops(run: Run) -> float:
    return run.of(VM, SETTLED_S).iops


def _figures(
    lab: Lab, limited: dict[int, Run], *, printed: dict[int, float | None]
) -> tuple[Figure, ...]:
    """`printed` holds what the study read with limits."""
    free = {1: lab.one_worker_iops, 2: lab.two_workers_iops}
    first = next(iter(limited.values()))
    return (
        bars(
            "screenshots of IOmeter",
            "Throughput of the VM without limits, and with limits of 200 + 200",
            "IOPS",
            places=[
                *(f"{_workers(workers)},\nno limits" for workers in free),
                *(f"{_workers(workers)},\n200 + 200" for workers in limited),
            ],
            series={
                "simulated": [
                    *(_iops(_run(lab, workers, None)) for workers in free),
                    *(_iops(run) for run in limited.values()),
                ]
            },
            printed={"simulated": [*free.values(), *printed.values()]},
            marks={"limits together": POOLED_LIMIT},
        ),
        over_time(
            "screenshots of IOmeter, second by second",
            "Throughput of the VM with limits of 200 + 200, second by second",
            "IOPS",
            times_s=first.times_s,
            series={
                _workers(workers): [each.iops for each in run.workloads[VM]]
                for workers, run in limited.items()
            },
            marks={"limits together": POOLED_LIMIT}
            | ({"study: from": 330.0} if lab is OLD else {}),
        ),
    )
