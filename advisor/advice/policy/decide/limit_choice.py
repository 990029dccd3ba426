"""Limits that the past week justifies, and why others are not recommended."""

from collections.abc import Sequence
from dataclasses import dataclass

from advisor.advice.policy.decide.candidate import Policy, Setting, in_force, with_limits
from advisor.advice.policy.decide.policy_inputs import AdviceAllocation
from advisor.core.enumeration import listed
from advisor.core.explanation.answer import Alternative
from advisor.core.forecast.counterfactual import PlayedAllocation
from advisor.core.forecast.limit_judgement import judge_limits


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitChoice:
    """The policy with its limits, and what justifies them; None where none may be recommended."""

    policy: Policy
    justification: str | None
    refused: tuple[Alternative, ...]


def choose_limits(setting: Setting, policy: Policy) -> LimitChoice:
    """Limits on aggressors, without those that would throttle too long, if others gain by them."""
    allocations = setting.inputs.allocations
    candidate, limited = with_limits(setting, policy)
    places = [place for place, allocation in enumerate(allocations) if allocation in limited]
    refused: list[Alternative] = []
    justification = None
    while places:
        verdict = judge_limits(
            played_allocations(allocations),
            setting.inputs.past,
            places,
            mode=setting.inputs.mode,
            before=in_force(setting.inputs),
            after=_only(policy, candidate, places),
            pools_before=setting.pools_before,
            pools_after=setting.pools_after,
        )
        if verdict.allowed:
            justification = verdict.reason
            break
        dropped = [place for place in places if place in verdict.throttled] or places
        names = listed(allocations[place].workload for place in dropped)
        refused.append(Alternative(name=f"limit {names}", reason=verdict.reason))
        places = [place for place in places if place not in dropped]
    return LimitChoice(
        policy=_only(policy, candidate, places),
        justification=justification,
        refused=tuple(refused),
    )


def _only(policy: Policy, limited: Policy, places: Sequence[int]) -> Policy:
    """The policy with the limits of the allocations at these places."""
    return tuple(
        limited[place] if place in places else grant for place, grant in enumerate(policy)
    )


def played_allocations(allocations: Sequence[AdviceAllocation]) -> list[PlayedAllocation]:
    """The allocations as the past is played for them."""
    return [
        PlayedAllocation(allocation=one.allocation, workload=one.workload, host=one.host)
        for one in allocations
    ]
