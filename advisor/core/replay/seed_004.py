"""Seed 004: a limit of 200 IOPS on each of two virtual disks, in ESX 5.0 and in ESX 5.5."""

from dataclasses import dataclass

from advisor.core.allocation import Allocation
from advisor.core.replay.experiment import Basis, Experiment, Premise, Replay
from advisor.core.replay.figure import Figure, bars, over_time
from advisor.core.replay.finding import (
    LIMIT,
    Finding,
    Relation,
    calibrated,
    compare,
    not_modelled,
)
from advisor.core.simulation.cluster import Cluster, Run, simulate
from advisor.core.simulation.datastore import SimulatedDatastore
from advisor.core.simulation.load import SimulatedWorkload, SteadyIo

VM = "VM"
VDISK_LIMITS = (200.0, 200.0)
POOLED_LIMIT = sum(VDISK_LIMITS)
"""ESX consolidates the limits of a virtual machine's disks per LUN."""
IO_BYTES = 4096
DURATION_S = 20.0
SETTLED_S = 2.0
WORKERS = (1, 2, 4)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lab:
    """A lab of the seed: what one and two workers reach without limits."""

    name: str
    title: str
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


OLD = Lab(
    name="004-esx-5.0",
    title="Limits in ESX 5.0: pooled per VM and LUN",
    one_worker_iops=4846.0,
    two_workers_iops=7107.0,
)
NEW = Lab(
    name="004-esx-5.5",
    title="Limits in ESX 5.5: what should have happened",
    one_worker_iops=1741.0,
    two_workers_iops=3329.0,
)


def play_old() -> Replay:
    """The limit works: one and two workers, without and with it."""
    limited = {workers: _run(OLD, workers, POOLED_LIMIT) for workers in WORKERS[:2]}
    return Replay(
        experiment=OLD.name,
        title=OLD.title,
        premises=_premises(OLD),
        findings=(*_unlimited(OLD), *_within(limited)),
        figures=_figures(OLD, limited, printed={1: None, 2: None}),
    )


def play_new() -> Replay:
    """The limit as it should work; the seed's release let 2000 pass and starved the rest."""
    limited = {workers: _run(NEW, workers, POOLED_LIMIT) for workers in WORKERS}
    rows = [
        compare(
            f"limited throughput as expected, {_workers(workers)}",
            "IOPS",
            seed_value=POOLED_LIMIT,
            value=_iops(run),
            tolerance=LIMIT,
            why='"should be also limited to 400", with any number of workers',
        )
        for workers, run in limited.items()
    ]
    defect = "a defect of one release, whose cause the study does not know"
    return Replay(
        experiment=NEW.name,
        title=NEW.title,
        premises=_premises(NEW),
        findings=(
            *_unlimited(NEW),
            *rows,
            not_modelled(
                "limited throughput as observed, 1 worker",
                "IOPS",
                seed_value=2000.0,
                value=_iops(limited[1]),
                why=f"{defect}: 2000 are more than the 1741 without any limit, and go with the "
                "newer scheduler; the value is what the product's scheduler gives",
            ),
            *(
                not_modelled(
                    f"limited throughput as observed, {_workers(workers)}",
                    "IOPS",
                    seed_value=None,
                    value=_iops(limited[workers]),
                    why=f'{defect}: "really slow", printed only in a screenshot',
                )
                for workers in WORKERS[1:]
            ),
        ),
        figures=_figures(NEW, limited, printed={1: 2000.0, 2: None, 4: None}),
    )


EXPERIMENTS = (
    Experiment(name=OLD.name, title=OLD.title, play=play_old),
    Experiment(name=NEW.name, title=NEW.title, play=play_new),
)


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


def _unlimited(lab: Lab) -> list[Finding]:
    printed = {1: lab.one_worker_iops, 2: lab.two_workers_iops}
    return [
        calibrated(
            f"throughput without limits, {_workers(workers)}",
            "IOPS",
            seed_value=seed_value,
            value=_iops(_run(lab, workers, None)),
        )
        for workers, seed_value in printed.items()
    ]


def _within(limited: dict[int, Run]) -> list[Finding]:
    """The seed reads between 330 and 400 from a screenshot, and calls two workers similar."""
    rows = []
    for workers, run in limited.items():
        seconds = [each.iops for each in run.workloads[VM]][int(SETTLED_S) :]
        why = "limits of 200 + 200 on one LUN, second by second"
        rows += [
            compare(
                f"limited throughput, least of a second, {_workers(workers)}",
                "IOPS",
                seed_value=330.0,
                value=min(seconds),
                tolerance=LIMIT,
                relation=Relation.AT_LEAST,
                why=why,
            ),
            compare(
                f"limited throughput, most of a second, {_workers(workers)}",
                "IOPS",
                seed_value=POOLED_LIMIT,
                value=max(seconds),
                tolerance=LIMIT,
                relation=Relation.AT_MOST,
                why=why,
            ),
        ]
    return rows


def _premises(lab: Lab) -> tuple[Premise, ...]:
    return (
        Premise(
            quantity="time of one I/O",
            value=1000 * lab.datastore.access_s,
            unit="ms",
            basis=Basis.CALIBRATED,
            source=f"{lab.one_worker_iops:g} IOPS of one worker without limits",
        ),
        Premise(
            quantity="I/Os served at a time",
            value=float(lab.datastore.servers),
            unit="I/Os",
            basis=Basis.CALIBRATED,
            source=f"{lab.two_workers_iops:g} IOPS of two workers without limits, rounded",
        ),
        Premise(
            quantity="limits of the VM's two disks, pooled",
            value=POOLED_LIMIT,
            unit="IOPS",
            basis=Basis.STATED,
            source='"all limit values are consolidated per virtual machine per LUN"',
        ),
        Premise(
            quantity="outstanding I/Os of a worker",
            value=1.0,
            unit="I/Os",
            basis=Basis.ASSUMED,
            source="IOmeter's default; the study states none",
        ),
    )


def _figures(
    lab: Lab, limited: dict[int, Run], *, printed: dict[int, float | None]
) -> tuple[Figure, ...]:
    """`printed` holds what the seed read with limits."""
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
