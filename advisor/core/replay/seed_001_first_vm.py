"""Seed 001's test 1: of the eight VMs on each host the first is treated differently."""

from statistics import fmean

from advisor.core.allocation import Allocation
from advisor.core.replay.experiment import Basis, Premise
from advisor.core.replay.seed_001_fio import HOSTS, VMS_PER_HOST, fio_cluster, fio_vm
from advisor.core.simulation.cluster import Run, simulate
from advisor.core.simulation.load import Access

PERIOD_S = 0.1
DURATION_S = 2.0
SETTLED_S = 0.8
EQUAL = Allocation(shares=1000)
COMPRESSED = Premise(
    quantity="time before the change, and after it",
    value=DURATION_S,
    unit="s",
    basis=Basis.ASSUMED,
    source="a minute in the study; it has 20 periods of the window loop instead of 15",
)


def name_of(host: str, number: int) -> str:
    """A VM by its place on the host, from 1."""
    return f"{host} VM {number}"


def others(host: str) -> list[str]:
    """All VMs of a host but the first."""
    return [name_of(host, number) for number in range(2, VMS_PER_HOST + 1)]


def play_pattern(pattern: Access, first: Allocation) -> Run:
    """Sixteen VMs with equal shares, but for the allocation of the first of each host."""
    workloads = [
        fio_vm(name_of(host, number), host, pattern, first if number == 1 else EQUAL)
        for host in HOSTS
        for number in range(1, VMS_PER_HOST + 1)
    ]
    cluster = fio_cluster(pattern, workloads, period_s=PERIOD_S)
    return simulate(cluster, duration_s=DURATION_S, bucket_s=PERIOD_S, seed=1)


def iops_of(run: Run, name: str) -> float:
    """IOPS of a VM after the windows have settled."""
    return run.of(name, SETTLED_S).iops


def of_first(run: Run) -> float:
    """Mean of the first VMs of both hosts."""
    return sum(iops_of(run, name_of(host, 1)) for host in HOSTS) / len(HOSTS)


def of_other(run: Run) -> float:
    """Mean of the VMs that are not the first of their host."""
    return fmean(iops_of(run, name) for host in HOSTS for name in others(host))
