"""In which order an exchange is copied, and the room that each copy needs while both exist."""

from collections.abc import Iterator, Sequence

from advisor.advice.placement.decide.disk_answer import CopyStep
from advisor.advice.placement.decide.disk_inputs import PlacementInputs, VdiskState
from advisor.advice.placement.decide.disk_layout import Layout
from advisor.advice.placement.decide.disk_objections import Proposal
from advisor.advice.placement.decide.disk_rules import RuleBook

Hop = tuple[tuple[VdiskState, ...], str, str]
"""What is copied, from where, to where."""


def staging(
    inputs: PlacementInputs, layout: Layout, rules: RuleBook, proposal: Proposal
) -> tuple[CopyStep, ...] | str:
    """The copies one after the other, or why no order has room for them.

    A copy needs its whole size at its target while the original is still there; then the original
    is gone. Without room for either first, one of the two waits on a third datastore: one more
    copy, on a datastore whose rules allow it for that while.
    """
    for hops in _orders(layout, rules, proposal):
        steps = _steps(inputs, layout, hops)
        if steps is not None:
            return steps
    free = _free(inputs, layout)
    ends = ((proposal.target, proposal.moved), (proposal.source, proposal.back))
    lacks = " and ".join(
        f"{name} has {max(free[name], 0) / 1e9:.3g} GB for a copy of {_size(comes) / 1e9:.3g} GB"
        for name, comes in ends
    )
    return f"{lacks}, and no third datastore has room for one of the two"


def _orders(layout: Layout, rules: RuleBook, proposal: Proposal) -> Iterator[tuple[Hop, ...]]:
    """Two copies in either order, then three by way of another datastore, the smaller waiting."""
    out: Hop = (proposal.moved, proposal.source, proposal.target)
    back: Hop = (proposal.back, proposal.target, proposal.source)
    yield (out, back)
    yield (back, out)
    waiting, other = sorted((out, back), key=lambda hop: (_size(hop[0]), hop[1]))
    for first, second in ((waiting, other), (other, waiting)):
        vdisks, begins, ends = first
        for name, store in layout.datastores.items():
            if name in (begins, ends) or store.auto_tiered or layout.loads[name].line is None:
                continue
            if rules.broken(layout, dict.fromkeys((one.vdisk for one in vdisks), name)) is None:
                yield ((vdisks, begins, name), second, (vdisks, name, ends))


def _steps(
    inputs: PlacementInputs, layout: Layout, hops: Sequence[Hop]
) -> tuple[CopyStep, ...] | None:
    """The copies with the room they need and have; None if one has too little."""
    free = _free(inputs, layout)
    steps = []
    for vdisks, source, target in hops:
        needs = _size(vdisks)
        if needs > free[target]:
            return None
        steps.append(
            CopyStep(
                vdisks=tuple(one.vdisk for one in vdisks),
                source=source,
                target=target,
                needs_bytes=needs,
                free_bytes=free[target],
            )
        )
        free[target] -= needs
        free[source] += needs
    return tuple(steps)


def _free(inputs: PlacementInputs, layout: Layout) -> dict[str, float]:
    return {
        name: inputs.staging_ratio * one.capacity_bytes - one.used_bytes
        for name, one in layout.datastores.items()
    }


def _size(vdisks: Sequence[VdiskState]) -> float:
    return sum(one.size_bytes for one in vdisks)
