"""Seed 001's tests 2 to 4: VMs of three tiers of policies, with large I/Os."""

from collections.abc import Sequence
from statistics import fmean

from advisor.lab.replay.experiment import Basis, Premise
from advisor.lab.replay.studies.sioc_ssd_fio import (
    HOSTS,
    LARGE_BYTES,
    LARGE_OUTSTANDING_IO,
    LINK_BYTES_PER_S,
    RESERVATION_IOPS,
    TIERS,
    fio_cluster,
    fio_vm,
)
from advisor.lab.simulation.cluster import Run, simulate
from advisor.lab.simulation.load import ALWAYS, Access, SimulatedWorkload

PERIOD_S = 0.5
BUCKET_S = 0.4
SETTLED_S = 8.0
PATTERNS = tuple(RESERVATION_IOPS)
PEAK_IOPS = LINK_BYTES_PER_S / LARGE_BYTES
SIZE = Premise(
    quantity="device time of an I/O of 256 KiB, against one of 16 KiB",
    value=1.0,
    unit="ratio",
    basis=Basis.ASSUMED,
    source=f"the study prints no number at 256 KiB; the link then carries {PEAK_IOPS:,.0f} IOPS "
    "in every pattern, so that all patterns come out alike",
)
SAME_LOAD = Premise(
    quantity="outstanding I/Os of a VM, 256 KiB each",
    value=float(LARGE_OUTSTANDING_IO),
    unit="I/Os",
    basis=Basis.ASSUMED,
    source="as in test 2; the study states no load for this test",
)


def play_tiers(
    pattern: Access,
    numbers: Sequence[tuple[str, dict[str, int]]],
    *,
    duration_s: float,
    spans: dict[str, tuple[float, float]] | None = None,
) -> Run:
    """So many VMs of each tier on each host, active for the spans of their tier."""
    workloads: list[SimulatedWorkload] = [
        fio_vm(
            f"{host} {tier} {number}",
            host,
            pattern,
            TIERS[tier],
            large=True,
            active=ALWAYS if spans is None else (spans[tier],),
        )
        for host, counts in numbers
        for tier, count in counts.items()
        for number in range(1, count + 1)
    ]
    cluster = fio_cluster(pattern, workloads, period_s=PERIOD_S)
    return simulate(cluster, duration_s=duration_s, bucket_s=BUCKET_S, seed=1)


def named(run: Run, host: str, tier: str) -> list[str]:
    """The VMs of a tier on a host."""
    return [name for name in run.workloads if name.startswith(f"{host} {tier} ")]


def of_tier(run: Run, tier: str) -> list[str]:
    """The VMs of a tier on both hosts."""
    return [name for host in HOSTS for name in named(run, host, tier)]


def tier_iops(run: Run, tier: str, from_s: float = SETTLED_S, to_s: float | None = None) -> float:
    """Mean IOPS of a VM of the tier."""
    return fmean([run.of(name, from_s, to_s).iops for name in of_tier(run, tier)])


def windows_text(run: Run) -> str:
    """Mean windows of both hosts after they have settled, for a sentence."""
    return " and ".join(f"{run.window(host, SETTLED_S):.1f}" for host in HOSTS)
