"""The states of an approved policy, the stages in which hosts get it, and when the next begins."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from advisor.core.duration import duration_text
from advisor.core.enumeration import listed
from advisor.core.rollout_guard import Guarded, GuardVerdict

FIRST_STAGE_HOSTS = 1
SECOND_STAGE_RATIO = 1 / 4


class PolicyStage(StrEnum):
    """What became of an approved policy."""

    ROLLING_OUT = "rolling_out"
    IN_FORCE = "in_force"
    VERIFIED = "verified"
    INEFFECTIVE = "ineffective"
    ROLLED_BACK = "rolled_back"
    SUPERSEDED = "superseded"

    @property
    def words(self) -> str:
        """As people read it."""
        return self.value.replace("_", " ")

    @property
    def is_over(self) -> bool:
        """Whether nothing follows: another version holds."""
        return self in (PolicyStage.ROLLED_BACK, PolicyStage.SUPERSEDED)


class Step(StrEnum):
    WAIT = "wait"
    GO_ON = "go on"
    ROLL_BACK = "roll back"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How long a stage lasts at least, and when it is too long.

    `goes_on_unsure`: after the longest time it goes on though too little is known.
    """

    stage_s: float
    longest_s: float
    goes_on_unsure: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Next:
    """What happens to a stage now, with the reason."""

    step: Step
    reason: str


def stage_sizes(hosts: int) -> tuple[int, ...]:
    """How many hosts have the policy in each stage: one, a quarter of the others too, all."""
    if hosts <= FIRST_STAGE_HOSTS:
        return (hosts,)
    second = FIRST_STAGE_HOSTS + math.ceil((hosts - FIRST_STAGE_HOSTS) * SECOND_STAGE_RATIO)
    return tuple(dict.fromkeys((FIRST_STAGE_HOSTS, second, hosts)))


def next_step(guards: Sequence[Guarded], *, lasted_s: float, pace: Pace, is_last: bool) -> Next:
    """What to do with a stage that all its hosts have had in force for so long.

    To go on from the last one is to end its guard.
    """
    if harmed := [one for one in guards if one.verdict is GuardVerdict.HARM]:
        return Next(step=Step.ROLL_BACK, reason=listed(map(harm_text, harmed)))
    if lasted_s < pace.stage_s:
        left = duration_text(timedelta(seconds=pace.stage_s - lasted_s))
        return Next(step=Step.WAIT, reason=f"the stage lasts another {left}")
    measured = [one for one in guards if one.verdict is not GuardVerdict.UNMEASURED]
    unsure = [one.guard for one in measured if one.verdict is GuardVerdict.OPEN]
    if measured and not unsure:
        return Next(step=Step.GO_ON, reason=f"no harm to {listed(one.guard for one in measured)}")
    lacking = (
        f"too little is known yet of {listed(unsure)}" if measured else "nothing of it is measured"
    )
    if lasted_s < pace.longest_s:
        return Next(step=Step.WAIT, reason=lacking)
    longest = duration_text(timedelta(seconds=pace.longest_s))
    if pace.goes_on_unsure or is_last:
        return Next(step=Step.GO_ON, reason=f"{lacking}, and {longest} are over")
    return Next(step=Step.WAIT, reason=f"{lacking} after {longest}: somebody has to decide")


def harm_text(guarded: Guarded) -> str:
    """What was harmed and by how much, for people."""
    worse, low, high = (100 * (one or 0.0) for one in (guarded.worse, guarded.low, guarded.high))
    return (
        f"{guarded.guard} is {worse:.0f} % worse (between {low:.0f} and {high:.0f} %) "
        f"against {guarded.against}"
    )
