"""SIOC on SSD, test 1: of each host's eight VMs the first has shares, a limit or a reservation."""

from collections.abc import Callable, Mapping
from functools import cache
from statistics import fmean

import numpy as np

from advisor.core.allocation import Allocation
from advisor.core.detection.threshold import FixedThreshold, peak_throughput_threshold
from advisor.core.device.device_fit import LoadPoint
from advisor.lab.replay.experiment import Outcome, Value
from advisor.lab.replay.figure import Figure, bars, over_time
from advisor.lab.replay.studies.sioc_ssd_fio import (
    HIGH_SHARE,
    HOSTS,
    RESERVATION_IOPS,
    SEQUENTIAL_WRITE_IOPS,
    SMALL_BYTES,
    VMS_PER_HOST,
    datastore,
    fio_cluster,
    fio_vm,
    went_in,
)
from advisor.lab.replay.study import experiment
from advisor.lab.simulation.cluster import Cluster, Run, simulate
from advisor.lab.simulation.load import Access

PERIOD_S = 0.1
DURATION_S = 2.0
SETTLED_S = 0.8
EQUAL = Allocation(shares=1000)
LIMIT_IOPS = experiment("sioc-ssd-limit").number("limited_iops")
PATTERNS = tuple(RESERVATION_IOPS)
PEAK_PART = 0.9
DEPTHS = (8, 16, 32, 64, 128, 256)
"""I/Os that one VM keeps outstanding, step by step, while the device is learnt."""
WENT_IN = went_in(PERIOD_S) | {"duration_s": DURATION_S}

Runs = dict[Access, Run]


def play_shares() -> Outcome:
    """The first VM of each host has 1000 shares, then 3000; the others 1000 all the time."""
    before = _play(lambda _: EQUAL)
    after = _play(lambda _: Allocation(shares=3000))
    equal = before[Access.SEQUENTIAL_WRITE].whole(SETTLED_S).iops
    computed = HIGH_SHARE * SEQUENTIAL_WRITE_IOPS
    return Outcome(
        values=WENT_IN
        | {
            "equal_vm_iops": equal / len(HOSTS) / VMS_PER_HOST,
            "part_pct": _by_pattern(
                after,
                lambda _, run: 100 * len(HOSTS) * _of_first(run) / _whole(run),
            ),
            "first_iops": _by_pattern(after, lambda _, run: _of_first(run)),
            "peak_part_pct": 100 * PEAK_PART,
            "triggered_pct": {
                str(pattern): _triggered_pct(pattern)
                for pattern in PATTERNS
                if not _is_bound(pattern)
            },
        },
        figures=_figures(
            "figure 2",
            ("1000 shares each", "VM 1: 3000 shares"),
            before,
            after,
            printed={
                pattern: computed if pattern is Access.SEQUENTIAL_WRITE else reservation - 100
                for pattern, reservation in RESERVATION_IOPS.items()
            },
        ),
    )


def _is_bound(pattern: Access) -> bool:
    """Whether the link holds the pattern, not its channels: no line tells its latency."""
    return pattern is Access.SEQUENTIAL_READ


def _triggered_pct(pattern: Access) -> float:
    """Part of the peak that the device gives at the latency from which it is called congested.

    The threshold is learnt from windows at several depths; what the device gives at that latency
    is read between them, and compared with what all its channels can do.
    """
    points = [_load_point(pattern, depth) for depth in DEPTHS]
    learnt = peak_throughput_threshold(points, part=PEAK_PART)
    if not isinstance(learnt, FixedThreshold):
        raise TypeError(f"no threshold is learnt: {learnt}")
    latencies, rates = zip(*((one.latency_ms, one.iops) for one in points), strict=True)
    device = datastore(pattern)
    return (
        100 * float(np.interp(learnt.value, latencies, rates)) * device.access_s / device.servers
    )


def _load_point(pattern: Access, depth: int) -> LoadPoint:
    """A window at this depth, with nothing that controls it."""
    vm = fio_vm("VM", HOSTS[0], pattern, EQUAL, load=(depth, SMALL_BYTES))
    cluster = Cluster(datastore=datastore(pattern), workloads=(vm,))
    whole = simulate(cluster, duration_s=0.4, bucket_s=0.2, seed=1).whole(0.2)
    return LoadPoint(
        outstanding_io=whole.device_outstanding_io,
        latency_ms=whole.device_latency_ms or 0.0,
        iops=whole.iops,
    )


def play_limit() -> Outcome:
    """The first VM of each host may do 500 IOPS."""
    before = _play(lambda _: EQUAL)
    limited = _play(lambda _: Allocation(limit=LIMIT_IOPS, shares=1000))
    return Outcome(
        values=WENT_IN
        | {
            "limited_iops": _by_pattern(limited, lambda _, run: _of_first(run)),
            "evenness": _by_pattern(
                limited, lambda _, run: min(_of_others(run)) / max(_of_others(run))
            ),
            "whole_ratio": _by_pattern(
                limited, lambda pattern, run: _whole(run) / _whole(before[pattern])
            ),
        },
        figures=_figures(
            "figure 3",
            ("no limit", "VM 1: limit 500"),
            before,
            limited,
            printed=dict.fromkeys(PATTERNS, LIMIT_IOPS),
        ),
    )


def play_reservation() -> Outcome:
    """The first VM of each host has the share test's result and 100 IOPS more reserved."""
    shared = _play(lambda _: Allocation(shares=3000))
    reserved = _play(
        lambda pattern: Allocation(reservation=RESERVATION_IOPS[pattern], shares=1000)
    )
    return Outcome(
        values=WENT_IN
        | {
            "reserved_iops": _by_pattern(reserved, lambda _, run: _of_first(run)),
            "whole_ratio": _by_pattern(
                reserved, lambda pattern, run: _whole(run) / _whole(shared[pattern])
            ),
            "others_change": _by_pattern(
                reserved,
                lambda pattern, run: (
                    100 * (sum(_of_others(run)) / sum(_of_others(shared[pattern])) - 1)
                ),
            ),
        },
        figures=_figures(
            "figure 4",
            ("VM 1: 3000 shares", "VM 1: reservation"),
            shared,
            reserved,
            printed=RESERVATION_IOPS,
        ),
    )


def _play(first: Callable[[Access], Allocation]) -> Runs:
    """Sixteen VMs with equal shares, but for the allocation of the first of each host."""
    return {pattern: _play_pattern(pattern, first(pattern)) for pattern in PATTERNS}


@cache
def _play_pattern(pattern: Access, first: Allocation) -> Run:
    """Kept, because two experiments of a process begin with the same run."""
    workloads = [
        fio_vm(_name_of(host, number), host, pattern, first if number == 1 else EQUAL)
        for host in HOSTS
        for number in range(1, VMS_PER_HOST + 1)
    ]
    cluster = fio_cluster(pattern, workloads, period_s=PERIOD_S)
    return simulate(cluster, duration_s=DURATION_S, bucket_s=PERIOD_S, seed=1)


def _by_pattern(runs: Runs, measure: Callable[[Access, Run], float]) -> dict[str, Value]:
    return {str(pattern): measure(pattern, run) for pattern, run in runs.items()}


def _name_of(host: str, number: int) -> str:
    """A VM by its place on the host, from 1."""
    return f"{host} VM {number}"


def _whole(run: Run) -> float:
    """IOPS of all VMs after the windows have settled."""
    return run.whole(SETTLED_S).iops


def _of_first(run: Run) -> float:
    """Mean IOPS of the first VMs of both hosts."""
    return fmean([run.of(_name_of(host, 1), SETTLED_S).iops for host in HOSTS])


def _of_others(run: Run) -> list[float]:
    """IOPS of each VM that is not the first of its host."""
    return [
        run.of(_name_of(host, number), SETTLED_S).iops
        for host in HOSTS
        for number in range(2, VMS_PER_HOST + 1)
    ]


def _figures(
    name: str,
    labels: tuple[str, str],
    before: dict[Access, Run],
    after: dict[Access, Run],
    *,
    printed: Mapping[Access, float],
) -> tuple[Figure, ...]:
    """The first VMs and the others without and with the change, and one host's VMs over time."""
    shown = [f"VM {number}" for number in range(1, VMS_PER_HOST + 1)]
    written = [runs[Access.SEQUENTIAL_WRITE] for runs in (before, after)]
    first, second = labels
    end = written[0].times_s[-1]
    return (
        bars(
            name,
            f"IOPS of VM 1 and of each other VM; {first}, then {second}",
            "IOPS",
            places=[str(pattern) for pattern in PATTERNS],
            series={
                "VM 1 before": [_of_first(before[pattern]) for pattern in PATTERNS],
                "VM 1 after": [_of_first(after[pattern]) for pattern in PATTERNS],
                "others before": [fmean(_of_others(before[pattern])) for pattern in PATTERNS],
                "others after": [fmean(_of_others(after[pattern])) for pattern in PATTERNS],
            },
            printed={"VM 1 after": [printed[pattern] for pattern in PATTERNS]},
        ),
        over_time(
            f"{name}, sequential write over time",
            "IOPS of every VM of host 1, sequential write: two runs, one after the other",
            "IOPS",
            times_s=[*written[0].times_s, *(end + time for time in written[1].times_s)],
            series={
                vm: [each.iops for run in written for each in run.workloads[f"host 1 {vm}"]]
                for vm in shown
            },
            marks={"VM 1, study": printed[Access.SEQUENTIAL_WRITE]},
            phases={0.0: first, end: second},
        ),
    )
