"""What stands behind each kind of recommendation: samples on the wire, and stated facts.

Each journey has a twin that differs in one thing, after which nothing should be recommended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from tests.advisor.disk_samples import CgroupPhase, DiskPhase, cgroup_lines, disk_lines
from tests.advisor.samples import Phase, net_lines

MBIT = 1e6
CALM = 240
CONGESTED = 120
"""Intervals of ten seconds: forty minutes of calm and twenty of congestion."""
DAY = 9000
"""Intervals of ten seconds in 25 hours."""
DEPTHS = (1, 2, 4, 8, 16, 32)

Lines = Callable[[datetime, bool], Iterator[str]]
Commands = Callable[[bool], Iterator[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Journey:
    """From samples, which may tell the twin's story, to the words that a person must see.

    `gap` is why the twin gets nothing; None where the advice does not apply to it at all. With
    `approve_first` the first recommendation is put into force, and the next one is meant.
    """

    name: str
    kind: str
    resource: str
    lines: Lines
    commands: Commands
    said: str
    gap: str | None
    approve_first: bool = False


def _start(now: datetime, *intervals: int) -> datetime:
    return now - timedelta(seconds=10 * sum(intervals))


# --- Policies


def _uplink_lines(now: datetime, helped: bool) -> Iterator[str]:
    start = _start(now, CALM, CONGESTED)
    calm = {"p1": 20 * MBIT, "p2": 10 * MBIT, "p3": 10 * MBIT}
    # Three workloads that want all they can get share 94 Mbit/s alike.
    full = dict.fromkeys(calm, 31.2 * MBIT)
    phases = (
        Phase(intervals=CALM, sent={"up0": 40 * MBIT}, received=calm),
        Phase(intervals=CONGESTED, sent={"up0": 93.6 * MBIT}, received=full),
    )
    yield net_lines("h1", phases, start=start)


def _uplink_commands(helped: bool) -> Iterator[str]:
    yield "resource add h1/up0 --kind uplink --at h1:up0 --capacity 94Mbit --line-rate 100Mbit"
    promised = "--reservation 75Mbit" if helped else ""
    yield f"allocation set h1/up0 web-1 --vnic p1 {promised}"
    yield "allocation set h1/up0 web-2 --vnic p2"
    yield "allocation set h1/up0 web-3 --vnic p3"


def _shared(congested: int, *, calm: int = CALM) -> Lines:
    def lines(now: datetime, helped: bool) -> Iterator[str]:
        length = congested if helped else 10
        start = _start(now, calm, length)
        on_gold = (DiskPhase(intervals=calm, iops=400, latency_ms=5),
                   DiskPhase(intervals=length, iops=500, latency_ms=40))  # fmt: skip
        on_batch = (DiskPhase(intervals=calm, iops=300, latency_ms=5),
                    DiskPhase(intervals=length, iops=1500, latency_ms=40))  # fmt: skip
        yield disk_lines("k1", "sdb", on_gold, start=start)
        yield disk_lines("k2", "sdb", on_batch, start=start)
        yield cgroup_lines("k1", "/gold", _waits(on_gold, calm=0.01, congested=0.6), start=start)
        yield cgroup_lines("k2", "/batch", _waits(on_batch, calm=0.01, congested=0.7), start=start)

    return lines


def _waits(phases: tuple[DiskPhase, ...], *, calm: float, congested: float) -> list[CgroupPhase]:
    return [
        CgroupPhase(intervals=one.intervals, iops=one.iops, waits=part)
        for one, part in zip(phases, (calm, congested), strict=True)
    ]


def _shared_commands(helped: bool) -> Iterator[str]:
    yield "resource add shared --kind datastore --at k1:sdb --at k2:sdb"
    # Allocations are stated after the service has seen the incident begin.
    yield "detect"
    yield "allocation set shared gold --host k1 --cgroup /gold --tier high"
    yield "allocation set shared batch --host k2 --cgroup /batch --tier low"


def _limit_by_policy_lines(now: datetime, helped: bool) -> Iterator[str]:
    """A day of calm before: a limit may hold its own workload back for 1 % of the past."""
    return _shared(CONGESTED // 2, calm=DAY if helped else CALM)(now, True)


# --- What a datastore is set to


def _swept(host: str, device: str, base_ms: float, slope_ms: float, now: datetime) -> str:
    """A device of latency base + slope · outstanding, swept over depths for an hour."""
    phases = [
        DiskPhase(
            intervals=1,
            iops=1000 * depth / (base_ms + slope_ms * depth),
            latency_ms=base_ms + slope_ms * depth,
        )
        for depth in DEPTHS * 60
    ]
    return disk_lines(host, device, phases, start=_start(now, len(phases)))


def _threshold_lines(now: datetime, helped: bool) -> Iterator[str]:
    if helped:
        yield _swept("k3", "sdc", 1.0, 0.5, now)
    else:
        steady = (DiskPhase(intervals=360, iops=500, latency_ms=4),)
        yield disk_lines("k3", "sdc", steady, start=_start(now, 360))


def _threshold_commands(helped: bool) -> Iterator[str]:
    yield "resource add ds --kind datastore --at k3:sdc"


def _lun_lines(now: datetime, helped: bool) -> Iterator[str]:
    steady = (DiskPhase(intervals=60, iops=60, latency_ms=9),)
    for host in ("b0", "b1"):
        yield disk_lines(host, "lun", steady, start=_start(now, 60))


def _lun_commands(hosts: int, twins: int) -> Commands:
    def commands(helped: bool) -> Iterator[str]:
        names = [f"b{number}" for number in range(hosts if helped else twins)]
        reached = " ".join(f"--at {name}:lun --host-queue-depth {name}=32" for name in names)
        yield f"resource add lun --kind datastore {reached} --lun-queue-depth 256"

    return commands


def _conflict_lines(now: datetime, helped: bool) -> Iterator[str]:
    commands = conflicts = 0
    for step in range(14 * 24 * 4):
        at = now - timedelta(days=14) + timedelta(minutes=15 * step)
        yield (
            f"scsi_reservation,host=e1,device=lun commands={commands}i,conflicts={conflicts}i "
            f"{int(at.timestamp()) * 1_000_000_000}"
        )
        busy = 9 <= at.hour < 17
        load = 90_000 if busy else 9_000
        # For three days administrative work has met the busy hours.
        rose = helped and busy and at > now - timedelta(days=3)
        commands += load
        conflicts += round(load * (0.05 if rose else 0.0001))


def _conflict_commands(helped: bool) -> Iterator[str]:
    yield "resource add lun --kind datastore --at e1:lun"


# --- Where things are


def _placement_lines(now: datetime, helped: bool) -> Iterator[str]:
    yield _swept("k4", "slow", 20.0, 2.0, now)
    yield _swept("k4", "other", *((0.5, 0.1) if helped else (20.0, 2.0)), now)
    for name, iops in (("a", 200), ("b", 100)):
        load = (CgroupPhase(intervals=360, iops=iops, waits=0.5),)
        yield cgroup_lines("k4", f"/{name}", load, start=_start(now, 360))


def _placement_commands(helped: bool) -> Iterator[str]:
    for name in ("slow", "other"):
        yield f"resource add {name} --kind datastore --at k4:{name} --size 4TB --used 1TB"
    for name in ("a", "b"):
        yield f"allocation set slow {name} --cgroup /{name} --size 50GB --vdisk {name}"


def _hosts_lines(now: datetime, helped: bool) -> Iterator[str]:
    for host in ("n1", "n2"):
        busy = (Phase(intervals=60, sent={"eno1": 1e9}, received={}),)
        yield net_lines(host, busy, start=_start(now, 60))


def _hosts_commands(helped: bool) -> Iterator[str]:
    for host in ("n1", "n2"):
        yield (
            f"resource add {host}/eno1 --kind uplink --at {host}:eno1 --capacity 9.4Gbit "
            "--line-rate 10Gbit"
        )
    # NetIOC study: 4.5 beside 7.5 exceeds three quarters of 10; beside nothing it fits
    first = "7.5Gbit" if helped else "3Gbit"
    yield f"allocation set n1/eno1 vm-1 --vnic v1 --reservation {first}"
    yield "allocation set n1/eno1 vm-2 --vnic v2 --reservation 4.5Gbit --even-if-full"


# --- Limits that misbehave


def _limit_lines(rates: dict[str, float], twins: dict[str, float]) -> Lines:
    def lines(now: datetime, helped: bool) -> Iterator[str]:
        quick = (DiskPhase(intervals=360, iops=3000, latency_ms=0.5),)
        yield disk_lines("m1", "ds", quick, start=_start(now, 360))
        for name, iops in (rates if helped else twins).items():
            load = (CgroupPhase(intervals=360, iops=iops, waits=0.9 if iops > 20 else 0.0),)
            yield cgroup_lines("m1", f"/{name}", load, start=_start(now, 360))

    return lines


def _limit_commands(*names: str) -> Commands:
    def commands(helped: bool) -> Iterator[str]:
        yield "resource add ds --kind datastore --at m1:ds"
        for name in names:
            yield f"allocation set ds db --cgroup /{name} --vdisk {name} --limit 200"

    return commands


JOURNEYS = (
    Journey(
        name="reservation", kind="reservation", resource="h1/up0",
        lines=_uplink_lines, commands=_uplink_commands,
        # 75 reserved, and a third of the 19 that are left
        said="81.3 Mbit/s", gap="everybody got what they are entitled to",
    ),
    Journey(
        name="shares", kind="shares", resource="shared",
        lines=_shared(CONGESTED), commands=_shared_commands,
        # 2000:500 shares of the 2000 IOPS that were delivered
        said="1600 IOPS", gap="Too little is known about datastore shared",
    ),
    Journey(
        name="limit", kind="limit", resource="shared",
        lines=_limit_by_policy_lines, commands=_shared_commands, approve_first=True,
        # what batch takes on a usual day is 300 IOPS
        said="Limit batch to", gap="24 h are needed",
    ),
    Journey(
        name="threshold", kind="threshold", resource="ds",
        lines=_threshold_lines, commands=_threshold_commands,
        # latency at a part p of the peak is intercept / (1 - p) = 1 / 0.1
        said="to 10 ms", gap="No threshold can be derived",
    ),
    Journey(
        name="queue depth", kind="queue_depth", resource="lun",
        lines=_lun_lines, commands=_lun_commands(64, 8),
        # ESX 3.5 storage study: 64 · 32 = 2048
        said="2048 commands", gap="add up to 256, which datastore lun takes",
    ),
    Journey(
        name="hosts per LUN", kind="hosts_per_lun", resource="lun",
        lines=_lun_lines, commands=_lun_commands(128, 64),
        # not even the smallest depth of 4 fits 128 times
        said="at most 64 hosts per LUN", gap="Set the queue depth of 64 hosts",
    ),
    Journey(
        name="administrative work", kind="off_peak_work", resource="lun",
        lines=_conflict_lines, commands=_conflict_commands,
        said="Do administrative work on datastore lun from", gap="have not risen",
    ),
    Journey(
        name="placement of disks", kind="placement", resource="slow",
        lines=_placement_lines, commands=_placement_commands,
        said="from slow to other", gap="No beneficial move",
    ),
    Journey(
        name="placement of workloads", kind="host_placement", resource="n1/eno1",
        lines=_hosts_lines, commands=_hosts_commands,
        said="Move vm-2 from n1 to n2", gap=None,
    ),
    Journey(
        name="limit does not hold", kind="limit_check", resource="ds",
        lines=_limit_lines({"one": 2000.0}, {"one": 200.0}), commands=_limit_commands("one"),
        said="it does not hold", gap="200 IOPS within 200",
    ),
    Journey(
        name="limit throttles too much", kind="limit_check", resource="ds",
        lines=_limit_lines({"one": 60.0}, {"one": 190.0}), commands=_limit_commands("one"),
        said="it throttles too much", gap="190 IOPS within 200",
    ),
    Journey(
        name="limits are pooled", kind="limit_check", resource="ds",
        lines=_limit_lines({"one": 380.0, "two": 10.0}, {"one": 200.0, "two": 10.0}),
        commands=_limit_commands("one", "two"),
        said="the limits are pooled", gap="200 IOPS within 200",
    ),
)  # fmt: skip
