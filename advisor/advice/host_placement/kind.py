"""Advice on which host workloads belong on, so that reservations hold."""

from __future__ import annotations

from advisor.advice.host_placement.decide.host_inputs import (
    HostPlacementAdvice,
    HostPlacementInputs,
)
from advisor.advice.host_placement.decide.host_placement import advise_hosts
from advisor.advice.host_placement.gather import (
    TOPIC,
    has_reservations,
    host_placement_inputs,
)
from advisor.advice.host_placement.show import show
from advisor.advice.kind import HostMove, Kind, Stored, Variant


def _essence(answer: Stored) -> object:
    return [
        [[row["workload"], row["target"]] for row in answer["moves"]],
        [row["workload"] for row in answer["refused"]],
    ]


def _moves(answer: Stored) -> tuple[HostMove, ...]:
    """Those of workloads that run; one that is to be started first is nobody's to move."""
    return tuple(
        HostMove(workload=row["workload"], source=row["source"], target=row["target"])
        for row in answer.get("moves", ())
        if row["source"] is not None
    )


HOST_PLACEMENT = Kind(
    name=TOPIC,
    topic=TOPIC,
    words="placement of workloads",
    variants=(
        Variant(
            name=TOPIC,
            words="placement of workloads",
            needs_samples="none",
            needs_stated="line rates, and reservations beyond 75 % of one (`--even-if-full`)",
            approving="is noted: a person moves workloads, or a command that you configure",
        ),
    ),
    inputs=HostPlacementInputs,
    advice=HostPlacementAdvice,
    decide=advise_hosts,
    essence=_essence,
    moves=_moves,
    gather=host_placement_inputs,
    applies=has_reservations,
    show=show,
)
