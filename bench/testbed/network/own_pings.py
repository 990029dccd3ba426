"""Pings of a workload: its own traffic at its limit, and the bulk traffic of others."""

from __future__ import annotations

from bench.fleet.rows import Row
from bench.testbed.asked import Asked
from bench.testbed.network.host import Host, host
from bench.testbed.network.part import Effort, Part
from bench.testbed.network.pings import Pings, pings
from tests.enforcers.policies import vnic

LIMIT_BITS_PER_S = 1e6
# Experiment 2 of the NetIOC study reserves 500 of 10,000 Mbit/s.
RESERVED_BITS_PER_S = 5e6
BULK_SENDERS = 12
NEAR = "10.77.1.1"
_LIMITED = Asked(
    what="own ping of a workload limited to 1 Mbit/s, packets of one frame, p50",
    unit="ms",
    word="<=",
    bound=40,
)
_RESERVED = Asked(
    what="reserved workload's ping beside 12 bulk senders, packets of one frame, "
    "p50 beside unloaded",
    unit="ratio",
    word="<=",
    bound=1.15,
)


def _measure_limited(effort: Effort) -> list[Row]:
    # HTB sends an offload packet whole, which is half a second of this limit.
    with host(3, frames_only=True) as built:
        built.listen()
        built.enforce(vnic(1, limit=LIMIT_BITS_PER_S), vnic(2), vnic(3))
        built.let_send(1)
        built.settle()
        own = pings(built.network, built.network.workload(1), effort.pings)
    return [_LIMITED.row(own.p50_ms, own.text)]


def _measure_reserved(effort: Effort) -> list[Row]:
    others = range(2, BULK_SENDERS + 2)
    with host(BULK_SENDERS + 1) as built:
        built.listen()
        built.enforce(vnic(1, RESERVED_BITS_PER_S), *(vnic(number) for number in others))
        unloaded, near_unloaded = _pings(built, effort)
        built.let_send(*others)
        built.settle()
        loaded, near_loaded = _pings(built, effort)
    near = f"{near_loaded.p50_ms:.3f} and {near_unloaded.p50_ms:.3f} ms"
    note = f"{loaded.text}; unloaded {unloaded.text}; to the host itself, by no class: p50 {near}"
    return [_RESERVED.row(loaded.p50_ms / unloaded.p50_ms, note)]


def _pings(built: Host, effort: Effort) -> tuple[Pings, Pings]:
    """To the sink, and to the near end of the vNIC: what the machine needs in any case."""
    network, inside = built.network, built.network.workload(1)
    return pings(network, inside, effort.pings), pings(network, inside, effort.pings, NEAR)


LIMITED_PING = Part(name="limited-ping", asked=[_LIMITED], measure=_measure_limited)
RESERVED_PING = Part(name="reserved-ping", asked=[_RESERVED], measure=_measure_reserved)
