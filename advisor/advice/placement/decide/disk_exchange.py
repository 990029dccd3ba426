"""Pairs of virtual disks that would better change places, where no single move helps.

All pairs of a datastore above its threshold with all others are weighed at once, by the lines of
now; the few best of each pair of datastores are then judged like any move, with their order of
copying. That is CANDIDATES² cells for each pair of datastores at most, and JUDGED exact effects.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from advisor.advice.placement.decide.disk_answer import CopyStep, Objection
from advisor.advice.placement.decide.disk_inputs import PlacementInputs, VdiskState
from advisor.advice.placement.decide.disk_layout import Layout
from advisor.advice.placement.decide.disk_objections import (
    Against,
    Proposal,
    may_move,
    may_trade,
    objection,
)
from advisor.advice.placement.decide.disk_rules import RuleBook
from advisor.advice.placement.decide.disk_staging import staging
from advisor.advice.placement.decide.move_effect import MoveEffect, copy_time_s, move_effect
from advisor.core.dependence import Floats

CANDIDATES = 128
"""Units of a datastore that are weighed: the busiest half, and of the rest the idlest."""
JUDGED = 3
"""Best pairs of two datastores that are judged exactly."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """Units of a datastore that are weighed, with a column for each.

    The rows of `columns` are outstanding I/O, IOPS and bytes.
    """

    units: Sequence[tuple[VdiskState, ...]]
    columns: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedExchange:
    """An exchange with its effect, the order of copying, and what speaks against it, if any."""

    proposal: Proposal
    effect: MoveEffect | None
    steps: tuple[CopyStep, ...]
    against: Against | None


def exchanges(
    inputs: PlacementInputs,
    layout: Layout,
    rules: RuleBook,
    units: Sequence[tuple[VdiskState, ...]],
    slow: Sequence[str],
) -> list[JudgedExchange]:
    """The most promising exchanges between a slow datastore and any other, judged."""
    lying = _candidates(inputs, units)
    return [
        _judged(inputs, layout, rules, proposal)
        for source in slow
        for target in layout.datastores
        if target != source
        for proposal in _promising(inputs, layout, lying, source, target)
    ]


def _candidates(
    inputs: PlacementInputs, units: Sequence[tuple[VdiskState, ...]]
) -> Mapping[str, Candidates]:
    """What may be moved of each datastore, cut to the number that is weighed."""
    lying: dict[str, list[tuple[VdiskState, ...]]] = {}
    for vdisks in units:
        if may_move(inputs, vdisks) is None:
            lying.setdefault(vdisks[0].datastore, []).append(vdisks)
    return {name: _cut(found) for name, found in lying.items()}


def _cut(units: list[tuple[VdiskState, ...]]) -> Candidates:
    if len(units) > CANDIDATES:
        ordered = sorted(
            units, key=lambda unit: (-sum(one.outstanding_io for one in unit), unit[0].vdisk)
        )
        half = CANDIDATES // 2
        units = ordered[:half] + ordered[-half:]
    names = ("outstanding_io", "iops", "size_bytes")
    columns = [[sum(getattr(one, name) for one in unit) for unit in units] for name in names]
    return Candidates(units=units, columns=np.array(columns))


def _promising(
    inputs: PlacementInputs,
    layout: Layout,
    lying: Mapping[str, Candidates],
    source: str,
    target: str,
) -> list[Proposal]:
    """The pairs that save most by the lines of now, of those that end up with room."""
    out, back = lying.get(source), lying.get(target)
    if (
        out is None
        or back is None
        or may_trade(layout.datastores[source], layout.datastores[target])
    ):
        return []
    net = _net(inputs, layout, (source, out), (target, back))
    if net is None:
        return []
    best = np.argsort(-net, axis=None, kind="stable")[:JUDGED]
    return [
        Proposal(source=source, target=target, moved=out.units[row], back=back.units[column])
        for row, column in (divmod(int(place), len(back.units)) for place in best)
        if net[row, column] > 0
    ]


def _net(
    inputs: PlacementInputs,
    layout: Layout,
    source: tuple[str, Candidates],
    target: tuple[str, Candidates],
) -> Floats | None:
    """Benefit less cost of every pair, a row per unit that goes; 0 or less where it is no use."""
    here, there = layout.loads[source[0]], layout.loads[target[0]]
    if here.line is None or there.line is None:
        return None
    if here.latency_ms is None or there.latency_ms is None:
        return None
    ratio = there.line.slope_ms / here.line.slope_ms
    if not 0 < ratio < np.inf:
        return None
    out = source[1].columns[:, :, None]
    back = target[1].columns[:, None, :]
    with np.errstate(over="ignore", invalid="ignore"):
        # Outstanding I/O that leaves the source, on the source's scale.
        leaves = out[0] - back[0] / ratio
        source_ms = here.latency_ms - here.line.slope_ms * leaves
        target_ms = there.latency_ms + there.line.slope_ms * ratio * leaves
        allowed = target_ms <= min(inputs.threshold_ms, here.latency_ms)
        if not allowed.any():
            return None
        saved = (
            out[1] * (here.latency_ms - target_ms)
            + back[1] * (there.latency_ms - source_ms)
            + (here.iops - out[1]) * (here.latency_ms - source_ms)
            + (there.iops - back[1]) * (there.latency_ms - target_ms)
        )
        ends = layout.datastores[source[0]], layout.datastores[target[0]]
        copied = (out[2] + back[2]) / min(one.copy_bytes_per_s for one in ends)
        added = inputs.copy_outstanding_io * (
            here.iops * here.line.slope_ms + there.iops * there.line.slope_ms
        )
        net = saved * inputs.horizon_s - added * copied
    for store, grows in zip(ends, (back[2] - out[2], out[2] - back[2]), strict=True):
        room = inputs.space_ratio * store.capacity_bytes - store.used_bytes
        allowed &= (grows <= room) | (grows <= 0)
    return np.where(allowed & np.isfinite(net), net, 0.0)


def _judged(
    inputs: PlacementInputs, layout: Layout, rules: RuleBook, proposal: Proposal
) -> JudgedExchange:
    ends = [
        (layout.datastores[one], layout.loads[one]) for one in (proposal.source, proposal.target)
    ]
    effect = move_effect(proposal.moved, ends[0], ends[1], inputs, back=proposal.back)
    steps = staging(inputs, layout, rules, proposal)
    if isinstance(steps, str):
        against = objection(inputs, layout, rules, proposal, effect)
        room = (Objection.SPACE, steps)
        return JudgedExchange(proposal=proposal, effect=effect, steps=(), against=against or room)
    if effect is not None:
        effect = _with_detour(inputs, layout, steps, effect)
    return JudgedExchange(
        proposal=proposal,
        effect=effect,
        steps=steps,
        against=objection(inputs, layout, rules, proposal, effect),
    )


def _with_detour(
    inputs: PlacementInputs,
    layout: Layout,
    steps: Sequence[CopyStep],
    effect: MoveEffect,
) -> MoveEffect:
    """The effect with the cost of every copy that is really made; two are counted already."""
    if len(steps) == 2:
        return effect
    copy_s = cost = 0.0
    for step in steps:
        stores = layout.datastores[step.source], layout.datastores[step.target]
        length_s = copy_time_s([layout.vdisks[one] for one in step.vdisks], *stores)
        copy_s += length_s
        for name in (step.source, step.target):
            load = layout.loads[name]
            # What is exchanged lies on known devices, and waits on no other.
            assert load.line is not None
            cost += inputs.copy_outstanding_io * load.iops * load.line.slope_ms * length_s
    return replace(effect, copy_s=copy_s, cost=cost)
