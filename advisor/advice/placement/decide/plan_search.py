"""Which moves to make in which order: the sequence that saves most in all.

Several sequences are followed at a time, each made longer by the moves that save most in it. The
one that always takes the best next move is among them, so that no plan is worse than it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from advisor.advice.placement.decide.disk_answer import Move
from advisor.advice.placement.decide.disk_inputs import PlacementInputs
from advisor.advice.placement.decide.disk_layout import Layout, after_moves
from advisor.advice.placement.decide.disk_rules import RuleBook
from advisor.advice.placement.decide.next_move import NextMoves, next_moves
from advisor.advice.placement.decide.unit_columns import UnitColumns

FOLLOWED = 8
"""Sequences that are followed at a time, and next moves of each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Moves in their order, where everything lies then, and what was looked at last."""

    moves: tuple[Move, ...]
    layout: Layout
    last: NextMoves

    @property
    def net(self) -> float:
        """What the moves save in all, net of their cost."""
        return sum(one.effect.net for one in self.moves)


def search_plan(
    inputs: PlacementInputs, layout: Layout, rules: RuleBook, units: UnitColumns
) -> Plan:
    moves = []
    while True:
        done = frozenset(name for one in moves for name in (*one.vdisks, *one.in_return))
        if len(moves) == inputs.most_moves:
            break
        last = next_moves(inputs, layout, rules, units.without(done), most=1)
        if not last.moves:
            break
        moves.append(last.moves[0])
        layout = after_moves(layout, targets_of(last.moves[0]))
    return Plan(moves=tuple(moves), layout=layout, last=last)


def targets_of(move: Move) -> Mapping[str, str]:
    """Where each virtual disk of the move goes."""
    return dict.fromkeys(move.vdisks, move.target) | dict.fromkeys(move.in_return, move.source)
