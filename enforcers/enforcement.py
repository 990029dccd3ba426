"""One pass over everything a policy governs: observe, plan, apply, read back."""

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from enforcers.contract import POOL, CorrectedModel, Outcome, PolicyDocument
from enforcers.device_locks import DeviceLocks
from enforcers.errors import CommandError, MonitorError, StateError
from enforcers.executor import Executor, Writes
from enforcers.ledger import Ledger
from enforcers.left import Left, LeftFile
from enforcers.mechanism import (
    CorrectsModels,
    Desired,
    EnforcementMechanism,
    FollowingMechanism,
    LooksShortly,
    Note,
    Plan,
    Seen,
)
from enforcers.results import Attempt, Enforced, Settled, all_failed, previews, results
from enforcers.retry import Retries

log = logging.getLogger(__name__)

_OBSERVING_ERRORS = (CommandError, MonitorError, OSError, StateError, ValueError)

Target = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class PassResult:
    """All allocations, and the problems that belong to none of them.

    `is_in_force`: every device is as the policy wants it, for all that can be served there.
    """

    enforced: tuple[Enforced, ...]
    problems: tuple[str, ...]
    is_changed: bool
    is_in_force: bool

    @property
    def has_failed(self) -> bool:
        """Whether anything failed."""
        return bool(self.problems) or any(item.outcome is Outcome.FAILED for item in self.enforced)


class Enforcement:
    """Brings every device to what the policy wants, each on its own."""

    def __init__(
        self,
        *,
        mechanisms: Mapping[str, EnforcementMechanism[Any]],
        executor: Executor,
        ledger: Ledger,
        locks: DeviceLocks,
        left: LeftFile,
        first_retry_s: float,
    ) -> None:
        self._mechanisms = mechanisms
        self._executor = executor
        self._ledger = ledger
        self._locks = locks
        self._left = left
        self._retries = Retries(first_s=first_retry_s)
        self._settled: dict[Target, Settled] = {}
        # What was in force last, also where the next policy fails now.
        self._last: dict[Target, Desired] = {}
        # A pass and a period of following never write at once.
        self._writing = threading.Lock()

    def run(
        self,
        document: PolicyDocument | None,
        *,
        previous: PolicyDocument | None,
        now_s: float,
        dry_run: bool = False,
        at_once: bool = False,
    ) -> PassResult:
        """Enforce a document; None, or one without allocations, puts all back as found.

        A device where a change fails goes back to what was in force there last; after a start,
        when that is not known, to `previous`, or to what was found. It is tried again after a
        while, or `at_once`.
        """
        with self._writing:
            if at_once:
                self._retries.forget()
            return self._run(document, previous, now_s, dry_run=dry_run)

    @property
    def writes(self) -> Writes:
        """How many writes to the kernel there were."""
        return self._executor.writes

    def corrected(self) -> dict[str, tuple[CorrectedModel, ...]]:
        """By mechanism, the devices with a policy in force that do less than it states."""
        found: dict[str, list[CorrectedModel]] = {}
        for (name, device), settled in sorted(self._settled.items()):
            mechanism = self._mechanisms.get(name)
            if settled.desired.allocations and isinstance(mechanism, CorrectsModels):
                one = mechanism.corrected(device)
                found.setdefault(name, []).extend([] if one is None else [one])
        return {name: tuple(models) for name, models in found.items() if models}

    def follow(self, *, clock_s: Callable[[], float]) -> bool:
        """Let mechanisms follow the workloads wherever a policy is in force; False if that fails.

        That is the former one where the next one failed. A period that meets a pass is left out.
        """
        if not self._writing.acquire(blocking=False):
            return True
        try:
            followed = [self._follow(target, clock_s) for target in sorted(self._settled)]
            return all(followed)
        finally:
            self._writing.release()

    def look(self, *, clock_s: Callable[[], float]) -> None:
        """Begin a short look wherever a policy is in force, or end it; a pass goes first."""
        if not self._writing.acquire(blocking=False):
            return
        try:
            for target, settled in self._settled.items():
                mechanism = self._mechanisms.get(target[0])
                if settled.desired.allocations and isinstance(mechanism, LooksShortly):
                    mechanism.look(settled.desired, clock_s)
        finally:
            self._writing.release()

    def leave(self) -> None:
        """Keep the policy in force with nobody who follows it."""
        with self._writing:
            for target, settled in sorted(self._settled.items()):
                mechanism = self._mechanisms.get(target[0])
                if not isinstance(mechanism, FollowingMechanism):
                    continue
                try:
                    mechanism.leave(settled.desired, self._executor)
                except _OBSERVING_ERRORS as error:
                    log.warning("not left", extra={"device": target[1], "error": str(error)})
            self._note_left()

    def hand_over(self) -> None:
        """Keep all as it is for an agent that follows it at once."""
        with self._writing:
            self._note_left()

    def _note_left(self) -> None:
        """Whose parts could not be set for nobody are noted nevertheless, as they stand."""
        left: list[Left] = []
        for target, settled in sorted(self._settled.items()):
            mechanism = self._mechanisms.get(target[0])
            if isinstance(mechanism, FollowingMechanism):
                left += (
                    Left(mechanism=target[0], device=target[1], thing=thing, text=text)
                    for thing, text in mechanism.left(settled.desired).items()
                )
        self._left.keep(left)

    def _follow(self, target: Target, clock_s: Callable[[], float]) -> bool:
        mechanism, desired = self._mechanisms.get(target[0]), self._settled[target].desired
        if not desired.allocations or not isinstance(mechanism, FollowingMechanism):
            return True
        try:
            mechanism.follow(desired, self._ledger.of(*target), self._executor, clock_s)
        except _OBSERVING_ERRORS as error:
            log.debug("not followed", extra={"device": target[1], "error": str(error)})
            return False
        return True

    def _run(
        self,
        document: PolicyDocument | None,
        previous: PolicyDocument | None,
        now_s: float,
        *,
        dry_run: bool,
    ) -> PassResult:
        wanted = _by_target(document)
        fallback = _by_target(previous)
        targets = {*wanted, *((e.mechanism, e.device) for e in self._ledger.entries())}
        is_dry = dry_run or self._executor.dry_run
        left = {} if is_dry or self._last else self._left.take()
        enforced: list[Enforced] = []
        problems: list[str] = []
        is_changed, is_in_force = False, not is_dry
        for target in sorted(targets):
            nothing = Desired(device=target[1], spec=None, allocations=())
            desired = wanted.get(target, nothing)
            if is_dry:
                enforced += self._preview(target, desired)
                continue
            settled = self._settled_as(target, desired)
            former = self._last.get(target, fallback.get(target, nothing))
            if former == desired:
                desired = replace(desired, left=left.get(target, {}))
            attempt = self._attempt(target, desired, former, now_s)
            enforced += results(desired, attempt, settled)
            is_changed = is_changed or bool(attempt.made)
            if attempt.error is None:
                self._settle(target, desired, attempt.seen)
                continue
            is_in_force = False
            if not desired.allocations or self._settled_as(target, desired) is not None:
                self._settled.pop(target, None)
            if not desired.allocations:
                self._last.pop(target, None)
                problems.append(f"{target[1]} is not as it was found: {attempt.error}")
        return PassResult(
            enforced=tuple(enforced),
            problems=tuple(problems),
            is_changed=is_changed,
            is_in_force=is_in_force,
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

    def _settle(self, target: Target, desired: Desired, seen: Mapping[str, Seen]) -> None:
        settled = self._settled_as(target, desired)
        before = {} if settled is None else settled.things
        things = {key: one.thing for key, one in seen.items()}
        self._last[target] = desired
        self._settled[target] = Settled(desired=desired, things={**before, **things})

    def _settled_as(self, target: Target, desired: Desired) -> Settled | None:
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
        if desired.pools and POOL not in support.selectors:
            return _without_pools(target[0], desired), {}
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
            return all_failed(desired, str(error))
        return previews(desired, plan, seen)

    def _attempt(
        self, target: Target, desired: Desired, fallback: Desired, now_s: float
    ) -> Attempt:
        try:
            plan, seen = self._look(target, desired)
        except _OBSERVING_ERRORS as error:
            # Nothing was tried: what is in the way is looked at again in the next pass.
            return Attempt(plan=Plan(), made=(), seen={}, error=str(error))
        try:
            if plan.changes or self._ledger.of(*target):
                self._locks.hold(target, may_lack=not desired.allocations)
            if not plan.changes:
                self._executor.release(plan.restored)
                self._retries.succeeded(target)
                if not desired.allocations:
                    self._locks.release(target)
                return Attempt(plan=plan, made=(), seen=seen, error=None)
            waiting = self._retries.waiting(target, desired, now_s)
            if waiting is not None:
                return Attempt(plan=plan, made=(), seen=seen, error=waiting)
            attempt = self._apply(target, desired, plan)
        except _OBSERVING_ERRORS as error:
            attempt = Attempt(plan=Plan(), made=(), seen={}, error=str(error))
        if attempt.error is None:
            self._retries.succeeded(target)
            return attempt
        if attempt.made and desired.allocations and fallback != desired:
            # What cannot be put back whole stays so until the next attempt: its policy is over.
            attempt = self._go_back(target, fallback, attempt)
        self._retries.failed(target, desired, now_s, error=attempt.error or "")
        return attempt

    def _apply(self, target: Target, desired: Desired, plan: Plan) -> Attempt:
        execution = self._mechanisms[target[0]].apply(plan, self._executor)
        if execution.made:
            self._settled.pop(target, None)
        rest, seen = self._look(target, desired)
        error = execution.error
        if error is None and rest.changes:
            error = f"the kernel did not keep it: {rest.changes[0]}"
        if error is None:
            self._executor.release(rest.restored)
            if not desired.allocations:
                self._locks.release(target)
        return Attempt(plan=plan, made=execution.made, seen=seen, error=error)

    def _go_back(self, target: Target, fallback: Desired, failed: Attempt) -> Attempt:
        """After a failure midway: the device as the former policy wants it, or as found."""
        try:
            plan, _ = self._look(target, fallback)
            back = self._apply(target, fallback, plan)
            problem = back.error
            if problem is None:
                self._settle(target, fallback, back.seen)
        except _OBSERVING_ERRORS as error:
            problem = str(error)
        outcome = "put back as before" if problem is None else f"going back failed too: {problem}"
        return Attempt(
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
            pools = tuple(pool for pool in document.pools if pool.resource == spec.name)
            desired = Desired(device=spec.device, spec=spec, allocations=own, pools=pools)
            result[spec.mechanism, spec.device] = desired
    return result


def _without_pools(mechanism: str, desired: Desired) -> Plan:
    """Nothing is enforced: without its pool a workload could take what the pool holds back."""
    names = ", ".join(sorted(repr(pool.name) for pool in desired.pools))
    note = Note(outcome=Outcome.UNSUPPORTED, reason=f"{mechanism} holds no pools, such as {names}")
    return Plan(notes={item.id: note for item in desired.allocations})
