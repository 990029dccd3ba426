"""Load from outside on simulated clusters: what was before, what is now, and what is told of it.

Samples show a change of our own load in many ways but one: I/Os that come in another order look
the same. Nor do they show disks that became slower, which no control of ours mends either.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from advisor.core.detection.external_workload import (
    ExternalState,
    LoadWindow,
    detect_external_load,
)
from advisor.core.detection.observed import readings_of
from advisor.core.detection.own_mix import OwnMix
from advisor.core.iosize import size_cost
from advisor.core.observation import DatastoreObservation, HostLatency
from advisor.lab.simulation.cluster import BEGAN_AT, Cluster, simulate
from advisor.lab.simulation.datastore import SimulatedDatastore
from advisor.lab.simulation.load import Access, SimulatedWorkload, SteadyIo
from advisor.lab.simulation.totals import Totals
from bench.evaluation.contention import CALM, DISKS, GREEDY, LARGE, SEEDS, SMALL, WINDOW_S
from bench.evaluation.table import table

WINDOWS_BEFORE, WINDOWS_NOW = 60, 30
LINK = SimulatedDatastore(servers=64, access_s=0.004, link_bytes_per_s=3e6)
"""Full, it gives 366 small I/Os a second, to as many outstanding as there are."""
CACHED = replace(DISKS, cache_ios=64, cache_s=0.0005)
READ_AHEAD = replace(DISKS, read_ahead_streams=4)


def _steady(
    name: str, depth: int, *, io_bytes: int = SMALL, access: Access = Access.RANDOM_READ
) -> SimulatedWorkload:
    load = SteadyIo(outstanding_io=depth, io_bytes=io_bytes, access=access)
    return SimulatedWorkload(name=name, host=name, load=load)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Workloads before, each tuple for a part of the time, and now; `outside` sends no samples."""

    disks: SimulatedDatastore = DISKS
    before: tuple[tuple[SimulatedWorkload, ...], ...] = (CALM,)
    now: tuple[SimulatedWorkload, ...] = CALM
    disks_now: SimulatedDatastore | None = None
    outside: tuple[str, ...] = ()


def _bursts(depth: int) -> SimulatedWorkload:
    """Ours, for 14 s of each 22 s."""
    spans = tuple((at, at + 14.0) for at in range(0, int(WINDOWS_BEFORE * WINDOW_S), 22))
    return replace(_steady("bursts", depth), active=spans)


PAIR = (_steady("a", 3), _steady("b", 3))
WRITERS = tuple(replace(one, load=replace(one.load, access=Access.RANDOM_WRITE)) for one in CALM)
SCAN = _steady("scan", 8, access=Access.SEQUENTIAL_READ)

CHANGES = {
    "load from outside": Change(now=(*CALM, GREEDY), outside=("greedy",)),
    "load from outside, our own fills the link": Change(
        disks=LINK, before=(PAIR,), now=(*PAIR, _steady("new", 16)), outside=("new",)
    ),
    "slower disks": Change(disks_now=replace(DISKS, access_s=4 * DISKS.access_s)),
    "a workload let loose": Change(now=(*CALM, GREEDY)),
    "a new workload, others fill the link": Change(
        disks=LINK, before=(PAIR,), now=(*PAIR, _steady("new", 16))
    ),
    "one of two that fill the link asks for more": Change(
        disks=LINK, before=(PAIR,), now=(PAIR[0], _steady("b", 16))
    ),
    "a backup by night, a deeper queue by day": Change(
        disks=LINK, before=(PAIR, (_steady("backup", 6),)), now=(_steady("scan", 24),)
    ),
    "a neighbour comes back in bursts": Change(
        before=(CALM, (*CALM, _bursts(24))), now=(*CALM, _bursts(24))
    ),
    "a neighbour comes back in bursts, deeper": Change(
        before=(CALM, (*CALM, _bursts(12))), now=(*CALM, _bursts(48))
    ),
    "small I/Os become large": Change(
        disks=LINK, before=(PAIR,), now=(_steady("a", 3, io_bytes=LARGE), PAIR[1])
    ),
    "cached writes become reads": Change(disks=CACHED, before=(WRITERS,), now=CALM),
    "sequential reads become random": Change(
        disks=READ_AHEAD, before=((SCAN, CALM[0]),), now=(_steady("scan", 8), CALM[0])
    ),
}

NOTE = (
    "Unknown is the right answer where load of our own is another than it was: it may explain the "
    "latency, and attribution names it. Reads that come in another order look the same in samples "
    "of counters, so that row is wrong, and stays so."
)


def evaluate() -> str:
    """A table as Markdown."""
    rows = []
    for name, change in CHANGES.items():
        told = Counter(_told(change, seed) for seed in SEEDS)
        rows.append([name, f"{len(SEEDS)} runs", *(str(told[state]) for state in ExternalState)])
    return table(["what changed", "", *(state.value for state in ExternalState)], rows)


def _told(change: Change, seed: int) -> ExternalState:
    windows = WINDOWS_BEFORE // len(change.before)
    reference = [
        window
        for part, workloads in enumerate(change.before)
        for window in _windows(change.disks, workloads, windows, seed=100 * part + seed)
    ]
    recent = _windows(
        change.disks_now or change.disks,
        change.now,
        WINDOWS_NOW,
        seed=1000 + seed,
        outside=change.outside,
    )
    return detect_external_load(reference, recent).state


def _windows(
    disks: SimulatedDatastore,
    workloads: Sequence[SimulatedWorkload],
    count: int,
    *,
    seed: int,
    outside: Sequence[str] = (),
) -> list[LoadWindow]:
    """What the hosts that send samples tell."""
    cluster = Cluster(datastore=disks, workloads=tuple(workloads))
    run = simulate(cluster, duration_s=WINDOW_S * count, bucket_s=WINDOW_S, seed=seed)
    seen = [one for one in workloads if one.name not in outside]
    return [
        _window(
            BEGAN_AT + timedelta(seconds=WINDOW_S * index),
            {one.name: run.workloads[one.name][index] for one in seen},
            writers={one.name for one in seen if one.load.access.is_write},
        )
        for index in range(count)
    ]


def _window(at: datetime, totals: Mapping[str, Totals], *, writers: Collection[str]) -> LoadWindow:
    whole = sum(totals.values(), Totals())
    loads = {name: one.iops * size_cost(one.mean_io_bytes) for name, one in totals.items()}
    written = sum(totals[name].ios for name in writers)
    hosts = tuple(
        HostLatency(
            host=name,
            latency_ms=one.device_latency_ms,
            io_count=one.ios,
            mean_io_bytes=one.mean_io_bytes,
        )
        for name, one in totals.items()
    )
    (reading,) = readings_of([DatastoreObservation(at=at, window_s=WINDOW_S, hosts=hosts)])
    return LoadWindow(
        at=at,
        own_load=sum(loads.values()),
        latency_ms=reading.value,
        mix=OwnMix(
            iops=whole.iops,
            read_ratio=1 - written / whole.ios if whole.ios else None,
            mean_io_bytes=whole.mean_io_bytes,
            by_workload=tuple(loads.items()),
        ),
    )
