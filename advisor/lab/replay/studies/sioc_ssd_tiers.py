"""SIOC on SSD, tests 2 and 4: VMs of three tiers of policies, with large I/Os."""

from collections.abc import Sequence
from statistics import fmean

from advisor.core.enumeration import listed
from advisor.lab.replay.experiment import Outcome
from advisor.lab.replay.figure import bars
from advisor.lab.replay.studies.sioc_ssd_fio import (
    HOSTS,
    LARGE,
    LARGE_BYTES,
    LARGE_OUTSTANDING_IO,
    LINK_BYTES_PER_S,
    RESERVATION_IOPS,
    TIERS,
    fio_cluster,
    fio_vm,
    went_in,
)
from advisor.lab.replay.study import experiment
from advisor.lab.simulation.cluster import Run, simulate
from advisor.lab.simulation.load import ALWAYS, Access, SimulatedWorkload

PERIOD_S = 0.5
BUCKET_S = 0.4
SETTLED_S = 8.0
SHORT_S = 16.0
"""Of runs beside those of the study: half as long after windows have settled."""
PATTERNS = tuple(RESERVATION_IOPS)
WITHOUT_MEDIUM = {"high": 2, "low": 2}
VARIED = ((4, LARGE_BYTES), (6, LARGE_BYTES), (10, LARGE_BYTES // 2), (10, LARGE_BYTES // 4))
"""Loads that the study might as well have had: outstanding I/Os of a VM, and their size."""
VARIED_PATTERN = Access.SEQUENTIAL_READ
WENT_IN = went_in(PERIOD_S) | {
    "peak_iops": LINK_BYTES_PER_S / LARGE_BYTES,
    "outstanding_io": LARGE_OUTSTANDING_IO,
}


def play_policies() -> Outcome:
    """Two VMs of the high, four of the medium and two of the low tier on each host."""
    numbers = {"high": 2, "medium": 4, "low": 2}
    runs = {
        pattern: play_tiers(pattern, [(host, numbers) for host in HOSTS], duration_s=24.0)
        for pattern in PATTERNS
    }
    ratios = {
        tier: {
            str(pattern): tier_iops(run, tier) / tier_iops(run, "low")
            for pattern, run in runs.items()
        }
        for tier in ("high", "medium")
    }
    stated = experiment("sioc-ssd-tiers")
    spare = {
        pattern: play_tiers(
            pattern, [(host, WITHOUT_MEDIUM) for host in HOSTS], duration_s=SHORT_S
        )
        for pattern in PATTERNS
    }
    return Outcome(
        values=WENT_IN
        | {
            "spare_high": {
                str(pattern): 100 * (tier_iops(run, "high") / tier_iops(runs[pattern], "high") - 1)
                for pattern, run in spare.items()
            }
        }
        | {f"{tier}_ratio": by_place for tier, by_place in ratios.items()}
        | {
            f"slowest_{tier}": {
                str(pattern): min(_rates(run, tier)) for pattern, run in runs.items()
            }
            for tier in TIERS
        },
        figures=(
            bars(
                "figure 5",
                "Mean IOPS of a VM by tier, I/Os of 256 KiB",
                "IOPS",
                places=[str(pattern) for pattern in runs],
                series={tier: [tier_iops(run, tier) for run in runs.values()] for tier in TIERS},
            ),
            bars(
                "figure 5, ratios",
                "IOPS of a VM against one of the low tier",
                "low tier = 1",
                places=[str(pattern) for pattern in runs],
                series={tier: list(by_place.values()) for tier, by_place in ratios.items()},
                printed={tier: [stated.number(f"{tier}_ratio")] * len(runs) for tier in ratios},
            ),
        ),
    )


def play_uneven_hosts() -> Outcome:
    """One VM of the high tier on each host, beside eleven or three of the low one."""
    numbers = [("host 1", {"high": 1, "low": 11}), ("host 2", {"high": 1, "low": 3})]
    runs = {pattern: play_tiers(pattern, numbers, duration_s=24.0) for pattern in PATTERNS}
    varied = [play_tiers(VARIED_PATTERN, numbers, duration_s=24.0, load=load) for load in VARIED]
    return Outcome(
        values=WENT_IN
        | {"windows": {str(pattern): _windows_text(run) for pattern, run in runs.items()}}
        | {
            f"{tier}_evenness": {
                str(pattern): _evenness(run, tier) for pattern, run in runs.items()
            }
            for tier in ("high", "low")
        }
        | {
            f"{tier}_worst": min(_evenness(run, tier) for run in varied)
            for tier in ("high", "low")
        }
        | {"varied": _varied_text(), "varied_pattern": str(VARIED_PATTERN)},
        figures=(
            bars(
                "figure 7",
                "Mean IOPS of a VM by host (12 VMs and 4 VMs) and tier",
                "IOPS",
                places=[f"{host}, {tier}" for tier in ("high", "low") for host in HOSTS],
                series={
                    str(pattern): [
                        fmean([run.of(name, SETTLED_S).iops for name in _named(run, host, tier)])
                        for tier in ("high", "low")
                        for host in HOSTS
                    ]
                    for pattern, run in runs.items()
                },
            ),
        ),
    )


def _evenness(run: Run, tier: str) -> float:
    """The slowest VM of a tier against the fastest."""
    return min(_rates(run, tier)) / max(_rates(run, tier))


def _varied_text() -> str:
    return listed([f"{count} of {io_bytes // 1024} KiB" for count, io_bytes in VARIED])


def _rates(run: Run, tier: str) -> list[float]:
    return [run.of(name, SETTLED_S).iops for name in of_tier(run, tier)]


def play_tiers(
    pattern: Access,
    numbers: Sequence[tuple[str, dict[str, int]]],
    *,
    duration_s: float,
    spans: dict[str, tuple[float, float]] | None = None,
    load: tuple[int, int] = LARGE,
) -> Run:
    """So many VMs of each tier on each host, active for the spans of their tier."""
    workloads: list[SimulatedWorkload] = [
        fio_vm(
            f"{host} {tier} {number}",
            host,
            pattern,
            TIERS[tier],
            load=load,
            active=ALWAYS if spans is None else (spans[tier],),
        )
        for host, counts in numbers
        for tier, count in counts.items()
        for number in range(1, count + 1)
    ]
    cluster = fio_cluster(pattern, workloads, period_s=PERIOD_S)
    return simulate(cluster, duration_s=duration_s, bucket_s=BUCKET_S, seed=1)


def _named(run: Run, host: str, tier: str) -> list[str]:
    """The VMs of a tier on a host."""
    return [name for name in run.workloads if name.startswith(f"{host} {tier} ")]


def of_tier(run: Run, tier: str) -> list[str]:
    """The VMs of a tier on both hosts."""
    return [name for host in HOSTS for name in _named(run, host, tier)]


def tier_iops(run: Run, tier: str, from_s: float = SETTLED_S, to_s: float | None = None) -> float:
    """Mean IOPS of a VM of the tier."""
    return fmean([run.of(name, from_s, to_s).iops for name in of_tier(run, tier)])


def _windows_text(run: Run) -> str:
    """Mean windows of both hosts after they have settled, for a sentence."""
    return " and ".join(f"{run.window(host, SETTLED_S):.1f}" for host in HOSTS)
