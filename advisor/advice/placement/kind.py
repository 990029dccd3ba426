"""Advice on which datastore virtual disks belong on."""

from __future__ import annotations

from advisor.advice.kind import Kind, Stored, Variant
from advisor.advice.placement.decide.disk_answer import PlacementAdvice
from advisor.advice.placement.decide.disk_inputs import PlacementInputs
from advisor.advice.placement.decide.disk_placement import advise_placement
from advisor.advice.placement.gather import placement_inputs, was_congested
from advisor.advice.placement.show import show


def _essence(answer: Stored) -> object:
    return [
        [row["vdisks"], row["source"], row["target"], row.get("in_return", [])]
        for row in answer["moves"]
    ]


PLACEMENT = Kind(
    name="placement",
    topic="placement",
    words="placement of disks",
    variants=(
        Variant(
            name="placement",
            words="placement of disks",
            needs_samples="the devices of two datastores or more, one of them congested in the "
            "last day, and the workloads' adapters",
            needs_stated="`--size` of datastores and of allocations",
            approving="is noted: a person moves disks",
        ),
    ),
    inputs=PlacementInputs,
    advice=PlacementAdvice,
    decide=advise_placement,
    essence=_essence,
    gather=placement_inputs,
    applies=was_congested,
    show=show,
)
