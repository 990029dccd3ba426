"""Seed 003: from 1 to 64 hosts on one LUN, each keeping 32 commands outstanding."""

from advisor.core.device.queueing import little_latency_ms
from advisor.lab.replay.experiment import Basis, Experiment, Premise, Replay
from advisor.lab.replay.figure import lines
from advisor.lab.replay.finding import (
    LIMIT,
    NONE,
    POLICY,
    Finding,
    Relation,
    compare,
    not_modelled,
    of_change,
)
from advisor.lab.simulation.cluster import Cluster, simulate
from advisor.lab.simulation.datastore import SimulatedDatastore
from advisor.lab.simulation.load import Access, SimulatedWorkload, SteadyIo
from advisor.lab.simulation.totals import Totals

NAME = "003-hosts-per-lun"
TITLE = "Scalable storage: hosts on one LUN"
HOST_COUNTS = (1, 2, 4, 8, 16, 32, 64)
QUEUE_DEPTH = 32
IO_BYTES = 16 * 1024
LINK_BYTES_PER_S = 2 * 200e6
MOST_COMMANDS = 256.0
SLOW_MS = 100.0
DURATION_S = 3.0
SETTLED_S = 1.0

ARRAY = SimulatedDatastore(
    servers=60,
    access_s=0.0055,
    bytes_per_s=80e6,
    link_bytes_per_s=LINK_BYTES_PER_S,
    cache_ios=2000,
    cache_s=0.0003,
    read_ahead_streams=8,
)
PATTERNS = tuple(Access)
WRITES_WHY = '"writes generally do better than reads because they are absorbed by the write cache"'


def play() -> Replay:
    """Every number of hosts in every pattern."""
    totals = {
        pattern: {count: _totals(pattern, count) for count in HOST_COUNTS} for pattern in PATTERNS
    }
    return Replay(
        experiment=NAME,
        title=TITLE,
        premises=_premises(),
        findings=(
            *_queue(totals[Access.RANDOM_READ]),
            *_throughput(totals),
            *_latency(totals),
        ),
        figures=(
            lines(
                "figure 1",
                "Aggregate throughput against the number of hosts",
                x_label="hosts",
                y_label="IOPS",
                x=HOST_COUNTS,
                series={
                    str(pattern): [total.iops for total in by_count.values()]
                    for pattern, by_count in totals.items()
                },
            ),
            lines(
                "figure 2",
                "Mean latency against the number of hosts",
                x_label="hosts",
                y_label="ms",
                x=HOST_COUNTS,
                series={
                    str(pattern): [total.latency_ms for total in by_count.values()]
                    for pattern, by_count in totals.items()
                },
                marks={"study: climb upwards of": SLOW_MS},
            ),
        ),
    )


EXPERIMENT = Experiment(name=NAME, title=TITLE, play=play)


def _totals(pattern: Access, count: int) -> Totals:
    workloads = tuple(
        SimulatedWorkload(
            name=f"VMs of blade {number}",
            host=f"blade {number}",
            load=SteadyIo(outstanding_io=QUEUE_DEPTH, io_bytes=IO_BYTES, access=pattern),
        )
        for number in range(1, count + 1)
    )
    cluster = Cluster(datastore=ARRAY, workloads=workloads, queue_depth=float(QUEUE_DEPTH))
    return simulate(cluster, duration_s=DURATION_S, bucket_s=SETTLED_S, seed=1).whole(SETTLED_S)


def _queue(reads: dict[int, Totals]) -> list[Finding]:
    return [
        compare(
            f"commands outstanding at the LUN with {count} hosts",
            "commands",
            seed_value=printed,
            value=reads[count].outstanding_io,
            tolerance=LIMIT,
            why=why,
        )
        for count, printed, why in (
            (8, MOST_COMMANDS, "8 hosts with a queue depth of 32: the recommended maximum"),
            (64, 64.0 * QUEUE_DEPTH, "64 hosts with a queue depth of 32"),
        )
    ]


def _drop_pct(by_count: dict[int, Totals]) -> float:
    """64 hosts against the best number of hosts."""
    best = max(total.iops for total in by_count.values())
    return 100 * (by_count[64].iops / best - 1)


def _throughput(totals: dict[Access, dict[int, Totals]]) -> list[Finding]:
    quantity = "aggregate throughput, 64 hosts against the best, change"
    rows = [
        compare(
            f"{quantity}, {pattern}",
            "%",
            seed_value=0.0,
            value=_drop_pct(totals[pattern]),
            tolerance=of_change(0.0),
            relation=Relation.AT_LEAST,
            why='"no drop in aggregate throughput as we scale the number of hosts"',
        )
        for pattern in PATTERNS
        if pattern is not Access.SEQUENTIAL_READ
    ]
    return [
        *rows,
        compare(
            f"{quantity}, sequential read",
            "%",
            seed_value=0.0,
            value=_drop_pct(totals[Access.SEQUENTIAL_READ]),
            tolerance=NONE,
            relation=Relation.AT_MOST,
            why="streams of more hosts than the array follows become random; the study says only "
            "that it drops",
        ),
        *(
            compare(
                f"throughput of {kind} writes against reads, {which} of all host counts",
                "ratio",
                seed_value=1.0,
                value=choose(_writes_to_reads(totals, kind)),
                tolerance=tolerance,
                relation=Relation.AT_LEAST,
                why=why,
            )
            for kind, which, choose, tolerance, why in (
                ("random", "least", min, POLICY, WRITES_WHY),
                (
                    "random",
                    "most",
                    max,
                    NONE,
                    "the cache keeps all disks busy, a host's reads few",
                ),
                ("sequential", "least", min, POLICY, WRITES_WHY),
                ("sequential", "most", max, NONE, "the cache puts together what reads intermix"),
            )
        ),
    ]


def _writes_to_reads(totals: dict[Access, dict[int, Totals]], kind: str) -> list[float]:
    writes, reads = totals[Access(f"{kind} write")], totals[Access(f"{kind} read")]
    return [writes[count].iops / reads[count].iops for count in HOST_COUNTS]


def _latency(totals: dict[Access, dict[int, Totals]]) -> list[Finding]:
    slowest = {pattern: totals[pattern][64].latency_ms or 0.0 for pattern in PATTERNS}
    enough = 1000 * 64 * QUEUE_DEPTH / SLOW_MS
    check = little_latency_ms(64.0 * QUEUE_DEPTH, enough)
    return [
        *(
            compare(
                f"latency with 64 hosts against 8, {pattern}",
                "ratio",
                seed_value=1.0,
                value=slowest[pattern] / (totals[pattern][8].latency_ms or 0.0),
                tolerance=NONE,
                relation=Relation.AT_LEAST,
                why='"beyond this point, latencies climb"; eight times the commands for no more '
                "throughput",
            )
            for pattern in PATTERNS
        ),
        not_modelled(
            "latency beyond 8 hosts, random read",
            "ms",
            seed_value=SLOW_MS,
            value=slowest[Access.RANDOM_READ],
            relation=Relation.AT_LEAST,
            why=f"depends on the array's IOPS, printed only in figure 1; by Little's law 64 hosts "
            f"wait {check:g} ms on an array of {enough:,.0f} IOPS and longer on any slower one; "
            "the value is that of the assumed array",
        ),
    ]


def _premises() -> tuple[Premise, ...]:
    why = "the study names no array; only directions and ratios are compared"
    numbers = {
        "disks of the LUN": (float(ARRAY.servers), "disks"),
        "time of one disk for a random access": (1000 * ARRAY.access_s, "ms"),
        "transfer rate of one disk": (ARRAY.bytes_per_s or 0.0, "bytes/s"),
        "ports of the array, 2 Gbit/s Fibre Channel each, together": (
            LINK_BYTES_PER_S,
            "bytes/s",
        ),
        "write cache": (float(ARRAY.cache_ios), "I/Os"),
        "sequential streams the array follows": (float(ARRAY.read_ahead_streams), "streams"),
        "size of a command": (float(IO_BYTES), "bytes"),
    }
    return tuple(
        Premise(quantity=quantity, value=value, unit=unit, basis=Basis.ASSUMED, source=why)
        for quantity, (value, unit) in numbers.items()
    )
