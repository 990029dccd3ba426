"""Test bed of SIOC on NFS: four VMs running DVD Store on two hosts and one eight-disk datastore.

Everything about it that the study does not state is calibrated here, on the baseline run of test 1
alone: 40 outstanding I/Os, 1,624 IOPS, 22 / 22 / 22 / 33 % of the load, without any control.
"""

from collections.abc import Mapping

from advisor.core.allocation import Allocation
from advisor.core.iosize import SIZE_TERM_BYTES
from advisor.lab.replay.study import experiment
from advisor.lab.simulation.cluster import Cluster
from advisor.lab.simulation.control import WindowControl
from advisor.lab.simulation.datastore import SimulatedDatastore
from advisor.lab.simulation.load import ALWAYS, SimulatedWorkload, Transactions
from enforcers.window import GAIN, WindowLaw

VMS = ("VM 1", "VM 2", "VM 3", "VM 4")
HOSTS = {"VM 1": "host 1", "VM 2": "host 1", "VM 3": "host 2", "VM 4": "host 2"}
USERS = {"VM 1": 36, "VM 2": 36, "VM 3": 36, "VM 4": 72}
THINK_S = 0.5
IO_BYTES = 8192
DISKS = 8

BASELINE = experiment("sioc-nfs-shares")
BASELINE_OUTSTANDING_IO = BASELINE.number("outstanding_default")
BASELINE_IOPS = BASELINE.number("iops_default")
BASELINE_LOAD_PCT = BASELINE.numbers("load_default")


def _disk_s(servers: int) -> float:
    """The line s·(D - 1 + N)/D passes through the baseline: N/X seconds at N outstanding I/Os."""
    latency_s = BASELINE_OUTSTANDING_IO / BASELINE_IOPS
    return latency_s * servers / (servers - 1 + BASELINE_OUTSTANDING_IO)


def datastore(servers: int) -> SimulatedDatastore:
    """So many disks that do the baseline."""
    return SimulatedDatastore(
        servers=servers,
        access_s=_disk_s(servers) * SIZE_TERM_BYTES / (SIZE_TERM_BYTES + IO_BYTES),
        bytes_per_s=(SIZE_TERM_BYTES + IO_BYTES) / _disk_s(servers),
    )


DISK_S = _disk_s(DISKS)
DATASTORE = datastore(DISKS)


def ios_per_order(vm: str) -> float:
    """I/Os of an order, so that this VM's users make its part of the baseline load.

    Of its users so many wait for an I/O as it has I/Os outstanding; all others think.
    """
    part = BASELINE_LOAD_PCT[vm] / sum(BASELINE_LOAD_PCT.values())
    thinking = USERS[vm] - part * BASELINE_OUTSTANDING_IO
    return part * BASELINE_IOPS * THINK_S / thinking


def order_vm(
    vm: str,
    *,
    shares: float,
    users: int | None = None,
    think_s: float = THINK_S,
    active: tuple[tuple[float, float], ...] = ALWAYS,
) -> SimulatedWorkload:
    """DVD Store in one VM."""
    load = Transactions(
        clients=USERS[vm] if users is None else users,
        think_s=think_s,
        ios_per_transaction=ios_per_order(vm),
        io_bytes=IO_BYTES,
    )
    return SimulatedWorkload(
        name=vm, host=HOSTS[vm], load=load, allocation=Allocation(shares=shares), active=active
    )


def order_cluster(
    shares: Mapping[str, float],
    *,
    threshold_ms: float | None,
    think_s: Mapping[str, float] | None = None,
    active: Mapping[str, tuple[tuple[float, float], ...]] | None = None,
    on: SimulatedDatastore = DATASTORE,
) -> Cluster:
    """The four VMs; a threshold of None leaves the hosts without control."""
    return Cluster(
        datastore=on,
        workloads=tuple(
            order_vm(
                vm,
                shares=shares[vm],
                think_s=(think_s or {}).get(vm, THINK_S),
                active=(active or {}).get(vm, ALWAYS),
            )
            for vm in VMS
        ),
        control=control(threshold_ms),
    )


def control(threshold_ms: float | None) -> WindowControl | None:
    """The product's window loop at a threshold."""
    return (
        None if threshold_ms is None else WindowControl(law=WindowLaw(threshold_ms=threshold_ms))
    )


WENT_IN = {
    "disk_ms": 1000 * DISK_S,
    "size_term_bytes": SIZE_TERM_BYTES,
    "ios_per_order_low": ios_per_order("VM 1"),
    "ios_per_order_vm_4": ios_per_order("VM 4"),
    "gain": GAIN,
}
"""What the premises of the study name."""


def change_pct(before: float | None, after: float | None) -> float:
    """By how much a measured number changed; both must exist."""
    if not before or after is None:
        raise ValueError("nothing was measured that a change could be told from")
    return 100 * (after / before - 1)
