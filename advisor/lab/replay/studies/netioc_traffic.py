"""NetIOC, experiments 1 and 3: twelve VMs beside NFS and vMotion, and what it costs."""

from collections.abc import Mapping
from statistics import fmean

from advisor.core.allocation import Node
from advisor.lab.replay.experiment import Outcome
from advisor.lab.replay.figure import Figure, bars, over_time
from advisor.lab.replay.studies.netioc_steps import CARRIES_BITS_PER_S, GIGA, WENT_IN
from advisor.lab.replay.study import experiment
from advisor.lab.simulation.uplink import SimulatedUplink, Stream, transmit

MEGA = 1e6
UPLINK = "uplink"
VMS = tuple(f"VM {number}" for number in range(1, 13))
VM_CLASS_BITS_PER_S = 4.8 * GIGA
NFS_FROM_S, VMOTION_FROM_S, END_S = 15.0, 90.0, 120.0
BUCKET_S = 1.0
LARGE_PIECE_BYTES = 1024 * 1024


def play_traffic() -> Outcome:
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
    means = [fmean(rates[vm]) for vm in VMS]
    return Outcome(
        values=WENT_IN
        | {
            "piece_bytes": LARGE_PIECE_BYTES,
            "least": min(min(rates[vm]) for vm in VMS),
            "evenness": min(means) / max(means),
        },
        figures=_traffic_figures(rates),
    )


def play_cost() -> Outcome:
    """CPU time and microseconds of one implementation: nothing a model of ours can say."""
    stated = experiment("netioc-scheduler-cost")
    return Outcome(
        values={},
        figures=(
            _printed_only(
                "figure 5",
                "CPU utilisation of NetIOC beyond the default scheduler's",
                "%",
                stated.numbers("cpu_pct"),
            ),
            _printed_only(
                "figure 6",
                "One-way latency of NetIOC beyond the default scheduler's, 12 VMs",
                "µs",
                stated.numbers("latency_us"),
            ),
        ),
    )


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
