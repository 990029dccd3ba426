"""Whether an allocation of a policy is enforced on its host, why not, and what a person can do."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from advisor.core.compliance import Verdict
from advisor.history.policy_reports import BREACHES, REPORT_GRACE
from enforcers.contract import Outcome


class EnforcedState(StrEnum):
    """What is known of an allocation on its host, what needs care first.

    What was put right holds: the agent has set again what somebody else had changed.
    """

    FALLS_SHORT = "does not hold"
    PUT_RIGHT = "put right"
    SILENT = "silent"
    NO_AGENT = "no agent"
    WAITING = "waiting"
    DRY_RUN = "dry run"
    HOLDS = "holds"


class Agent(NamedTuple):
    """The agent of a host, as its row says it."""

    host: int
    lease_s: int
    dry_run: bool
    refusal: str
    held: int | None
    last_report_at: datetime | None


class Given(NamedTuple):
    """The newest document of a host: `policies` are the versions that it carries, by key.

    `left_out` has the reason of each resource, and workload on a resource, that is not sent.
    """

    revision: int
    published_at: datetime
    policies: frozenset[int]
    left_out: Mapping[str, str]


class Pass(NamedTuple):
    """What the newest report says of an allocation, as far as all are compared by it."""

    record: int
    policy: int | None
    reported_at: datetime
    outcome: str
    verdict: str
    is_applied: bool
    is_shown: bool

    @property
    def needs_words(self) -> bool:
        """Whether there is more to say of it than that all is as it should be."""
        return self.outcome not in _ORDINARY or self.verdict in BREACHES or not self.is_shown


class Words(NamedTuple):
    """What else that report says; `unlike` is what the kernel shows instead."""

    reason: str = ""
    controls: Mapping[str, Mapping[str, str]] | None = None
    verdict_reason: str = ""
    unlike: str = ""


class Standing(NamedTuple):
    """The state, its reason in a sentence without end, and one thing that a person can do."""

    state: EnforcedState
    reason: str = ""
    step: str = ""


_DOCTOR = "sluice-enforcer doctor, on the host, shows what it can enforce"
_END_DRY_RUN = "End the dry run in the configuration of the agent"
_ORDINARY = (Outcome.APPLIED, Outcome.UNCHANGED, Outcome.REPLACED)
_WHO_ELSE = "Find what else on the host writes these settings"
_STEPS = {
    Outcome.GUESSED_MODEL: "Measure the device: sluice-enforcer measure",
    Outcome.INEFFECTIVE: _DOCTOR,
    Outcome.UNSUPPORTED: _DOCTOR,
    Outcome.FAILED: "Read the log of sluice-enforcer on the host; it tries again by itself",
}
_BREACH_STEPS = {
    Verdict.LIMIT_EXCEEDED: "sluice-enforcer status, on the host, shows where the limit is set",
    Verdict.RESERVATION_UNMET: "See on the resource who takes the rest",
    Verdict.OVER_THROTTLED: "See on the resource who takes the rest",
}


def agent_standing(agent: Agent | None, *, now: datetime) -> Standing | None:
    """That of all allocations of a host by its agent alone; None if the agent reports."""
    if agent is None:
        return Standing(
            EnforcedState.NO_AGENT, "no agent is enrolled there", "Connect the agent of the host"
        )
    if agent.last_report_at is None:
        return Standing(
            EnforcedState.WAITING,
            "the agent is enrolled and has not reported yet",
            "Start sluice-enforcer on the host",
        )
    if now - agent.last_report_at > REPORT_GRACE:
        return Standing(
            EnforcedState.SILENT,
            "the agent does not report; without a new lease it restores what it found "
            f"after {agent.lease_s} s",
            "Check that sluice-enforcer runs on the host and reaches this service",
        )
    if agent.refusal:
        return _short(f"the agent refuses the newest policy: {agent.refusal}", _DOCTOR)
    return None


def holding_standing(agent: Agent, given: Given, *, now: datetime) -> Standing | None:
    """That of what stands in a document; None if the agent holds this document."""
    if agent.held is None or agent.held >= given.revision:
        return None
    reason = f"the agent holds revision {agent.held}, {given.revision} is published"
    if now - given.published_at <= REPORT_GRACE:
        return Standing(EnforcedState.WAITING, reason)
    return _short(reason, "Restart sluice-enforcer on the host; its log says why it lags")


def missing_standing(
    given: Given | None, *, resource: str, workload: str, cause: tuple[str, str] | None
) -> Standing:
    """That of what stands in no document; `cause` is a reason and a step, if one is known."""
    if given is not None:
        for what in (resource, f"{workload} on {resource}"):
            if what in given.left_out:
                return _short(given.left_out[what], _DOCTOR)
    if cause is not None:
        return _short(*cause)
    return Standing(EnforcedState.WAITING, "the host has not been given it yet")


def reported_standing(
    agent: Agent, policy: int, newest: Pass | None, words: Words, *, now: datetime
) -> Standing:
    """What the newest report says of an allocation by this version."""
    if newest is None or newest.policy != policy or now - newest.reported_at > REPORT_GRACE:
        reason = "the agent has not reported on this version yet"
        return Standing(EnforcedState.WAITING, reason)
    if agent.dry_run:
        return Standing(EnforcedState.DRY_RUN, "nothing is written", _END_DRY_RUN)
    if not newest.needs_words:
        return _HOLDS
    if newest.outcome in _STEPS:
        reason = words.reason or "the agent gave no reason"
        return _short(reason, _STEPS[Outcome(newest.outcome)])
    if not newest.is_applied:
        return _short(words.reason or "the agent has not applied it", _DOCTOR)
    if not newest.is_shown:
        return _short(words.unlike or "the kernel shows something else", _WHO_ELSE)
    if newest.outcome == Outcome.DRIFTED:
        reason = words.reason or "something else on the host wrote these settings"
        return Standing(EnforcedState.PUT_RIGHT, reason, _WHO_ELSE)
    if newest.outcome == Outcome.UNCHANGED:
        return _short(words.verdict_reason, _BREACH_STEPS[Verdict(newest.verdict)])
    return _HOLDS


_HOLDS = Standing(EnforcedState.HOLDS)


def _short(reason: str, step: str) -> Standing:
    return Standing(EnforcedState.FALLS_SHORT, reason, step)
