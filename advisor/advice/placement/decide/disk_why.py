"""The words and numbers that explain advice on placement of virtual disks."""

from collections import Counter
from collections.abc import Mapping, Sequence

from advisor.advice.placement.decide.device_line import LineSource
from advisor.advice.placement.decide.disk_answer import (
    LineUsed,
    Move,
    NoBeneficialMove,
    Objection,
    PlacementAdvice,
    RejectedMove,
    RejectionCount,
)
from advisor.advice.placement.decide.disk_inputs import PlacementInputs
from advisor.advice.placement.decide.disk_layout import Layout
from advisor.advice.placement.decide.move_effect import imbalance
from advisor.advice.placement.decide.next_move import needs_help
from advisor.core.enumeration import clauses, listed
from advisor.core.explanation.answer import Alternative
from advisor.core.explanation.confidence import ground, weakest
from advisor.core.explanation.effect import Effect

ENOUGH_SAMPLES = 192
"""Windows of 5 minutes over 16 hours: what Storage DRS waits for before its first move."""
MODEL_VERSION = "placement-5"
REVERSIBILITY = (
    "Reversible at the same cost: the virtual disks can be moved back, copying them once more."
)
FORMULA = (
    "latency = intercept + slope · outstanding, by the device model for the mix of I/Os after the "
    "move where it is known; outstanding I/O that moves is scaled by the ratio of the slopes; "
    "benefit = Σ IOPS · latency saved · horizon; "
    "cost = copying time · Σ IOPS · slope · outstanding I/O of the copy"
)


def no_move(
    inputs: PlacementInputs,
    layout: Layout,
    counts: Counter[Objection],
    closest: Sequence[RejectedMove],
) -> NoBeneficialMove:
    """That everything stays, and why."""
    slow = [one for one in layout.datastores if needs_help(inputs, layout, one)]
    if not slow:
        why = _none_slow(inputs, layout)
    elif imbalance(layout.loads) <= inputs.imbalance_ratio:
        why = f"{_are_slow(slow)}, {_all_alike(layout)}"
    elif not closest:
        on = "it" if len(slow) == 1 else "them"
        why = f"{_are_slow(slow)}, yet no virtual disk lies on {on}"
    else:
        looked = f"{counts.total()} moves and exchanges were looked at"
        why = f"{looked}; closest: {words(closest[0])}: {closest[0].reason}"
    return NoBeneficialMove(
        summary=f"No beneficial move: {why}",
        rejected=tuple(closest),
        rejections=tuple(
            RejectionCount(objection=kind, moves=counts[kind]) for kind in sorted(counts)
        ),
        formula=FORMULA,
        model_version=MODEL_VERSION,
        lines=lines_used(layout),
    )


def _are_slow(datastores: Sequence[str]) -> str:
    return f"{listed(datastores)} {'is' if len(datastores) == 1 else 'are'} slow"


def _none_slow(inputs: PlacementInputs, layout: Layout) -> str:
    """That none is above the threshold, as far as that is known."""
    unknown = _unknown(layout)
    level = f"the threshold of {inputs.threshold_ms:.3g} ms"
    if not unknown:
        return f"no datastore is above {level}"
    known = [name for name, load in layout.loads.items() if load.latency_ms is not None]
    below = f"{listed(known)} {'is' if len(known) == 1 else 'are'} not above {level}"
    return clauses([below, *unknown] if known else unknown)


def _all_alike(layout: Layout) -> str:
    unknown = _unknown(layout)
    if not unknown:
        return "yet all are loaded alike: there is nowhere better"
    return clauses(["yet all whose load is known are loaded alike", *unknown])


def _unknown(layout: Layout) -> list[str]:
    """Whose latency is not known, each with the reason why."""
    names: dict[str, list[str]] = {}
    for one in lines_used(layout):
        if layout.loads[one.datastore].latency_ms is None:
            reason = one.reason if one.source is None else "its line gives no finite number"
            names.setdefault(reason, []).append(one.datastore)
    return [
        f"the latency of {listed(found)} is not known, because: {reason}"
        for reason, found in names.items()
    ]


def words(move: Move | RejectedMove) -> str:
    """The move as a phrase after "Move" or "Exchange"."""
    if move.in_return:
        there = f"{listed(move.in_return)} on {move.target}"
        return f"{listed(move.vdisks)} on {move.source} for {there}"
    return f"{listed(move.vdisks)} from {move.source} to {move.target}"


def advice(
    inputs: PlacementInputs,
    layouts: tuple[Layout, Layout],
    moves: Sequence[Move],
    closest: Sequence[RejectedMove],
    halves: Sequence[Alternative],
) -> PlacementAdvice:
    """The moves with everything they rest on; `halves` say why an exchange is no single move."""
    before, after = layouts
    first = moves[0]
    more = f", and {len(moves) - 1} more" if len(moves) > 1 else ""
    verb = "Exchange" if first.in_return else "Move"
    return PlacementAdvice(
        summary=f"{verb} {words(first)}{more}: {first.source} from "
        f"{first.effect.source_before_ms:.3g} to {first.effect.source_after_ms:.3g} ms, "
        f"{first.target} from {first.effect.target_before_ms:.3g} to "
        f"{first.effect.target_after_ms:.3g} ms",
        moves=tuple(moves),
        rejected=tuple(closest),
        formula=FORMULA,
        effects=_effects(before, after, moves),
        alternatives=(*_whole_alternatives(before, first), *halves, *_rejected(closest)),
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
        lines=lines_used(before),
    )


def lines_used(layout: Layout) -> tuple[LineUsed, ...]:
    """Per datastore what its latency comes from, and why not from something better."""
    return tuple(
        LineUsed(datastore=name, source=source, reason=_line_reason(layout, name, source))
        for name, source in _sources(layout).items()
    )


def _sources(layout: Layout) -> Mapping[str, LineSource | None]:
    return {name: load.line_source for name, load in layout.loads.items()}


def _line_reason(layout: Layout, name: str, source: LineSource | None) -> str:
    store = layout.datastores[name]
    if source is None:
        fitted = "no line of latency over outstanding I/O was fitted"
        if store.seen_model is None:
            return store.line_gap or fitted
        gap = f"no line was fitted: {store.line_gap}" if store.line_gap else fitted
        return f"the device model never saw such a mix of I/Os, and {gap}"
    if source is LineSource.DEVICE_MODEL and store.seen_model is not None:
        model = store.seen_model.model
        return f"{model.point_count} windows, off by {model.error_ratio:.0%} in the middle"
    if store.seen_model is None:
        return store.model_gap or "no device model was fitted"
    return "the device model never saw such a mix of I/Os"


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


def _whole_alternatives(before: Layout, first: Move) -> tuple[Alternative, ...]:
    stays = before.loads[first.source].latency_ms or 0.0
    return (
        Alternative(name="move nothing", reason=f"{first.source} stays at {stays:.3g} ms"),
        Alternative(
            name="divide the datastore by shares",
            reason="takes effect at once and moves nothing, but what one workload gains "
            "another loses",
        ),
    )


def _rejected(closest: Sequence[RejectedMove]) -> tuple[Alternative, ...]:
    return tuple(
        Alternative(
            name=f"exchange {words(one)}"
            if one.in_return
            else f"move {listed(one.vdisks)} to {one.target}",
            reason=one.reason,
        )
        for one in closest
    )
