"""Which virtual disks to move to which datastore, if any move is worth it.

Greedy, one move after the other: of all moves from a datastore above its threshold that keep the
rules, the one that saves most latency net of its copying. A move that is predicted to make
matters worse is never advised, and "no beneficial move" is an answer with its reasons.
"""

from collections import Counter
from collections.abc import Sequence

from advisor.core.explanation.answer import Alternative, InsufficientData, Missing
from advisor.core.explanation.confidence import ground, weakest
from advisor.core.explanation.effect import Effect
from advisor.core.explanation.rounding import round_all
from advisor.core.placement.disk_answer import (
    Move,
    NoBeneficialMove,
    PlacementAdvice,
    PlacementAnswer,
    RejectedMove,
    RejectionCount,
)
from advisor.core.placement.disk_inputs import PlacementInputs
from advisor.core.placement.disk_layout import Layout, after_move, layout_of
from advisor.core.placement.disk_objections import objection
from advisor.core.placement.disk_rules import units
from advisor.core.placement.move_effect import MoveEffect, imbalance, move_effect

ENOUGH_SAMPLES = 192
"""Windows of 5 minutes over 16 hours: what Storage DRS waits for before its first move."""
SHOWN_REJECTIONS = 5
MODEL_VERSION = "placement-1"
REVERSIBILITY = (
    "Reversible at the same cost: the virtual disks can be moved back, copying them once more."
)
FORMULA = (
    "latency = intercept + slope · outstanding; outstanding I/O that moves is scaled by the ratio "
    "of the slopes; benefit = Σ IOPS · latency saved · horizon; "
    "cost = copying time · Σ IOPS · slope · outstanding I/O of the copy"
)


def advise_placement(inputs: PlacementInputs) -> PlacementAnswer:
    """Moves that are worth their cost, or why none is, or what is missing."""
    before = layout = layout_of(inputs)
    known = sum(one.latency_ms is not None for one in before.loads.values())
    if known < 2:
        return InsufficientData(
            summary=f"The latency of {known} datastores can be predicted; two are needed",
            missing=(Missing(what="datastores with a fitted device", have=known, need=2),),
            model_version=MODEL_VERSION,
        )
    moves: list[Move] = []
    rejected: list[RejectedMove] = []
    while len(moves) < inputs.most_moves:
        done = frozenset(name for one in moves for name in one.vdisks)
        best, rejected = _best_move(inputs, layout, done)
        if best is None:
            break
        moves.append(best)
        layout = after_move(layout, best.vdisks, best.target)
    if not moves:
        return round_all(_no_move(inputs, before, rejected))
    return round_all(_advice(inputs, before, layout, moves, rejected))


def _best_move(
    inputs: PlacementInputs, layout: Layout, done: frozenset[str]
) -> tuple[Move | None, list[RejectedMove]]:
    """The move that saves most net of its cost, and those that may not be made."""
    allowed: list[Move] = []
    rejected: list[RejectedMove] = []
    if imbalance(layout.loads) <= inputs.imbalance_ratio:
        return None, rejected
    for vdisks in units(inputs.rules, layout.vdisks):
        source = layout.vdisks[vdisks[0]].datastore
        if done & set(vdisks) or not _needs_help(inputs, layout, source):
            continue
        moved = [layout.vdisks[one] for one in vdisks]
        for target in layout.datastores:
            if target == source:
                continue
            ends = [(layout.datastores[one], layout.loads[one]) for one in (source, target)]
            effect = move_effect(moved, ends[0], ends[1], inputs)
            against = objection(inputs, layout, moved, target, effect)
            if against is not None:
                kind, reason = against
                rejected.append(
                    RejectedMove(
                        vdisks=vdisks,
                        source=source,
                        target=target,
                        objection=kind,
                        reason=reason,
                        effect=effect,
                    )
                )
            elif effect is not None:
                allowed.append(Move(vdisks=vdisks, source=source, target=target, effect=effect))
    rejected.sort(key=_worth_first)
    return min(allowed, key=_worth_first, default=None), rejected


def _needs_help(inputs: PlacementInputs, layout: Layout, datastore: str) -> bool:
    latency_ms = layout.loads[datastore].latency_ms
    return latency_ms is not None and latency_ms > inputs.threshold_ms


def _worth_first(move: Move | RejectedMove) -> tuple[float, tuple[str, ...], str]:
    return (-_net(move.effect), move.vdisks, move.target)


def _net(effect: MoveEffect | None) -> float:
    return float("-inf") if effect is None else effect.benefit - effect.cost


def _no_move(
    inputs: PlacementInputs, layout: Layout, rejected: Sequence[RejectedMove]
) -> NoBeneficialMove:
    slow = [one for one in layout.datastores if _needs_help(inputs, layout, one)]
    counts = Counter(one.objection for one in rejected)
    if not slow:
        why = f"no datastore is above its threshold of {inputs.threshold_ms:g} ms"
    elif imbalance(layout.loads) <= inputs.imbalance_ratio:
        why = f"{', '.join(slow)} is slow, yet all are loaded alike: there is nowhere better"
    elif not rejected:
        why = f"{', '.join(slow)} is slow, yet no virtual disk lies on it"
    else:
        why = f"{len(rejected)} moves were looked at; closest: {_words(rejected[0])}"
    return NoBeneficialMove(
        summary=f"No beneficial move: {why}",
        rejected=tuple(rejected[:SHOWN_REJECTIONS]),
        rejections=tuple(
            RejectionCount(objection=kind, moves=counts[kind]) for kind in sorted(counts)
        ),
        formula=FORMULA,
        model_version=MODEL_VERSION,
    )


def _words(move: Move | RejectedMove) -> str:
    text = f"{', '.join(move.vdisks)} from {move.source} to {move.target}"
    return f"{text}: {move.reason}" if isinstance(move, RejectedMove) else text


def _advice(
    inputs: PlacementInputs,
    before: Layout,
    after: Layout,
    moves: Sequence[Move],
    rejected: Sequence[RejectedMove],
) -> PlacementAdvice:
    first = moves[0]
    more = f", and {len(moves) - 1} more" if len(moves) > 1 else ""
    return PlacementAdvice(
        summary=f"Move {_words(first)}{more}: {first.source} from "
        f"{first.effect.source_before_ms:.3g} to {first.effect.source_after_ms:.3g} ms, "
        f"{first.target} from {first.effect.target_before_ms:.3g} to "
        f"{first.effect.target_after_ms:.3g} ms",
        moves=tuple(moves),
        rejected=tuple(rejected[:SHOWN_REJECTIONS]),
        formula=FORMULA,
        effects=_effects(before, after, moves),
        alternatives=_alternatives(before, first, rejected),
        confidence=weakest(
            ground(
                "windows",
                inputs.samples / ENOUGH_SAMPLES,
                f"{inputs.samples} windows, {ENOUGH_SAMPLES} are enough",
            ),
            ground(
                "margin",
                1 - first.effect.cost / first.effect.benefit,
                "1 - cost / benefit of the first move",
            ),
        ),
        reversibility=REVERSIBILITY,
        model_version=MODEL_VERSION,
    )


def _effects(before: Layout, after: Layout, moves: Sequence[Move]) -> tuple[Effect, ...]:
    touched = sorted({one.source for one in moves} | {one.target for one in moves})
    latencies = tuple(
        Effect(
            quantity=f"latency of {name}",
            unit="ms",
            before=before.loads[name].latency_ms,
            after=after.loads[name].latency_ms,
            how="intercept + slope · outstanding",
        )
        for name in touched
    )
    spread = Effect(
        quantity="imbalance of normalised load",
        unit="ratio",
        before=imbalance(before.loads),
        after=imbalance(after.loads),
        how="(most - least) / mean over the datastores",
    )
    return (*latencies, spread)


def _alternatives(
    before: Layout, first: Move, rejected: Sequence[RejectedMove]
) -> tuple[Alternative, ...]:
    stays = before.loads[first.source].latency_ms or 0.0
    return (
        Alternative(name="move nothing", reason=f"{first.source} stays at {stays:.3g} ms"),
        Alternative(
            name="divide the datastore by shares",
            reason="takes effect at once and moves nothing, but what one workload gains "
            "another loses",
        ),
        *(
            Alternative(name=f"move {', '.join(one.vdisks)} to {one.target}", reason=one.reason)
            for one in rejected[:SHOWN_REJECTIONS]
        ),
    )
