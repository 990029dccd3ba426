"""Seed 000's test bed: four VMs running DVD Store on two hosts and one eight-disk datastore.

Everything about it that the seed does not state is calibrated here, on the baseline run of test 1
alone: 40 outstanding I/Os, 1,624 IOPS, 22 / 22 / 22 / 33 % of the load, without any control.
"""

from collections.abc import Mapping

from advisor.core.allocation import Allocation
from advisor.core.iosize import SIZE_TERM_BYTES
from advisor.core.replay.experiment import Basis, Premise
from advisor.core.simulation.cluster import Cluster
from advisor.core.simulation.control import WindowControl
from advisor.core.simulation.datastore import SimulatedDatastore
from advisor.core.simulation.load import ALWAYS, SimulatedWorkload, Transactions
from advisor.core.window import GAIN, RESERVE, WindowLaw

VMS = ("VM 1", "VM 2", "VM 3", "VM 4")
HOSTS = {"VM 1": "host 1", "VM 2": "host 1", "VM 3": "host 2", "VM 4": "host 2"}
USERS = {"VM 1": 36, "VM 2": 36, "VM 3": 36, "VM 4": 72}
THINK_S = 0.5
IO_BYTES = 8192
DISKS = 8

BASELINE_OUTSTANDING_IO = 40.0
BASELINE_IOPS = 1624.0
BASELINE_LOAD_PCT = {"VM 1": 22.0, "VM 2": 22.0, "VM 3": 22.0, "VM 4": 33.0}

# The line s·(D - 1 + N)/D passes through the baseline: N/X seconds at N outstanding I/Os.
DISK_S = BASELINE_OUTSTANDING_IO / BASELINE_IOPS * DISKS / (DISKS - 1 + BASELINE_OUTSTANDING_IO)

DATASTORE = SimulatedDatastore(
    servers=DISKS,
    access_s=DISK_S * SIZE_TERM_BYTES / (SIZE_TERM_BYTES + IO_BYTES),
    bytes_per_s=(SIZE_TERM_BYTES + IO_BYTES) / DISK_S,
)


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
) -> Cluster:
    """The four VMs; a threshold of None leaves the hosts without control."""
    return Cluster(
        datastore=DATASTORE,
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


BASELINE = "the baseline run of test 1: 40 outstanding I/Os, 1,624 IOPS, no control"

PREMISES = (
    Premise(
        quantity="disks of the datastore",
        value=float(DISKS),
        unit="disks",
        basis=Basis.STATED,
        source="a RAID 5 LUN of eight disks",
    ),
    Premise(
        quantity="mean time of one disk for an I/O of 8 KiB",
        value=1000 * DISK_S,
        unit="ms",
        basis=Basis.CALIBRATED,
        source=BASELINE,
    ),
    Premise(
        quantity="size at which half of a disk's time is transfer",
        value=SIZE_TERM_BYTES,
        unit="bytes",
        basis=Basis.DEFAULT,
        source="the size term with which the product compares latencies",
    ),
    Premise(
        quantity="I/Os per order, VM 1 to 3",
        value=ios_per_order("VM 1"),
        unit="I/Os",
        basis=Basis.CALIBRATED,
        source="its 22 % of the load in the baseline run of test 1",
    ),
    Premise(
        quantity="I/Os per order, VM 4",
        value=ios_per_order("VM 4"),
        unit="I/Os",
        basis=Basis.CALIBRATED,
        source="its 33 % of the load in the baseline run of test 1: less than twice that of the "
        "others with twice the users; it has twice the memory to cache in",
    ),
    Premise(
        quantity="time of an order beside its I/Os",
        value=0.0,
        unit="s",
        basis=Basis.ASSUMED,
        source="the study states no CPU time; the I/Os of an order follow one another",
    ),
    Premise(
        quantity="gain of the window law",
        value=GAIN,
        unit="ratio",
        basis=Basis.DEFAULT,
        source="the product's default; the study prints no gain",
    ),
    Premise(
        quantity="Σβ as a part of threshold times throughput",
        value=RESERVE,
        unit="ratio",
        basis=Basis.DEFAULT,
        source="the product's default, chosen so that shares settle to 5 % within a minute",
    ),
)
