"""Which virtual disks to move to which datastore, if any move is worth it.

Greedy, one move after the other: of all moves from a datastore above its threshold that keep the
rules, the one that saves most latency net of its copying. Where no single move helps, an exchange
of two is looked for: it copies twice. A move that is predicted to make matters worse is never
advised, and "no beneficial move" is an answer with its reasons.
"""

from collections import Counter
from collections.abc import Sequence

from advisor.advice.placement.decide.disk_answer import (
    Move,
    Objection,
    PlacementAnswer,
    RejectedMove,
)
from advisor.advice.placement.decide.disk_exchange import JudgedExchange, exchanges
from advisor.advice.placement.decide.disk_inputs import PlacementInputs
from advisor.advice.placement.decide.disk_layout import Layout, after_moves, layout_of
from advisor.advice.placement.decide.disk_objections import Against, Proposal, objection
from advisor.advice.placement.decide.disk_rules import RuleBook, units
from advisor.advice.placement.decide.disk_why import MODEL_VERSION, advice, needs_help, no_move
from advisor.advice.placement.decide.move_effect import MoveEffect, imbalance, move_effect
from advisor.core.enumeration import listed
from advisor.core.explanation.answer import Alternative, InsufficientData, Missing
from advisor.core.explanation.rounding import round_all

SHOWN_REJECTIONS = 5


def advise_placement(inputs: PlacementInputs) -> PlacementAnswer:
    """Moves that are worth their cost, or why none is, or what is missing."""
    before = layout = layout_of(inputs)
    known = sum(one.is_known for one in inputs.datastores)
    if known < 2:
        return InsufficientData(
            summary=f"The latency of {known} datastores can be predicted; two are needed",
            missing=(Missing(what="datastores with a fitted device", have=known, need=2),),
            model_version=MODEL_VERSION,
        )
    rules = RuleBook(inputs.rules)
    moves: list[Move] = []
    rejected = Rejections()
    while len(moves) < inputs.most_moves:
        done = frozenset(name for one in moves for name in (*one.vdisks, *one.in_return))
        best, rejected = _best_move(inputs, layout, rules, done)
        if best is None:
            break
        moves.append(best)
        layout = after_moves(layout, _targets(best))
    if not moves:
        return round_all(no_move(inputs, before, rejected.counts, rejected.closest))
    halves = _halves(inputs, before, rules, moves[0])
    return round_all(advice(inputs, (before, layout), moves, rejected.closest, halves))


def _halves(
    inputs: PlacementInputs, layout: Layout, rules: RuleBook, move: Move
) -> list[Alternative]:
    """Why neither half of an exchange is advised alone; nothing of a single move."""
    if not move.in_return:
        return []
    found = []
    for names, source, target in (
        (move.vdisks, move.source, move.target),
        (move.in_return, move.target, move.source),
    ):
        moved = tuple(layout.vdisks[one] for one in names)
        proposal = Proposal(source=source, target=target, moved=moved)
        _, against = _single(inputs, layout, rules, proposal)
        reason = against[1] if against else f"{source} is not above its threshold"
        name = f"move {listed(names)} to {target} alone"
        found.append(Alternative(name=name, reason=reason))
    return found


def _targets(move: Move) -> dict[str, str]:
    return dict.fromkeys(move.vdisks, move.target) | dict.fromkeys(move.in_return, move.source)


class Rejections:
    """Moves that may not be made: how many of which kind, and those that came closest."""

    def __init__(self) -> None:
        self.counts: Counter[Objection] = Counter()
        self.closest: list[RejectedMove] = []

    def add(self, move: RejectedMove) -> None:
        """Count it, and keep it if it is among the closest."""
        self.counts[move.objection] += 1
        if len(self.closest) < SHOWN_REJECTIONS or _worth_first(move) < _worth_first(
            self.closest[-1]
        ):
            self.closest = sorted([*self.closest, move], key=_worth_first)[:SHOWN_REJECTIONS]


def _best_move(
    inputs: PlacementInputs, layout: Layout, rules: RuleBook, done: frozenset[str]
) -> tuple[Move | None, Rejections]:
    """The move that saves most net of its cost, else the best exchange; and what may not be."""
    rejected = Rejections()
    slow = [one for one in layout.datastores if needs_help(inputs, layout, one)]
    if not slow or imbalance(layout.loads) <= inputs.imbalance_ratio:
        return None, rejected
    free = [one for one in units(inputs.rules, layout.vdisks) if not done & set(one)]
    best = _best_single(inputs, layout, rules, free, rejected)
    if best is not None:
        return best, rejected
    allowed = []
    for found in exchanges(inputs, layout, rules, free, slow):
        move = _exchange(found, rejected)
        if move is not None:
            allowed.append(move)
    return min(allowed, key=_worth_first, default=None), rejected


def _best_single(
    inputs: PlacementInputs,
    layout: Layout,
    rules: RuleBook,
    free: Sequence[tuple[str, ...]],
    rejected: Rejections,
) -> Move | None:
    best: Move | None = None
    for vdisks in free:
        source = layout.vdisks[vdisks[0]].datastore
        if not needs_help(inputs, layout, source):
            continue
        moved = tuple(layout.vdisks[one] for one in vdisks)
        for target in layout.datastores:
            if target == source:
                continue
            proposal = Proposal(source=source, target=target, moved=moved)
            effect, against = _single(inputs, layout, rules, proposal)
            if against is not None:
                rejected.add(_rejected(proposal, effect, against))
            elif effect is not None:
                move = Move(vdisks=vdisks, source=source, target=target, effect=effect)
                best = move if best is None else min(best, move, key=_worth_first)
    return best


def _single(
    inputs: PlacementInputs, layout: Layout, rules: RuleBook, proposal: Proposal
) -> tuple[MoveEffect | None, Against | None]:
    """What one move would do, and what speaks against it."""
    ends = [
        (layout.datastores[one], layout.loads[one]) for one in (proposal.source, proposal.target)
    ]
    effect = move_effect(proposal.moved, ends[0], ends[1], inputs)
    return effect, objection(inputs, layout, rules, proposal, effect)


def _exchange(found: JudgedExchange, rejected: Rejections) -> Move | None:
    proposal = found.proposal
    if found.against is not None or found.effect is None:
        if found.against is not None:
            rejected.add(_rejected(proposal, found.effect, found.against))
        return None
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


def _worth_first(
    move: Move | RejectedMove,
) -> tuple[float, tuple[str, ...], str, tuple[str, ...]]:
    return (-_net(move.effect), move.vdisks, move.target, move.in_return)


def _net(effect: MoveEffect | None) -> float:
    return float("-inf") if effect is None else effect.benefit - effect.cost
