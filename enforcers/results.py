"""What became of each allocation in one pass. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from enforcers.change import Change
from enforcers.contract import (
    Allocation,
    ControlKind,
    ControlOutcome,
    ControlOutcomes,
    Outcome,
    Setting,
)
from enforcers.mechanism import Desired, Note, Plan, Seen
from enforcers.outcomes import ALL_CONTROLS

RIGHT_ALREADY = "the kernel has what the policy wants"
# What nobody asks for is not missing.
_NOT_ASKED = {
    ControlKind.RESERVATION: "the policy asks for no reservation",
    ControlKind.LIMIT: "the policy sets no limit",
    ControlKind.SHARES: "shares are equal on this device, which is what it gives without any",
}
_MISSING = frozenset({Outcome.INEFFECTIVE, Outcome.UNSUPPORTED})
_NOTHING_SEEN = Seen(setting=None, counters=None)
_UNCHANGED = ControlOutcome(outcome=Outcome.UNCHANGED, reason=RIGHT_ALREADY)
_ALL_UNCHANGED = ControlOutcomes.all_as(_UNCHANGED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Enforced:
    """What became of one allocation. `is_changed` means the kernel was written for it."""

    allocation: Allocation
    applied: Setting | None
    seen: Seen
    controls: ControlOutcomes
    is_changed: bool

    @property
    def outcome(self) -> Outcome:
        """That of the gravest control."""
        return self.controls.sum().outcome

    @property
    def reason(self) -> str:
        """Why, in words."""
        return self.controls.sum().reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """The result of one device; `error` applies to all its allocations."""

    plan: Plan
    made: tuple[Change, ...]
    seen: Mapping[str, Seen]
    error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """What was in force after the last pass, and on which things of the kernel.

    A thing that was not seen in that pass is the one seen before.
    """

    desired: Desired
    things: Mapping[str, str | None]

    def was_on(self, allocation: str, seen: Seen) -> bool | None:
        """Whether it was in force on the very thing that is there now; None: on none yet."""
        if allocation not in self.things:
            return None
        return self.things[allocation] == seen.thing


def asked_controls(item: Allocation, desired: Desired) -> frozenset[ControlKind]:
    """The controls without which the allocation would get something else.

    Shares are asked for where they differ, or where the policy divides by equal ones.
    """
    is_asked = {
        ControlKind.RESERVATION: item.reservation > 0,
        ControlKind.LIMIT: item.limit is not None,
        ControlKind.SHARES: _divides(desired)
        or any(other.shares != item.shares for other in desired.allocations),
    }
    return frozenset(kind for kind, asked in is_asked.items() if asked)


def _divides(desired: Desired) -> bool:
    is_meant = desired.spec is not None and desired.spec.divides
    return is_meant and len(desired.allocations) > 1


def results(desired: Desired, attempt: Attempt, settled: Settled | None) -> list[Enforced]:
    """Every allocation of a device after an attempt; `settled` is None for a new policy."""
    made: dict[str | None, list[Change]] = {}
    for change in attempt.made:
        for owner in {change.allocation, *change.also_of}:
            made.setdefault(owner, []).append(change)
    # What says which controls it changes is of all that have them.
    shared = [change for change in made.get(None, []) if change.controls != ALL_CONTROLS]
    return [
        _result(item, desired, attempt, [*made.get(item.id, []), *shared], settled)
        for item in desired.allocations
    ]


def all_failed(desired: Desired, error: str) -> list[Enforced]:
    """Every allocation of a device that could not even be looked at."""
    return results(desired, Attempt(plan=Plan(), made=(), seen={}, error=error), None)


def previews(desired: Desired, plan: Plan, seen: Mapping[str, Seen]) -> list[Enforced]:
    """Every allocation of a device where nothing may be changed."""
    return [
        _preview(item, desired, plan, seen.get(item.id, _NOTHING_SEEN))
        for item in desired.allocations
    ]


def _result(
    item: Allocation,
    desired: Desired,
    attempt: Attempt,
    made: list[Change],
    settled: Settled | None,
) -> Enforced:
    seen = attempt.seen.get(item.id, _NOTHING_SEEN)
    whole = attempt.plan.notes.get(item.id)
    if whole is None and attempt.error is not None:
        whole = Note(outcome=Outcome.FAILED, reason=attempt.error)
    if whole is None and not made and not attempt.plan.shortfalls.get(item.id):
        controls = _ALL_UNCHANGED
    else:
        was_on_it = None if settled is None else settled.was_on(item.id, seen)
        found = _by_control(made, was_on_it)
        controls = _with_notes(found, whole, item, desired, attempt.plan)
    return Enforced(
        allocation=item,
        applied=attempt.plan.wanted.get(item.id) if whole is None else None,
        seen=seen,
        controls=controls,
        is_changed=bool(made),
    )


def _by_control(made: list[Change], was_on_it: bool | None) -> dict[ControlKind, ControlOutcome]:
    """Most changes are of all controls, and then so is what is said of them."""
    found: dict[ControlKind, ControlOutcome] = {}
    told: list[tuple[list[Change], ControlOutcome]] = []
    for kind in ControlKind:
        own = [change for change in made if kind in change.controls]
        known = next((outcome for changes, outcome in told if changes == own), None)
        found[kind] = known or _changed(own, was_on_it)
        told.append((own, found[kind]))
    return found


def _changed(made: list[Change], was_on_it: bool | None) -> ControlOutcome:
    """The outcome of the changes for one control; `was_on_it` None: for the first time."""
    if not made:
        return _UNCHANGED
    text = "; ".join(str(change) for change in made)
    if was_on_it is None:
        return ControlOutcome(outcome=Outcome.APPLIED, reason=text)
    if was_on_it:
        reason = f"somebody else changed it, put right: {text}"
        return ControlOutcome(outcome=Outcome.DRIFTED, reason=reason)
    reason = f"the workload was started again: {text}"
    return ControlOutcome(outcome=Outcome.REPLACED, reason=reason)


def _preview(item: Allocation, desired: Desired, plan: Plan, seen: Seen) -> Enforced:
    found = {}
    for kind in ControlKind:
        changes = [
            str(change)
            for change in plan.changes
            if change.is_of(item.id) and kind in change.controls
        ]
        would = f"would do {'; '.join(changes)}" if changes else RIGHT_ALREADY
        found[kind] = ControlOutcome(outcome=Outcome.UNCHANGED, reason=f"dry run: {would}")
    return Enforced(
        allocation=item,
        applied=None,
        seen=seen,
        controls=_with_notes(found, plan.notes.get(item.id), item, desired, plan),
        is_changed=False,
    )


def _with_notes(
    found: Mapping[ControlKind, ControlOutcome],
    whole: Note | None,
    item: Allocation,
    desired: Desired,
    plan: Plan,
) -> ControlOutcomes:
    """What was found, but for what a note on the allocation or on one control says."""
    if whole is not None:
        return ControlOutcomes.all_as(ControlOutcome(outcome=whole.outcome, reason=whole.reason))
    asked = asked_controls(item, desired)
    outcomes = dict(found)
    for kind, note in plan.shortfalls.get(item.id, {}).items():
        if note.outcome is Outcome.UNCHANGED:
            # A remark only, and a change says more.
            if outcomes[kind].reason == RIGHT_ALREADY:
                outcomes[kind] = ControlOutcome(outcome=note.outcome, reason=note.reason)
        elif kind in asked or note.outcome not in _MISSING:
            outcomes[kind] = ControlOutcome(outcome=note.outcome, reason=note.reason)
        elif outcomes[kind].reason == RIGHT_ALREADY:
            outcomes[kind] = ControlOutcome(outcome=Outcome.UNCHANGED, reason=_NOT_ASKED[kind])
    return ControlOutcomes.of(outcomes)
