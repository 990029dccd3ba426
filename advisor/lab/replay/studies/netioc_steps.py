"""The steps of NetIOC's first test: what is reserved where, where VMs move, what they send."""

from collections.abc import Mapping
from dataclasses import dataclass

from advisor.advice.host_placement.decide.host_inputs import (
    HostPlacementAdvice,
    HostPlacementInputs,
    HostUplinks,
    NetworkWorkload,
)
from advisor.advice.host_placement.decide.host_placement import HostPlacementAnswer, advise_hosts
from advisor.core.admission import UPLINK_RESERVABLE_RATIO
from advisor.core.allocation import Node
from advisor.lab.simulation.cluster import BEGAN_AT
from advisor.lab.simulation.uplink import SimulatedUplink, Stream, tcp_bits_per_s, transmit

GIGA = 1e9
LINE_BITS_PER_S = 10 * GIGA
CARRIES_BITS_PER_S = tcp_bits_per_s(LINE_BITS_PER_S)
POOL_BITS_PER_S = 15 * GIGA
VMS = ("VM 1", "VM 2", "VM 3")
HOSTS = ("host 1", "host 2")
STEP_S = 5.0
BUCKET_S = 0.25
RESERVED = {
    "": {"VM 1": 0.0, "VM 2": 0.0, "VM 3": 0.0},
    "a": {"VM 1": 7.5 * GIGA, "VM 2": 0.0, "VM 3": 0.0},
    "b": {"VM 1": 7.5 * GIGA, "VM 2": 4.5 * GIGA, "VM 3": 0.0},
    "c": {"VM 1": 7.5 * GIGA, "VM 2": 4.5 * GIGA, "VM 3": 3 * GIGA},
}
"""Bits per second by step."""

WENT_IN = {
    "carries_gbit": CARRIES_BITS_PER_S / GIGA,
    "reservable_pct": 100 * UPLINK_RESERVABLE_RATIO,
}
"""What the premises of the study name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Reservations in force and where every VM is; `label` says since when.

    `printed` holds the Gbit/s of the study, None for a state that it does not describe.
    """

    label: str
    reserved: dict[str, float]
    places: dict[str, str]
    printed: dict[str, float] | None = None


def answer_to(reserved: Mapping[str, float], places: Mapping[str, str]) -> HostPlacementAnswer:
    """What the product advises when these reservations shall hold."""
    return advise_hosts(
        HostPlacementInputs(
            hosts=tuple(
                HostUplinks(
                    host=host,
                    uplink_bits_per_s=(LINE_BITS_PER_S,),
                    carries_bits_per_s=CARRIES_BITS_PER_S,
                )
                for host in HOSTS
            ),
            workloads=tuple(
                NetworkWorkload(workload=vm, host=places[vm], reservation_bits_per_s=reserved[vm])
                for vm in VMS
            ),
            now=BEGAN_AT,
            pool_bits_per_s=POOL_BITS_PER_S,
        )
    )


def after(places: Mapping[str, str], answer: HostPlacementAnswer) -> dict[str, str]:
    """Where every VM is after the advised moves."""
    if not isinstance(answer, HostPlacementAdvice):
        return dict(places)
    return dict(places) | {move.workload: move.target for move in answer.moves}


def send(step: Step, *, limits: Mapping[str, float] | None = None) -> dict[str, tuple[float, ...]]:
    """Gbit/s of every VM per bucket of a step, while all send what they can."""
    rates: dict[str, tuple[float, ...]] = {}
    for host in HOSTS:
        there = [vm for vm in VMS if step.places.get(vm) == host]
        if not there:
            continue
        tree = Node(
            name=host,
            children=tuple(
                Node(
                    name=vm,
                    reservation=step.reserved[vm],
                    limit=(limits or {}).get(vm),
                    shares=50,
                )
                for vm in there
            ),
        )
        sent = transmit(
            SimulatedUplink(capacity_bits_per_s=CARRIES_BITS_PER_S, tree=tree),
            [Stream(path=f"/{host}/{vm}") for vm in there],
            duration_s=STEP_S,
            bucket_s=BUCKET_S,
        )
        for vm in there:
            rates[vm] = tuple(rate / GIGA for rate in sent[f"/{host}/{vm}"])
    return rates
