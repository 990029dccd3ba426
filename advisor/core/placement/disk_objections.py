"""What speaks against one move, checked from what is certain to what is predicted."""

from collections.abc import Sequence

from advisor.core.placement.disk_answer import Objection
from advisor.core.placement.disk_inputs import PlacementInputs, VdiskState
from advisor.core.placement.disk_layout import Layout
from advisor.core.placement.disk_rules import broken_rule
from advisor.core.placement.move_effect import MoveEffect


def objection(
    inputs: PlacementInputs,
    layout: Layout,
    moved: Sequence[VdiskState],
    target: str,
    effect: MoveEffect | None,
) -> tuple[Objection, str] | None:
    """The first objection with its reason, or None if the move may be made."""
    return _certain(inputs, layout, moved, target) or _predicted(inputs, target, effect)


def _certain(
    inputs: PlacementInputs, layout: Layout, moved: Sequence[VdiskState], target: str
) -> tuple[Objection, str] | None:
    source, there = layout.datastores[moved[0].datastore], layout.datastores[target]
    for one in moved:
        if not one.movable:
            return Objection.UNMOVABLE, f"{one.vdisk} may not be moved"
        if one.moved_at is not None:
            ago_s = (inputs.now - one.moved_at).total_seconds()
            if ago_s < inputs.cooldown_s:
                text = f"{one.vdisk} was moved {ago_s / 3600:.1f} h ago"
                return Objection.COOLDOWN, f"{text}; {inputs.cooldown_s / 3600:g} h must pass"
    if source.disks and source.disks == there.disks:
        return Objection.SAME_DISKS, f"{target} lies on the same disks, {there.disks}"
    if there.auto_tiered or source.auto_tiered:
        name = target if there.auto_tiered else source.datastore
        return Objection.AUTO_TIERED, f"{name} moves data between its tiers by itself"
    size = sum(one.size_bytes for one in moved)
    free = inputs.space_ratio * there.capacity_bytes - there.used_bytes
    if size > free:
        text = f"{target} has {max(free, 0) / 1e9:.3g} GB left, {size / 1e9:.3g} GB are needed"
        return Objection.SPACE, text
    names = frozenset(one.vdisk for one in moved)
    broken = broken_rule(inputs.rules, layout.vdisks, names, target)
    return None if broken is None else (Objection.RULE, broken)


def _predicted(
    inputs: PlacementInputs, target: str, effect: MoveEffect | None
) -> tuple[Objection, str] | None:
    if effect is None:
        return Objection.UNKNOWN_DEVICE, f"no latency can be predicted for {target}"
    there = f"{target} would answer in {effect.target_after_ms:.3g} ms"
    if effect.target_after_ms >= effect.source_before_ms:
        text = f"{there}, no sooner than {effect.source_before_ms:.3g} ms now"
        return Objection.WORSE, text
    if effect.target_after_ms > inputs.threshold_ms:
        text = f"{there}, above the threshold of {inputs.threshold_ms:g} ms"
        return Objection.TARGET_ABOVE_THRESHOLD, text
    gain = effect.improvement_ratio
    if gain < inputs.improvement_ratio or gain <= 0:
        text = f"it would better latency by {gain:.1%}, {inputs.improvement_ratio:.0%} are needed"
        return (Objection.WORSE if gain < 0 else Objection.TOO_LITTLE_GAIN), text
    if effect.benefit <= effect.cost:
        text = f"copying for {effect.copy_s / 3600:.3g} h costs more than the horizon gains"
        return Objection.COST_ABOVE_BENEFIT, text
    return None
