"""VMFS on ESX Server 3.5: from 1 to 64 hosts on one LUN, each keeping 32 commands outstanding."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from math import inf

from advisor.advice.off_peak_work.decide.scsi_conflicts import (
    ConflictInputs,
    ConflictWindow,
    OffPeakAdvice,
    advise_off_peak_work,
)
from advisor.advice.queue_depth.decide.queue_depth import advise_queue_depth
from advisor.advice.queue_depth.decide.queue_depth_answer import (
    HostDepth,
    QueueDepthAdvice,
    QueueDepthInputs,
)
from advisor.core.device.queueing import little_latency_ms
from advisor.lab.replay.experiment import Outcome
from advisor.lab.replay.figure import Figure, lines
from advisor.lab.replay.study import experiment
from advisor.lab.simulation.cluster import Cluster, simulate
from advisor.lab.simulation.datastore import SimulatedDatastore
from advisor.lab.simulation.load import Access, SimulatedWorkload, SteadyIo
from advisor.lab.simulation.totals import Totals

HOST_COUNTS = (1, 2, 4, 8, 16, 32, 64)
QUEUE_DEPTH = 32
LUN_QUEUE_DEPTH = round(experiment("vmfs-hosts-per-lun").number("commands_8"))
IO_BYTES = 16 * 1024
LINK_BYTES_PER_S = 2 * 200e6
SLOW_MS = experiment("vmfs-hosts-per-lun").number("slow_ms")
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

DAYS, NORMAL_DAYS = 8, 4
PEAK_HOURS, WORK_HOUR = range(8, 18), 10
PEAK_TO_NIGHT = 10.0
CONFLICT_RATIO = 0.02
WENT_IN = {
    "disks": ARRAY.servers,
    "access_ms": 1000 * ARRAY.access_s,
    "bytes_per_s": ARRAY.bytes_per_s,
    "link_bytes_per_s": LINK_BYTES_PER_S,
    "cache_ios": ARRAY.cache_ios,
    "streams": ARRAY.read_ahead_streams,
    "io_bytes": IO_BYTES,
}


def play() -> Outcome:
    """Every number of hosts in every pattern."""
    totals = {
        pattern: {count: _totals(pattern, count) for count in HOST_COUNTS} for pattern in PATTERNS
    }
    reads = totals[Access.RANDOM_READ]
    drops = {str(pattern): _drop_pct(by_count) for pattern, by_count in totals.items()}
    latencies_ms = {
        pattern: [by_count[count].latency_ms or 0.0 for count in (8, 64)]
        for pattern, by_count in totals.items()
    }
    random, sequential = (_writes_to_reads(totals, kind) for kind in ("random", "sequential"))
    depth = _advised_depth()
    fitted = _totals(Access.RANDOM_READ, 64, depth)
    enough_iops = 1000 * 64 * QUEUE_DEPTH / SLOW_MS
    return Outcome(
        values=WENT_IN
        | {
            "commands_8": reads[8].outstanding_io,
            "commands_64": reads[64].outstanding_io,
            "advised_depth": depth,
            "commands_advised": fitted.device_outstanding_io,
            "latency_advised": (fitted.device_latency_ms or 0.0)
            / (reads[64].device_latency_ms or inf),
            "peak_to_night": PEAK_TO_NIGHT,
            "work_load": _load_in_advised_hours(),
            "drop_sequential_read": drops.pop(str(Access.SEQUENTIAL_READ)),
            "drop": drops,
            "random_least": min(random),
            "random_most": max(random),
            "sequential_least": min(sequential),
            "sequential_most": max(sequential),
            "climb": {str(pattern): slow / few for pattern, (few, slow) in latencies_ms.items()},
            "slow_ms": reads[64].latency_ms,
            "enough_iops": enough_iops,
            "check_ms": little_latency_ms(64.0 * QUEUE_DEPTH, enough_iops),
        },
        figures=_figures(totals),
    )


def _figures(totals: Mapping[Access, Mapping[int, Totals]]) -> tuple[Figure, ...]:
    """Throughput and latency of each pattern over the number of hosts."""
    iops = {
        str(pattern): [total.iops for total in by_count.values()]
        for pattern, by_count in totals.items()
    }
    latency_ms = {
        str(pattern): [total.latency_ms for total in by_count.values()]
        for pattern, by_count in totals.items()
    }
    return (
        lines(
            "figure 1",
            "Aggregate throughput against the number of hosts",
            x_label="hosts",
            y_label="IOPS",
            x=HOST_COUNTS,
            series=iops,
        ),
        lines(
            "figure 2",
            "Mean latency against the number of hosts",
            x_label="hosts",
            y_label="ms",
            x=HOST_COUNTS,
            series=latency_ms,
            marks={"study: climb upwards of": SLOW_MS},
        ),
    )


def _advised_depth() -> int:
    """What the product advises each of 64 hosts that share the LUN."""
    hosts = tuple(
        HostDepth(host=f"blade {number}", device_queue_depth=QUEUE_DEPTH)
        for number in range(1, 65)
    )
    advice = advise_queue_depth(
        QueueDepthInputs(datastore="VMFS", lun_queue_depth=LUN_QUEUE_DEPTH, hosts=hosts)
    )
    if not isinstance(advice, QueueDepthAdvice):
        raise TypeError(f"no queue depth is advised: {advice.summary}")
    return max(one.advised_queue_depth for one in advice.depths)


def _load_in_advised_hours() -> float:
    """The load of the hours advised for administrative work, against the mean of the day.

    It used to be done in a busy hour, and becomes much more on the fifth day.
    """
    begin = datetime(2008, 1, 7, tzinfo=UTC)
    load = [PEAK_TO_NIGHT if hour in PEAK_HOURS else 1.0 for hour in range(24)]
    windows = tuple(
        ConflictWindow(
            at=begin + timedelta(days=day, hours=hour + 1),
            commands=1e6 * load[hour],
            conflicts=1e6 * load[hour] * CONFLICT_RATIO
            if day >= NORMAL_DAYS and hour == WORK_HOUR
            else 0.0,
        )
        for day in range(DAYS)
        for hour in range(24)
    )
    advice = advise_off_peak_work(
        ConflictInputs(
            datastore="VMFS", windows=windows, normal_until=begin + timedelta(days=NORMAL_DAYS)
        )
    )
    if not isinstance(advice, OffPeakAdvice):
        raise TypeError(f"no hours are advised: {advice.summary}")
    hours = [(advice.from_hour_utc + step) % 24 for step in range(advice.work_hours)]
    return sum(load[hour] for hour in hours) / advice.work_hours / (sum(load) / 24)


def _totals(pattern: Access, count: int, queue_depth: int = QUEUE_DEPTH) -> Totals:
    workloads = tuple(
        SimulatedWorkload(
            name=f"VMs of blade {number}",
            host=f"blade {number}",
            load=SteadyIo(outstanding_io=QUEUE_DEPTH, io_bytes=IO_BYTES, access=pattern),
        )
        for number in range(1, count + 1)
    )
    cluster = Cluster(datastore=ARRAY, workloads=workloads, queue_depth=float(queue_depth))
    return simulate(cluster, duration_s=DURATION_S, bucket_s=SETTLED_S, seed=1).whole(SETTLED_S)


def _drop_pct(by_count: dict[int, Totals]) -> float:
    """64 hosts against the best number of hosts."""
    best = max(total.iops for total in by_count.values())
    return 100 * (by_count[64].iops / best - 1)


def _writes_to_reads(totals: dict[Access, dict[int, Totals]], kind: str) -> list[float]:
    writes, reads = totals[Access(f"{kind} write")], totals[Access(f"{kind} read")]
    return [writes[count].iops / reads[count].iops for count in HOST_COUNTS]
