"""Which moves to make in which order: the sequence that saves most in all.

Several sequences are followed at a time, and each is made longer by the moves that save most in
it. The one that takes the best next move each time is among them, so no plan is worse than it.
The move that saves most may leave nothing to help, where two that save less each save more
together.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice

from advisor.advice.placement.decide.disk_answer import Move
from advisor.advice.placement.decide.disk_exchange import CANDIDATES
from advisor.advice.placement.decide.next_move import NextMoves, Option, Place, made, next_moves

FOLLOWED = 64
"""Most sequences that are followed at a time, and most next moves of each."""
LEAST_FOLLOWED = 8
WEIGHED = 4_000_000
"""Fewer are followed where so many moves or exchanges would be weighed for a longer sequence."""
PAIR = 5_000
"""A pair of datastores takes the time of so many exchanges beside those that are weighed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Moves in their order, where everything lies after them, and what was looked at last."""

    moves: tuple[Move, ...]
    place: Place
    looked: NextMoves | None = None

    @property
    def net(self) -> float:
        """What all moves save, net of their cost."""
        return sum(one.effect.net for one in self.moves)

    @property
    def where(self) -> frozenset[tuple[str, str]]:
        """What was moved, and where it lies."""
        return frozenset(
            (name, self.place.layout.vdisks[name].datastore)
            for one in self.moves
            for name in (*one.vdisks, *one.in_return)
        )

    def after(self, move: Move) -> "Plan":
        """The plan with one more move."""
        targets = dict.fromkeys(move.vdisks, move.target)
        targets |= dict.fromkeys(move.in_return, move.source)
        return replace(self, moves=(*self.moves, move), place=self.place.after(targets))


def search_plan(place: Place) -> Plan:
    """The moves that save most of all sequences that are followed."""
    followed, ended = [Plan(moves=(), place=place)], list[Plan]()
    width, turns = _width(place), _exchange_turns(place)
    for left in reversed(range(place.inputs.most_moves)):
        followed = _looked(followed, width, turns)
        ended += followed
        followed = _longer(followed, width if left else 1)
    return min([*ended, *followed], key=lambda one: -one.net)


def _looked(plans: Sequence[Plan], width: int, turns: int) -> list[Plan]:
    """Each plan with what could come next; exchanges are looked for in the first of them."""
    found = []
    for plan in plans:
        looked = next_moves(plan.place, most=width, may_exchange=turns > 0)
        turns -= not looked.singles.allowed
        found.append(replace(plan, looked=looked))
    return found


def _longer(plans: Sequence[Plan], width: int) -> list[Plan]:
    """The plans with one more move that save most, and first the best next move of the first."""
    ranked: dict[frozenset[tuple[str, str]], tuple[float, Plan, Option]] = {}
    for plan in plans:
        for option in plan.looked.options if plan.looked else ():
            where = plan.where.union(option.proposal.targets.items())
            ranked.setdefault(where, (plan.net + option.net, plan, option))
    best_first = sorted(ranked.values(), key=lambda one: -one[0])
    if width > 1:
        first = [option for plan in plans[:1] if plan.looked for option in plan.looked.options[:1]]
        best_first.sort(key=lambda one: not any(one[2] is option for option in first))
    longer = (
        plan.after(move)
        for _, plan, option in best_first
        if (move := made(plan.place, option)) is not None
    )
    return list(islice(longer, width))


def _width(place: Place) -> int:
    """How many sequences are followed."""
    units = place.units.on(place.layout, place.slow)
    cells = len(units.names) * len(place.layout.datastores)
    return min(max(WEIGHED // max(cells, 1), LEAST_FOLLOWED), FOLLOWED)


def _exchange_turns(place: Place) -> int:
    """For how many sequences of one length exchanges are looked for."""
    datastores = len(place.layout.datastores)
    each = min(CANDIDATES, len(place.units.names) / datastores) ** 2 + PAIR
    return max(int(WEIGHED / (max(len(place.slow), 1) * datastores * each)), 1)
