"""The words and numbers that explain advice on hosts and network reservations."""

from collections.abc import Sequence
from datetime import UTC

from advisor.advice.host_placement.decide.host_cluster import Cluster
from advisor.advice.host_placement.decide.host_inputs import (
    CarriedSource,
    HostMove,
    HostPlacementAdvice,
    HostPlacementInputs,
    HostUplinks,
    RefusedReservation,
)
from advisor.core.enumeration import clauses, listed
from advisor.core.explanation.answer import Alternative, ConfidencePart
from advisor.core.explanation.confidence import ground, weakest
from advisor.core.explanation.effect import Effect
from advisor.core.quantity import format_rate
from advisor.core.resource import Unit

LINE_RATE_ONLY = 0.8
"""Confidence if the real capacity of the uplinks is not set."""
MODEL_VERSION = "host-placement-4"
REVERSIBILITY = "Reversible: a workload can be moved back, and it runs on while it moves."


def advice(
    inputs: HostPlacementInputs,
    before: Cluster,
    after: Cluster,
    moves: Sequence[HostMove],
    refused: Sequence[RefusedReservation],
) -> HostPlacementAdvice:
    """The moves and refusals with everything they rest on."""
    ratio = f"{inputs.reservable_ratio:.0%}"
    return HostPlacementAdvice(
        summary=clauses(_words(moves, refused)),
        moves=tuple(moves),
        refused=tuple(refused),
        formula=f"Σ reservations ≤ {ratio} of the host's smallest uplink and ≤ the pool; "
        "rate = reservation + part by shares of what is left",
        effects=_effects(before, after, moves),
        alternatives=_alternatives(before, moves),
        confidence=weakest(
            ground(
                "admission",
                1.0,
                "reservations are stated, line rates stated or read from the adapter",
            ),
            _carried(inputs),
        ),
        reversibility=REVERSIBILITY,
        model_version=MODEL_VERSION,
    )


def _words(moves: Sequence[HostMove], refused: Sequence[RefusedReservation]) -> list[str]:
    words = [
        f"Start {one.workload} on {one.target}"
        if one.source is None
        else f"Move {one.workload} from {one.source} to {one.target}{_by(one)}: {one.reason}"
        for one in moves
    ]
    words += [
        f"Refuse {shown_rate(one.reservation_bits_per_s)} for {one.workload}: {one.reason}"
        for one in refused
    ]
    return words


def _by(move: HostMove) -> str:
    """The deadline, rounded down to the second: rounded up it could already be over."""
    return "" if move.due_at is None else f" by {move.due_at.astimezone(UTC):%H:%M:%S} UTC"


def _effects(before: Cluster, after: Cluster, moves: Sequence[HostMove]) -> tuple[Effect, ...]:
    hosts = {one.source for one in moves} | {one.target for one in moves}
    old, new = before.rates(), after.rates()
    touched = [
        name
        for name, one in sorted(after.workloads.items())
        if {one.host, before.workloads[name].host} & hosts
    ]
    return tuple(
        Effect(
            quantity=f"rate of {name}",
            unit="bits_per_s",
            before=old.get(name),
            after=new.get(name),
            how="reservation + part by shares of what is left, everybody sending all they can",
        )
        for name in touched
    )


def _alternatives(before: Cluster, moves: Sequence[HostMove]) -> tuple[Alternative, ...]:
    over = [host for host in before.hosts if before.excess(host) > 0]
    return tuple(
        Alternative(
            name=f"leave everything on {host}",
            reason=f"{shown_rate(before.excess(host))} more than may be are reserved there; on a "
            "busy uplink everybody's reservation shrinks in proportion",
        )
        for host in over
        if any(one.source == host for one in moves)
    )


def _carried(inputs: HostPlacementInputs) -> ConfidencePart:
    hosts: dict[CarriedSource | None, list[str]] = {}
    for one in sorted(inputs.hosts, key=lambda one: one.host):
        hosts.setdefault(_source(one), []).append(one.host)
    said = [
        f"what the uplinks of {listed(hosts[source])} carry {words}"
        for source, words in _CARRIED.items()
        if source in hosts
    ]
    value = 1.0 if set(hosts) == {CarriedSource.STATED} else LINE_RATE_ONLY
    return ground("rates", value, "; ".join(said))


def _source(host: HostUplinks) -> CarriedSource | None:
    return None if host.carries_bits_per_s is None else host.carries_source


_CARRIED: dict[CarriedSource | None, str] = {
    CarriedSource.STATED: "was stated",
    CarriedSource.ASSUMED: "is assumed from their line rate",
    None: "is not known: their line rate counts",
}


def shown_rate(bits_per_s: float) -> str:
    """The rate as people read it."""
    return format_rate(bits_per_s, Unit.BITS_PER_S)
