"""The moves that could come next in a layout, and those that may not be made."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from advisor.advice.placement.decide.disk_answer import CopyStep, Move, Objection, RejectedMove
from advisor.advice.placement.decide.disk_exchange import JudgedExchange, exchanges
from advisor.advice.placement.decide.disk_inputs import PlacementInputs
from advisor.advice.placement.decide.disk_layout import Layout, after_moves
from advisor.advice.placement.decide.disk_objections import Against, Proposal, objection
from advisor.advice.placement.decide.disk_rules import RuleBook
from advisor.advice.placement.decide.move_effect import MoveEffect, imbalance, move_effect
from advisor.advice.placement.decide.single_moves import SingleMoves, Weighed, single_moves
from advisor.advice.placement.decide.unit_columns import UnitColumns, store_columns

SHOWN_REJECTIONS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A layout in which the next move is looked for; `units` have not moved yet."""

    inputs: PlacementInputs
    rules: RuleBook
    layout: Layout
    units: UnitColumns

    @property
    def slow(self) -> list[str]:
        """The datastores that need help; none where all are loaded alike."""
        if imbalance(self.layout.loads) <= self.inputs.imbalance_ratio:
            return []
        return [one for one in self.layout.datastores if needs_help(self.inputs, self.layout, one)]

    def after(self, targets: Mapping[str, str]) -> "Place":
        """The place where these virtual disks have moved and may not move again."""
        return replace(
            self,
            layout=after_moves(self.layout, targets),
            units=self.units.without(frozenset(targets)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """A move that is allowed, and what it saves net of its cost."""

    net: float
    proposal: Proposal
    exchange: JudgedExchange | None = None

    @property
    def names(self) -> tuple[tuple[str, ...], str, tuple[str, ...]]:
        """Tells options of the same worth apart, in order."""
        moved = tuple(one.vdisk for one in self.proposal.moved)
        return (moved, self.proposal.target, tuple(one.vdisk for one in self.proposal.back))


@dataclass(frozen=True, slots=True, kw_only=True)
class NextMoves:
    """The best options of a place, the best first, and all that was looked at for them."""

    place: Place
    options: tuple[Option, ...]
    singles: SingleMoves
    judged: Sequence[JudgedExchange]


def next_moves(place: Place, *, most: int, may_exchange: bool = True) -> NextMoves:
    """The `most` moves that save most net of their cost; exchanges where no single move helps."""
    slow = place.slow
    units = place.units.on(place.layout, slow)
    stores = store_columns(place.inputs, place.layout)
    singles = single_moves(
        place.inputs, place.layout, place.rules, stores, units, most=max(most, SHOWN_REJECTIONS)
    )
    judged: list[JudgedExchange] = []
    options = [_single(one) for one in singles.allowed]
    if slow and not options and may_exchange:
        judged = exchanges(place.inputs, place.layout, place.rules, place.units.vdisks, slow)
        options = [
            Option(net=one.effect.net, proposal=one.proposal, exchange=one)
            for one in judged
            if one.against is None and one.effect is not None
        ]
        options.sort(key=lambda one: (-one.net, one.names))
    return NextMoves(place=place, options=tuple(options[:most]), singles=singles, judged=judged)


def _single(found: Weighed) -> Option:
    return Option(net=found.net, proposal=found.proposal)


def needs_help(inputs: PlacementInputs, layout: Layout, datastore: str) -> bool:
    """Whether the datastore answers later than the threshold."""
    latency_ms = layout.loads[datastore].latency_ms
    return latency_ms is not None and latency_ms > inputs.threshold_ms


def made(place: Place, option: Option) -> Move | None:
    """The option with its exact effect; None if that speaks against it after all."""
    proposal = option.proposal
    steps: tuple[CopyStep, ...] = ()
    if option.exchange is not None:
        effect, steps = option.exchange.effect, option.exchange.steps
    else:
        effect, against = alone(place, proposal)
        if against is not None:
            return None
    if effect is None:
        return None
    moved, target, back = option.names
    return Move(
        vdisks=moved,
        source=proposal.source,
        target=target,
        effect=effect,
        in_return=back,
        steps=steps,
    )


def alone(place: Place, proposal: Proposal) -> tuple[MoveEffect | None, Against | None]:
    """What one single move would do, and what speaks against it."""
    layout = place.layout
    source, target = (
        (layout.datastores[one], layout.loads[one]) for one in (proposal.source, proposal.target)
    )
    effect = move_effect(proposal.moved, source, target, place.inputs)
    return effect, objection(place.inputs, layout, place.rules, proposal, effect)


def refused_counts(looked: NextMoves) -> Counter[Objection]:
    """How many moves and exchanges met which objection."""
    met = [one.against[0] for one in looked.judged if one.against is not None]
    return looked.singles.counts + Counter(met)


def closest_refused(looked: NextMoves) -> list[RejectedMove]:
    """The refused moves and exchanges that would save most, with the reason of each."""
    found = []
    for one in looked.singles.refused:
        effect, against = alone(looked.place, one.proposal)
        if against is not None:
            found.append(_rejected(one.proposal, effect, against))
    found += [
        _rejected(one.proposal, one.effect, one.against)
        for one in looked.judged
        if one.against is not None
    ]
    return sorted(found, key=_worth_first)[:SHOWN_REJECTIONS]


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


def _worth_first(move: RejectedMove) -> tuple[float, tuple[str, ...], str, tuple[str, ...]]:
    lost = float("inf") if move.effect is None else -move.effect.net
    return (lost, move.vdisks, move.target, move.in_return)
