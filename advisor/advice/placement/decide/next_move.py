"""The moves that could come next in a layout, and those that may not be made."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from advisor.advice.placement.decide.disk_answer import Move, Objection, RejectedMove
from advisor.advice.placement.decide.disk_exchange import JudgedExchange, exchanges
from advisor.advice.placement.decide.disk_inputs import PlacementInputs
from advisor.advice.placement.decide.disk_layout import Layout
from advisor.advice.placement.decide.disk_objections import Against, Proposal, objection
from advisor.advice.placement.decide.disk_rules import RuleBook
from advisor.advice.placement.decide.move_effect import MoveEffect, imbalance, move_effect
from advisor.advice.placement.decide.single_moves import single_moves
from advisor.advice.placement.decide.unit_columns import UnitColumns, store_columns

SHOWN_REJECTIONS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class NextMoves:
    """The best moves, the best first; how many were refused for what, and the closest of them."""

    moves: tuple[Move, ...] = ()
    counts: Counter[Objection]
    closest: tuple[RejectedMove, ...] = ()


def next_moves(
    inputs: PlacementInputs, layout: Layout, rules: RuleBook, units: UnitColumns, *, most: int
) -> NextMoves:
    """The `most` moves that save most net of their cost; exchanges where no single move helps.

    `units` may be moved yet.
    """
    slow = [one for one in layout.datastores if needs_help(inputs, layout, one)]
    if not slow or imbalance(layout.loads) <= inputs.imbalance_ratio:
        return NextMoves(counts=Counter())
    singles = _singles(inputs, layout, rules, units.on(layout, slow), most=most)
    if singles.moves:
        return singles
    judged = exchanges(inputs, layout, rules, units.names, slow)
    moves = [move for one in judged if (move := _exchange(one)) is not None]
    refused = [
        _rejected(one.proposal, one.effect, one.against)
        for one in judged
        if one.against is not None
    ]
    return NextMoves(
        moves=tuple(sorted(moves, key=worth_first)[:most]),
        counts=singles.counts + Counter(one.objection for one in refused),
        closest=_closest([*singles.closest, *refused]),
    )


def needs_help(inputs: PlacementInputs, layout: Layout, datastore: str) -> bool:
    """Whether the datastore answers later than the threshold."""
    latency_ms = layout.loads[datastore].latency_ms
    return latency_ms is not None and latency_ms > inputs.threshold_ms


def worth_first(
    move: Move | RejectedMove,
) -> tuple[float, tuple[str, ...], str, tuple[str, ...]]:
    """Sorts moves by what they save net of their cost, the best first."""
    lost = float("inf") if move.effect is None else -move.effect.net
    return (lost, move.vdisks, move.target, move.in_return)


def judged_alone(
    inputs: PlacementInputs, layout: Layout, rules: RuleBook, proposal: Proposal
) -> tuple[MoveEffect | None, Against | None]:
    """What one move would do, and what speaks against it."""
    ends = [
        (layout.datastores[one], layout.loads[one]) for one in (proposal.source, proposal.target)
    ]
    effect = move_effect(proposal.moved, ends[0], ends[1], inputs)
    return effect, objection(inputs, layout, rules, proposal, effect)


def _singles(
    inputs: PlacementInputs, layout: Layout, rules: RuleBook, units: UnitColumns, *, most: int
) -> NextMoves:
    """The best single moves as objects: the table says which they are."""
    stores = store_columns(inputs, layout)
    table = single_moves(inputs, layout, rules, stores, units, most=max(most, SHOWN_REJECTIONS))
    moves, refused = [], []
    for row, column in (*table.allowed, *table.refused):
        vdisks = units.vdisks[row]
        source, target = stores.names[units.sources[row]], stores.names[column]
        proposal = Proposal(source=source, target=target, moved=vdisks)
        effect, against = judged_alone(inputs, layout, rules, proposal)
        if against is not None:
            refused.append(_rejected(proposal, effect, against))
        elif effect is not None:
            names = units.names[row]
            moves.append(Move(vdisks=names, source=source, target=target, effect=effect))
    return NextMoves(
        moves=tuple(sorted(moves, key=worth_first)[:most]),
        counts=table.counts,
        closest=_closest(refused),
    )


def _closest(refused: Sequence[RejectedMove]) -> tuple[RejectedMove, ...]:
    return tuple(sorted(refused, key=worth_first)[:SHOWN_REJECTIONS])


def _exchange(found: JudgedExchange) -> Move | None:
    if found.against is not None or found.effect is None:
        return None
    proposal = found.proposal
    return Move(
        vdisks=tuple(one.vdisk for one in proposal.moved),
        source=proposal.source,
        target=proposal.target,
        effect=found.effect,
        in_return=tuple(one.vdisk for one in proposal.back),
        steps=found.steps,
    )


def _rejected(proposal: Proposal, effect: MoveEffect | None, against: Against) -> RejectedMove:
    kind, reason = against
    return RejectedMove(
        vdisks=tuple(one.vdisk for one in proposal.moved),
        source=proposal.source,
        target=proposal.target,
        objection=kind,
        reason=reason,
        effect=effect,
        in_return=tuple(one.vdisk for one in proposal.back),
    )
