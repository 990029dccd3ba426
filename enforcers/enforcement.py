"""One pass over everything a policy governs: observe, plan, apply, read back."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from enforcers.change import Change
from enforcers.contract import Allocation, Outcome, PolicyDocument, Setting
from enforcers.errors import CommandError, StateError
from enforcers.executor import Executor
from enforcers.ledger import Ledger
from enforcers.mechanism import Desired, EnforcementMechanism, Note, Plan, Seen
from enforcers.retry import Retries

log = logging.getLogger(__name__)

RIGHT_ALREADY = "the kernel has what the policy wants"
_OBSERVING_ERRORS = (CommandError, OSError, StateError, ValueError)

Target = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Enforced:
    """What became of one allocation. `is_changed` means the kernel was written for it."""

    allocation: Allocation
    applied: Setting | None
    seen: Seen
    outcome: Outcome
    reason: str
    is_changed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PassResult:
    """All allocations, and the problems that belong to none of them."""

    enforced: tuple[Enforced, ...]
    problems: tuple[str, ...]
    is_changed: bool

    @property
    def has_failed(self) -> bool:
        """Whether anything failed."""
        return bool(self.problems) or any(item.outcome is Outcome.FAILED for item in self.enforced)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Attempt:
    """The result of one device; `error` applies to all its allocations."""

    plan: Plan
    made: tuple[Change, ...]
    seen: Mapping[str, Seen]
    error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Settled:
    """What was in force after the last pass, and on which things of the kernel."""

    desired: Desired
    things: Mapping[str, str | None]

    def is_on(self, allocation: str, seen: Seen) -> bool:
        """Whether it was in force on the very thing that is there now."""
        return allocation in self.things and self.things[allocation] == seen.thing


class Enforcement:
    """Brings every device to what the policy wants, each on its own."""

    def __init__(
        self,
        *,
        mechanisms: Mapping[str, EnforcementMechanism[Any]],
        executor: Executor,
        ledger: Ledger,
        first_retry_s: float,
    ) -> None:
        self._mechanisms = mechanisms
        self._executor = executor
        self._ledger = ledger
        self._retries = Retries(first_s=first_retry_s)
        self._settled: dict[Target, _Settled] = {}

    def run(
        self,
        document: PolicyDocument | None,
        *,
        previous: PolicyDocument | None,
        now_s: float,
        dry_run: bool = False,
    ) -> PassResult:
        """Enforce a document; None, or one without allocations, puts all back as found.

        A device where a change fails goes back to `previous`, or to what was found.
        """
        wanted = _by_target(document)
        fallback = _by_target(previous)
        targets = {*wanted, *((e.mechanism, e.device) for e in self._ledger.entries())}
        enforced: list[Enforced] = []
        problems: list[str] = []
        is_changed = False
        for target in sorted(targets):
            nothing = Desired(device=target[1], spec=None, allocations=())
            desired = wanted.get(target, nothing)
            if dry_run or self._executor.dry_run:
                enforced += self._preview(target, desired)
                continue
            attempt = self._attempt(target, desired, fallback.get(target, nothing), now_s)
            enforced += _results(desired, attempt, self._settled_as(target, desired))
            is_changed = is_changed or bool(attempt.made)
            if attempt.error is None:
                things = {key: seen.thing for key, seen in attempt.seen.items()}
                self._settled[target] = _Settled(desired=desired, things=things)
                continue
            self._settled.pop(target, None)
            if not desired.allocations:
                problems.append(f"{target[1]} is not as it was found: {attempt.error}")
        return PassResult(
            enforced=tuple(enforced), problems=tuple(problems), is_changed=is_changed
        )

    def preview(self, document: PolicyDocument | None) -> list[tuple[str, Plan | str]]:
        """Per device the plan, or why there is none. Changes nothing."""
        wanted = _by_target(document)
        targets = {*wanted, *((e.mechanism, e.device) for e in self._ledger.entries())}
        result: list[tuple[str, Plan | str]] = []
        for target in sorted(targets):
            desired = wanted.get(target, Desired(device=target[1], spec=None, allocations=()))
            try:
                plan, _ = self._look(target, desired)
            except _OBSERVING_ERRORS as error:
                result.append((target[1], str(error)))
            else:
                result.append((target[1], plan))
        return result

    def _settled_as(self, target: Target, desired: Desired) -> _Settled | None:
        settled = self._settled.get(target)
        return settled if settled is not None and settled.desired == desired else None

    def _look(self, target: Target, desired: Desired) -> tuple[Plan, Mapping[str, Seen]]:
        mechanism = self._mechanisms.get(target[0])
        if mechanism is None:
            return self._unknown(target, desired), {}
        support = mechanism.support()
        if desired.allocations and not support.supported:
            note = Note(outcome=Outcome.UNSUPPORTED, reason=support.reason)
            return Plan(notes={item.id: note for item in desired.allocations}), {}
        observed = mechanism.observe(desired, self._ledger.of(*target))
        return mechanism.plan(desired, observed), mechanism.read_back(desired, observed)

    def _unknown(self, target: Target, desired: Desired) -> Plan:
        """The notes on a mechanism that this agent does not have, or no longer has."""
        known = ", ".join(sorted(self._mechanisms))
        problem = f"this agent has no mechanism {target[0]!r}; it has {known}"
        if self._ledger.of(*target):
            # Only that mechanism can restore what it changed.
            raise StateError(f"{problem}; start an agent that has it and run restore there")
        note = Note(outcome=Outcome.UNSUPPORTED, reason=problem)
        return Plan(notes={item.id: note for item in desired.allocations})

    def _preview(self, target: Target, desired: Desired) -> list[Enforced]:
        try:
            plan, seen = self._look(target, desired)
        except _OBSERVING_ERRORS as error:
            return _all_failed(desired, str(error))
        return [
            _preview_result(item, plan, seen.get(item.id, Seen(setting=None, counters=None)))
            for item in desired.allocations
        ]

    def _attempt(
        self, target: Target, desired: Desired, fallback: Desired, now_s: float
    ) -> _Attempt:
        try:
            plan, seen = self._look(target, desired)
            if not plan.changes:
                self._executor.release(plan.restored)
                self._retries.succeeded(target)
                return _Attempt(plan=plan, made=(), seen=seen, error=None)
            waiting = self._retries.waiting(target, desired, now_s)
            if waiting is not None:
                return _Attempt(plan=plan, made=(), seen=seen, error=waiting)
            attempt = self._apply(target, desired, plan)
        except _OBSERVING_ERRORS as error:
            attempt = _Attempt(plan=Plan(), made=(), seen={}, error=str(error))
        if attempt.error is None:
            self._retries.succeeded(target)
            return attempt
        if attempt.made and fallback != desired:
            attempt = self._go_back(target, fallback, attempt)
        self._retries.failed(target, desired, now_s, error=attempt.error or "")
        return attempt

    def _apply(self, target: Target, desired: Desired, plan: Plan) -> _Attempt:
        execution = self._mechanisms[target[0]].apply(plan, self._executor)
        rest, seen = self._look(target, desired)
        error = execution.error
        if error is None and rest.changes:
            error = f"the kernel did not keep it: {rest.changes[0]}"
        if error is None:
            self._executor.release(rest.restored)
        return _Attempt(plan=plan, made=execution.made, seen=seen, error=error)

    def _go_back(self, target: Target, fallback: Desired, failed: _Attempt) -> _Attempt:
        """After a failure midway: the device as the former policy wants it, or as found."""
        try:
            plan, _ = self._look(target, fallback)
            back = self._apply(target, fallback, plan)
            problem = back.error
        except _OBSERVING_ERRORS as error:
            problem = str(error)
        outcome = "put back as before" if problem is None else f"going back failed too: {problem}"
        return _Attempt(
            plan=failed.plan, made=failed.made, seen={}, error=f"{failed.error}; {outcome}"
        )


def _by_target(document: PolicyDocument | None) -> dict[Target, Desired]:
    """What each device shall enforce; the contract allows one resource per device."""
    result: dict[Target, Desired] = {}
    if document is None:
        return result
    for spec in document.resources:
        own = tuple(item for item in document.allocations if item.resource == spec.name)
        if own:
            desired = Desired(device=spec.device, spec=spec, allocations=own)
            result[spec.mechanism, spec.device] = desired
    return result


def _results(desired: Desired, attempt: _Attempt, settled: _Settled | None) -> list[Enforced]:
    return [_result(item, attempt, settled) for item in desired.allocations]


def _result(item: Allocation, attempt: _Attempt, settled: _Settled | None) -> Enforced:
    seen = attempt.seen.get(item.id, Seen(setting=None, counters=None))
    made = [change for change in attempt.made if change.allocation == item.id]
    note = attempt.plan.notes.get(item.id)
    wanted = attempt.plan.wanted.get(item.id)
    if attempt.error is not None and (wanted is not None or note is None):
        outcome, reason, wanted = Outcome.FAILED, attempt.error, None
    elif note is not None:
        outcome, reason = note.outcome, note.reason
    elif made:
        outcome, reason = _made(
            made, was_on_it=settled is not None and settled.is_on(item.id, seen)
        )
        if settled is not None and outcome is Outcome.APPLIED:
            reason = f"the workload was started again: {reason}"
    else:
        outcome, reason = Outcome.UNCHANGED, RIGHT_ALREADY
    return Enforced(
        allocation=item,
        applied=wanted,
        seen=seen,
        outcome=outcome,
        reason=reason,
        is_changed=bool(made),
    )


def _made(made: list[Change], *, was_on_it: bool) -> tuple[Outcome, str]:
    found = "; ".join(str(change) for change in made)
    if was_on_it:
        return Outcome.DRIFTED, f"somebody else changed it, put right: {found}"
    return Outcome.APPLIED, found


def _preview_result(item: Allocation, plan: Plan, seen: Seen) -> Enforced:
    changes = [str(change) for change in plan.changes if change.allocation == item.id]
    would = f"dry run: would do {'; '.join(changes)}" if changes else f"dry run: {RIGHT_ALREADY}"
    note = plan.notes.get(item.id, Note(outcome=Outcome.UNCHANGED, reason=would))
    return Enforced(
        allocation=item,
        applied=None,
        seen=seen,
        outcome=note.outcome,
        reason=note.reason,
        is_changed=False,
    )


def _all_failed(desired: Desired, error: str) -> list[Enforced]:
    attempt = _Attempt(plan=Plan(), made=(), seen={}, error=error)
    return _results(desired, attempt, None)
