"""Test bed of SIOC on SSD: sixteen VMs running fio on two hosts and one SSD datastore.

The throughput of each I/O pattern is calibrated on what the study prints of its own runs at
16 KiB: 2,500 IOPS per VM with equal shares for sequential writes, and for the others the result
of the share test that its reservation test was set by (100 IOPS less than the reservation, 30 %
of a host). SIOC was on in all of these runs, so that they are what is left where the windows come
to rest. What 256 KiB cost is not calibrated: the link carries what the fastest pattern needed.
"""

from collections.abc import Iterable, Mapping

from advisor.core.allocation import Allocation
from advisor.lab.replay.experiment import Value
from advisor.lab.replay.study import experiment
from advisor.lab.simulation.cluster import Cluster
from advisor.lab.simulation.control import WindowControl
from advisor.lab.simulation.datastore import SimulatedDatastore
from advisor.lab.simulation.load import ALWAYS, Access, SimulatedWorkload, SteadyIo
from enforcers.window import WindowLaw

HOSTS = ("host 1", "host 2")
VMS_PER_HOST = 8
SMALL_BYTES, SMALL_OUTSTANDING_IO = 16 * 1024, 64
LARGE_BYTES, LARGE_OUTSTANDING_IO = 256 * 1024, 10
LARGE = (LARGE_OUTSTANDING_IO, LARGE_BYTES)
THRESHOLD_MS = 5.0
UNLOADED_S = 0.0005
AT_REST_S = THRESHOLD_MS / 1000
"""Latency at which the windows come to rest: the threshold."""
SPARE_CHANNELS = 10
"""Reading ahead keeps so many times the channels busy that the link needs."""

RESERVATION_IOPS = {
    Access(pattern): iops
    for pattern, iops in experiment("sioc-ssd-reservation").numbers("reserved_iops").items()
}
HIGH_SHARE = 0.3
"""3000 of 10,000 shares on a host."""
SEQUENTIAL_WRITE_IOPS = VMS_PER_HOST * experiment("sioc-ssd-shares").number("equal_vm_iops")

HOST_IOPS = {
    pattern: SEQUENTIAL_WRITE_IOPS
    if pattern is Access.SEQUENTIAL_WRITE
    else (reservation - 100) / HIGH_SHARE
    for pattern, reservation in RESERVATION_IOPS.items()
}
"""What a host's eight VMs get together at 16 KiB."""

LINK_BYTES_PER_S = len(HOSTS) * max(HOST_IOPS.values()) * SMALL_BYTES

TIERS = {
    "high": Allocation(reservation=100, limit=100_000, shares=2000),
    "medium": Allocation(reservation=50, limit=10_000, shares=1000),
    "low": Allocation(reservation=10, limit=1_000, shares=500),
}
"""Table 1."""


def datastore(pattern: Access) -> SimulatedDatastore:
    """Flash channels that answer in 0.5 ms and give the pattern's throughput at rest.

    On the line s·(D - 1 + N)/D they do D/s - (D - 1)/Λ I/Os per second at a latency of Λ; solved
    for the peak D/s. The fastest pattern, sequential read, has channels to spare and is bound by
    the link.
    """
    iops = len(HOSTS) * HOST_IOPS[pattern]
    peak_iops = (iops - 1 / AT_REST_S) / (1 - UNLOADED_S / AT_REST_S)
    spare = SPARE_CHANNELS if pattern is Access.SEQUENTIAL_READ else 1
    servers = round(peak_iops * UNLOADED_S)
    return SimulatedDatastore(
        servers=servers * spare, access_s=servers / peak_iops, link_bytes_per_s=LINK_BYTES_PER_S
    )


def fio_vm(
    name: str,
    host: str,
    pattern: Access,
    allocation: Allocation,
    *,
    load: tuple[int, int] = (SMALL_OUTSTANDING_IO, SMALL_BYTES),
    active: tuple[tuple[float, float], ...] = ALWAYS,
) -> SimulatedWorkload:
    """One VM with fio; `load` is how many I/Os it keeps outstanding, and their bytes."""
    outstanding_io, io_bytes = load
    steady = SteadyIo(outstanding_io=outstanding_io, io_bytes=io_bytes, access=pattern)
    return SimulatedWorkload(
        name=name, host=host, load=steady, allocation=allocation, active=active
    )


def fio_cluster(
    pattern: Access, workloads: Iterable[SimulatedWorkload], *, period_s: float
) -> Cluster:
    """The VMs on their datastore, under control all the time as in the study."""
    loop = WindowControl(
        law=WindowLaw(threshold_ms=THRESHOLD_MS), period_s=period_s, size_normalized=False
    )
    return Cluster(datastore=datastore(pattern), workloads=tuple(workloads), control=loop)


def went_in(period_s: float) -> dict[str, Value | Mapping[str, Value]]:
    """What the premises of the study name."""
    by_pattern = {str(pattern): iops for pattern, iops in HOST_IOPS.items()}
    return {
        "sequential_write_iops": by_pattern.pop(str(Access.SEQUENTIAL_WRITE)),
        "host_iops": by_pattern,
        "reserved": {str(pattern): iops for pattern, iops in RESERVATION_IOPS.items()},
        "link_bytes_per_s": LINK_BYTES_PER_S,
        "unloaded_ms": 1000 * UNLOADED_S,
        "period_s": period_s,
    }
