"""Which virtual disks to move to which datastore, if any move is worth it.

Each move leaves a datastore above its threshold, keeps the rules, and saves more latency than its
copying adds. Where no single move helps, an exchange of two is looked for: it copies twice. A move
that is predicted to make matters worse is never advised, and "no beneficial move" is an answer
with its reasons.
"""

from collections import Counter

from advisor.advice.placement.decide.disk_answer import Move, PlacementAnswer
from advisor.advice.placement.decide.disk_inputs import PlacementInputs
from advisor.advice.placement.decide.disk_layout import layout_of
from advisor.advice.placement.decide.disk_objections import Proposal
from advisor.advice.placement.decide.disk_rules import RuleBook, units
from advisor.advice.placement.decide.disk_why import MODEL_VERSION, advice, no_move
from advisor.advice.placement.decide.next_move import Place, alone, closest_refused, refused_counts
from advisor.advice.placement.decide.plan_search import search_plan
from advisor.advice.placement.decide.unit_columns import unit_columns
from advisor.core.enumeration import listed
from advisor.core.explanation.answer import Alternative, InsufficientData, Missing
from advisor.core.explanation.rounding import round_all


def advise_placement(inputs: PlacementInputs) -> PlacementAnswer:
    """Moves that are worth their cost, or why none is, or what is missing."""
    before = layout_of(inputs)
    known = sum(one.is_known for one in inputs.datastores)
    if known < 2:
        return InsufficientData(
            summary=f"The latency of {known} datastores can be predicted; two are needed",
            missing=(Missing(what="datastores with a fitted device", have=known, need=2),),
            model_version=MODEL_VERSION,
        )
    place = Place(
        inputs=inputs,
        rules=RuleBook(inputs.rules),
        layout=before,
        units=unit_columns(inputs, before, units(inputs.rules, before.vdisks)),
    )
    plan = search_plan(place)
    closest = closest_refused(plan.looked) if plan.looked else []
    if not plan.moves:
        counts = refused_counts(plan.looked) if plan.looked else Counter()
        return round_all(no_move(inputs, before, counts, closest))
    after = plan.place.layout
    return round_all(
        advice(inputs, (before, after), plan.moves, closest, _halves(place, plan.moves[0]))
    )


def _halves(place: Place, move: Move) -> list[Alternative]:
    """Why neither half of an exchange is advised alone; nothing of a single move."""
    if not move.in_return:
        return []
    found = []
    for names, source, target in (
        (move.vdisks, move.source, move.target),
        (move.in_return, move.target, move.source),
    ):
        moved = tuple(place.layout.vdisks[one] for one in names)
        proposal = Proposal(source=source, target=target, moved=moved)
        _, against = alone(place, proposal)
        reason = against[1] if against else f"{source} is not above its threshold"
        name = f"move {listed(names)} to {target} alone"
        found.append(Alternative(name=name, reason=reason))
    return found
