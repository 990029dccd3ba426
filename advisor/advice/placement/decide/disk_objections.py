"""What speaks against a move or an exchange, from what is certain to what is predicted."""

from collections.abc import Sequence
from dataclasses import dataclass

from advisor.advice.placement.decide.disk_answer import Objection
from advisor.advice.placement.decide.disk_inputs import DatastoreState, PlacementInputs, VdiskState
from advisor.advice.placement.decide.disk_layout import Layout
from advisor.advice.placement.decide.disk_rules import RuleBook
from advisor.advice.placement.decide.move_effect import MoveEffect

Against = tuple[Objection, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """Virtual disks of one datastore that would move to another, and what would come back."""

    source: str
    target: str
    moved: tuple[VdiskState, ...]
    back: tuple[VdiskState, ...] = ()

    @property
    def targets(self) -> dict[str, str]:
        """Where each virtual disk would go."""
        return {one.vdisk: self.target for one in self.moved} | {
            one.vdisk: self.source for one in self.back
        }


def objection(
    inputs: PlacementInputs,
    layout: Layout,
    rules: RuleBook,
    proposal: Proposal,
    effect: MoveEffect | None,
) -> Against | None:
    """The first objection with its reason, or None if it may be made."""
    return _certain(inputs, layout, rules, proposal) or _predicted(
        inputs, layout, proposal, effect
    )


def may_move(inputs: PlacementInputs, vdisks: Sequence[VdiskState]) -> Against | None:
    """What keeps these virtual disks where they are, wherever they would go."""
    for one in vdisks:
        if not one.movable:
            return Objection.UNMOVABLE, f"{one.vdisk} may not be moved"
        if one.moved_at is not None:
            ago_s = (inputs.now - one.moved_at).total_seconds()
            if ago_s < inputs.cooldown_s:
                text = f"{one.vdisk} was moved {ago_s / 3600:.1f} h ago"
                return Objection.COOLDOWN, f"{text}; {inputs.cooldown_s / 3600:g} h must pass"
    return None


def may_trade(source: DatastoreState, target: DatastoreState) -> Against | None:
    """What speaks against any move between two datastores."""
    if source.disks and source.disks == target.disks:
        text = f"{target.datastore} lies on the same disks, {target.disks}"
        return Objection.SAME_DISKS, text
    for one in (target, source):
        if one.auto_tiered:
            text = f"{one.datastore} moves data between its tiers by itself"
            return Objection.AUTO_TIERED, text
    return None


def _certain(
    inputs: PlacementInputs, layout: Layout, rules: RuleBook, proposal: Proposal
) -> Against | None:
    source, there = layout.datastores[proposal.source], layout.datastores[proposal.target]
    against = may_move(inputs, (*proposal.moved, *proposal.back)) or may_trade(source, there)
    if against is not None:
        return against
    out = sum(one.size_bytes for one in proposal.moved)
    back = sum(one.size_bytes for one in proposal.back)
    for store, comes, goes in ((there, out, back), (source, back, out)):
        free = inputs.space_ratio * store.capacity_bytes - store.used_bytes + goes
        # Where less comes than goes the datastore only gets emptier.
        if comes > free and comes > goes:
            text = f"{store.datastore} has {max(free, 0) / 1e9:.3g} GB left"
            return Objection.SPACE, f"{text}, {comes / 1e9:.3g} GB are needed"
    broken = rules.broken(layout, proposal.targets)
    return None if broken is None else (Objection.RULE, broken)


def _predicted(
    inputs: PlacementInputs, layout: Layout, proposal: Proposal, effect: MoveEffect | None
) -> Against | None:
    target = proposal.target
    if effect is None:
        gaps = [layout.datastores[one].line_gap for one in (target, proposal.source)]
        why = next((f": {gap}" for gap in gaps if gap), "")
        return Objection.UNKNOWN_DEVICE, f"no latency can be predicted for {target}{why}"
    there = f"{target} would answer in {effect.target_after_ms:.3g} ms"
    if effect.target_after_ms >= effect.source_before_ms:
        text = f"{there}, no sooner than {effect.source_before_ms:.3g} ms now"
        return Objection.WORSE, text
    if effect.source_after_ms > effect.source_before_ms:
        text = f"{proposal.source} would answer in {effect.source_after_ms:.3g} ms, later than now"
        return Objection.WORSE, text
    if effect.target_after_ms > inputs.threshold_ms:
        text = f"{there}, above the threshold of {inputs.threshold_ms:.3g} ms"
        return Objection.TARGET_ABOVE_THRESHOLD, text
    gain = effect.improvement_ratio
    if gain < inputs.improvement_ratio or gain <= 0:
        text = f"it would better latency by {gain:.1%}, {inputs.improvement_ratio:.0%} are needed"
        return (Objection.WORSE if gain < 0 else Objection.TOO_LITTLE_GAIN), text
    if effect.benefit <= effect.cost:
        text = f"copying for {effect.copy_s / 3600:.3g} h costs more than the horizon gains"
        return Objection.COST_ABOVE_BENEFIT, text
    return None
