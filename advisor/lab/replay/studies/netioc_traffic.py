"""Seed 002, experiments 1 and 3: twelve VMs beside NFS and vMotion, and what it costs."""

from collections.abc import Mapping
from statistics import fmean

from advisor.core.allocation import Node
from advisor.lab.replay.experiment import Basis, Experiment, Premise, Replay
from advisor.lab.replay.figure import Figure, bars, over_time
from advisor.lab.replay.finding import (
    NONE,
    POLICY,
    Finding,
    Relation,
    compare,
    not_modelled,
)
from advisor.lab.replay.studies.netioc_steps import CARRIES_BITS_PER_S, GIGA, PREMISES
from advisor.lab.simulation.uplink import SimulatedUplink, Stream, transmit

MEGA = 1e6
UPLINK = "uplink"
VMS = tuple(f"VM {number}" for number in range(1, 13))
VM_CLASS_BITS_PER_S = 4.8 * GIGA
NFS_FROM_S, VMOTION_FROM_S, END_S = 15.0, 90.0, 120.0
BUCKET_S = 1.0
LARGE_PIECE_BYTES = 1024 * 1024

TRAFFIC, COST = "002-experiment-1", "002-experiment-3"
TITLES = {
    TRAFFIC: "NetIOC: twelve VMs beside NFS and vMotion traffic",
    COST: "NetIOC: what the scheduler costs",
}

PIECES = Premise(
    quantity="piece the scheduler hands to the adapter",
    value=float(LARGE_PIECE_BYTES),
    unit="bytes",
    basis=Basis.ASSUMED,
    source="larger than a packet, to play two minutes quickly; rates do not depend on it",
)


def play_traffic() -> Replay:
    """VM traffic has 4.8 Gbit/s reserved; NFS comes at 15 s and vMotion at 90 s."""
    tree = Node(
        name=UPLINK,
        children=(
            Node(
                name="VM traffic",
                reservation=VM_CLASS_BITS_PER_S,
                shares=50,
                children=tuple(Node(name=vm, shares=50) for vm in VMS),
            ),
            Node(name="NFS", shares=50),
            Node(name="vMotion", shares=50),
        ),
    )
    sent = transmit(
        _uplink(tree),
        [
            *(Stream(path=f"/{UPLINK}/VM traffic/{vm}") for vm in VMS),
            Stream(path=f"/{UPLINK}/NFS", starts_s=NFS_FROM_S),
            Stream(path=f"/{UPLINK}/vMotion", starts_s=VMOTION_FROM_S),
        ],
        duration_s=END_S,
        bucket_s=BUCKET_S,
    )
    rates = {path.rsplit("/", 1)[-1]: _mega(buckets) for path, buckets in sent.items()}
    return Replay(
        experiment=TRAFFIC,
        title=TITLES[TRAFFIC],
        premises=(
            *PREMISES,
            PIECES,
            Premise(
                quantity="shares of each class of traffic",
                value=50.0,
                unit="shares",
                basis=Basis.ASSUMED,
                source="the study states none; more for VM traffic would give the VMs more",
            ),
        ),
        findings=tuple(_traffic_findings(rates)),
        figures=_traffic_figures(rates),
    )


def play_cost() -> Replay:
    """CPU time and microseconds of one implementation: nothing a model of ours can say."""
    cpu = "CPU time of a hypervisor's packet path, most of it guest interrupts"
    path = "the added layer and the single transmit queue of one implementation"
    setting = "a default setting of the hypervisor, not a result"
    numbers = (
        ("CPU utilisation against the default scheduler, below 25 VMs, least", "%", 4.0, cpu),
        ("CPU utilisation against the default scheduler, below 25 VMs, most", "%", 5.0, cpu),
        ("CPU utilisation against the default scheduler, 100 VMs", "%", 12.0, cpu),
        ("latency of TCP_RR against the default scheduler, least", "µs", 4.0, path),
        ("latency of TCP_RR against the default scheduler, most", "µs", 5.0, path),
        ("packet rate above which NetIOC is not recommended", "packets/s", 1e6, path),
        ("interrupt rate of a guest", "1/s", 4000.0, setting),
        ("delay of transmit completions", "µs", 33.0, setting),
    )
    return Replay(
        experiment=COST,
        title=TITLES[COST],
        premises=(),
        findings=tuple(
            not_modelled(quantity, unit, seed_value=seed_value, why=why)
            for quantity, unit, seed_value, why in numbers
        ),
        figures=(
            _printed_only(
                "figure 5",
                "CPU utilisation of NetIOC beyond the default scheduler's",
                "%",
                {"below 25 VMs, least": 4.0, "below 25 VMs, most": 5.0, "100 VMs": 12.0},
            ),
            _printed_only(
                "figure 6",
                "One-way latency of NetIOC beyond the default scheduler's, 12 VMs",
                "µs",
                {"least": 4.0, "most": 5.0},
            ),
        ),
    )


TRAFFIC_EXPERIMENT = Experiment(name=TRAFFIC, title=TITLES[TRAFFIC], play=play_traffic)
COST_EXPERIMENT = Experiment(name=COST, title=TITLES[COST], play=play_cost)


def _printed_only(name: str, title: str, unit: str, printed: Mapping[str, float]) -> Figure:
    return bars(
        name,
        f"{title}: not modelled",
        unit,
        places=list(printed),
        series={"simulated": [None] * len(printed)},
        printed={"simulated": list(printed.values())},
    )


def _uplink(tree: Node, capacity_bits_per_s: float = CARRIES_BITS_PER_S) -> SimulatedUplink:
    return SimulatedUplink(
        capacity_bits_per_s=capacity_bits_per_s, tree=tree, piece_bytes=LARGE_PIECE_BYTES
    )


def _mega(bits_per_s: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(rate / MEGA for rate in bits_per_s)


def _traffic_findings(rates: dict[str, tuple[float, ...]]) -> list[Finding]:
    smallest = min(min(rates[vm]) for vm in VMS)
    means = [fmean(rates[vm]) for vm in VMS]
    return [
        compare(
            "bandwidth of a VM, least of all VMs and seconds, as reserved",
            "Mbit/s",
            seed_value=400.0,
            value=smallest,
            tolerance=NONE,
            relation=Relation.AT_LEAST,
            why="4.8 Gbit/s reserved for twelve VMs",
        ),
        compare(
            "bandwidth of a VM, least of all VMs and seconds, as observed",
            "Mbit/s",
            seed_value=500.0,
            value=smallest,
            tolerance=NONE,
            relation=Relation.AT_LEAST,
            why="VM traffic has its shares beside its reservation: 528 in the mean",
        ),
        compare(
            "bandwidth of the VMs, smallest against largest",
            "ratio",
            seed_value=1.0,
            value=min(means) / max(means),
            tolerance=POLICY,
            why='"an almost identical share of traffic"',
        ),
    ]


def _traffic_figures(rates: dict[str, tuple[float, ...]]) -> tuple[Figure, ...]:
    count = len(rates["NFS"])
    times_s = [BUCKET_S * (index + 1) for index in range(count)]
    phases = {0.0: "VMs", NFS_FROM_S: "+ NFS", VMOTION_FROM_S: "+ vMotion"}
    together = [sum(rates[vm][index] for vm in VMS) for index in range(count)]
    return (
        over_time(
            "figure 3",
            "Throughput of each of the twelve VMs in the presence of NFS and vMotion traffic",
            "Mbit/s",
            times_s=times_s,
            series={vm: rates[vm] for vm in VMS},
            marks={"reserved per VM": 400.0, "study: never below": 500.0},
            phases=phases,
        ),
        over_time(
            "figure 3, by class",
            "Throughput of the classes of traffic on the uplink",
            "Mbit/s",
            times_s=times_s,
            series={"all VMs": together, "NFS": rates["NFS"], "vMotion": rates["vMotion"]},
            marks={"reserved for VMs": VM_CLASS_BITS_PER_S / MEGA},
            phases=phases,
        ),
    )
