"""NetIOC, best practices: reservations nobody uses, and reservations that do not fit."""

from advisor.core.allocation import Node
from advisor.lab.replay.experiment import Outcome
from advisor.lab.replay.figure import bars
from advisor.lab.replay.studies.netioc_steps import GIGA, WENT_IN
from advisor.lab.simulation.uplink import SimulatedUplink, Stream, transmit

PORTS = ("port 1", "port 2")
RESERVED_GBIT = {"port 1": 6.0, "port 2": 3.0}
USED_GBIT = 1.0
WHOLE_GBIT, SHORT_GBIT = 9.0, 6.0
CAP_GBIT = 2.0


def play() -> Outcome:
    """Two ports: the first sends little, then the uplink carries less than is reserved."""
    idle = _rates(USED_GBIT, carries_gbit=WHOLE_GBIT)
    short = _rates(None, carries_gbit=SHORT_GBIT)
    unused = RESERVED_GBIT["port 1"] - USED_GBIT
    return Outcome(
        values=WENT_IN
        | {
            "unused_pct": 100 * (idle["port 2"] - RESERVED_GBIT["port 2"]) / unused,
            "short_ratio": short["port 1"] / short["port 2"],
            "cap_gbit": CAP_GBIT,
            "capped_ratio": _capped_gbit() / CAP_GBIT,
        },
        figures=(
            bars(
                "best practices",
                "Two ports with 6 and 3 Gbit/s reserved",
                "Gbit/s",
                places=[
                    f"port 1 sends {USED_GBIT:g}",
                    f"the uplink carries {SHORT_GBIT:g}",
                ],
                series={port: [idle[port], short[port]] for port in PORTS},
            ),
        ),
    )


def _rates(first_sends_gbit: float | None, *, carries_gbit: float) -> dict[str, float]:
    """Gbit/s of both ports."""
    children = tuple(
        Node(name=port, shares=50, reservation=RESERVED_GBIT[port] * GIGA) for port in PORTS
    )
    sends = {"port 1": None if first_sends_gbit is None else first_sends_gbit * GIGA}
    sent = transmit(
        SimulatedUplink(
            capacity_bits_per_s=carries_gbit * GIGA, tree=Node(name="uplink", children=children)
        ),
        [Stream(path=f"/uplink/{port}", rate_bits_per_s=sends.get(port)) for port in PORTS],
        duration_s=2.0,
        bucket_s=2.0,
    )
    return {port: sent[f"/uplink/{port}"][0] / GIGA for port in PORTS}


def _capped_gbit() -> float:
    """Most of a class of traffic of no VM, with a limit, that has the uplink for itself."""
    vmotion = Node(name="vMotion", shares=50, limit=CAP_GBIT * GIGA)
    sent = transmit(
        SimulatedUplink(
            capacity_bits_per_s=WHOLE_GBIT * GIGA, tree=Node(name="uplink", children=(vmotion,))
        ),
        [Stream(path="/uplink/vMotion")],
        duration_s=2.0,
        bucket_s=0.5,
    )
    return max(sent["/uplink/vMotion"]) / GIGA
