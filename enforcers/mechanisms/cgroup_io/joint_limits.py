"""This host's parts of limits that it holds together with other hosts.

Counts each period, has it told, and takes the answer when it comes; waits for nothing.
"""

import logging
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from enforcers.exchange import KEPT_PERIODS, PERIOD_S
from enforcers.following import PERIOD_S as FOLLOWED_S
from enforcers.joint_post import Limits
from enforcers.limit_exchange import LimitsGranted, LimitUse
from enforcers.mechanisms.cgroup_io.pooled_limit import SLICES_PER_S

log = logging.getLogger(__name__)

# It is looked at each half second, which is never the same to a millisecond.
_SLACK_S = FOLLOWED_S / 2
_FULL_RATIO = 0.95
# Of a part of less than two I/Os per slice the kernel lets through about two thirds.
_SMALL_PART, _FULL_RATIO_OF_SMALL = 2 * SLICES_PER_S, 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """A workload's part now, `own` by the policy, and what it was let do and did in the period.

    `claimed` is what the others have been told of.
    """

    own: float
    now: float
    claimed: float
    let: float = 0.0
    done: float = 0.0
    elapsed_s: float = 0.0
    held_s: float = 0.0

    def use_of(self, workload: str) -> LimitUse:
        """What is told of it."""
        is_full = (
            self.done >= _full_ratio(self.now) * self.let or 2 * self.held_s >= self.elapsed_s
        )
        return LimitUse(
            workload=workload,
            own=self.own,
            claimed=self.claimed,
            rate=self.done / self.elapsed_s if self.elapsed_s > 0 else 0.0,
            is_held=self.elapsed_s > 0 and is_full,
        )

    def granted(self, part: float) -> "_Part":
        """No more than the others know of; what is more is claimed first."""
        return replace(self, now=min(part, self.claimed), claimed=part)

    def in_next_period(self) -> "_Part":
        """With nothing counted yet."""
        return _Part(own=self.own, now=self.now, claimed=self.claimed)


class JointLimits:
    """The joint limits of one resource, by workload; each begins with the part by the policy."""

    def __init__(self, post: Limits, *, resource: str) -> None:
        self.resource = resource
        self._post = post
        self._parts: dict[str, _Part] = {}
        self._told: tuple[LimitUse, ...] = ()
        self._is_answered = self._may_tell_again = True
        self._periods_since = 0
        self._counted_s = -math.inf

    def renew(self, own: Mapping[str, float]) -> None:
        """Go on with these, which a policy gives this host."""
        known = self._parts
        self._parts = {
            workload: known[workload]
            if workload in known and known[workload].own == part
            else _Part(own=part, now=part, claimed=part)
            for workload, part in own.items()
        }

    def part(self, workload: str) -> float | None:
        """What the workload may do here now; None if it has no joint limit."""
        known = self._parts.get(workload)
        return None if known is None else known.now

    def take(self, workload: str, *, rate: float, elapsed_s: float) -> None:
        """What it did since the last time."""
        known = self._parts.get(workload)
        if known is None:
            return
        is_held = rate >= _full_ratio(known.now) * known.now
        self._parts[workload] = replace(
            known,
            let=known.let + known.now * elapsed_s,
            done=known.done + rate * elapsed_s,
            elapsed_s=known.elapsed_s + elapsed_s,
            held_s=known.held_s + (elapsed_s if is_held else 0.0),
        )

    def follow(self, now_s: float) -> None:
        """Part of a period: take what came, and once a whole one is over, have it told."""
        answer = self._post.take_answer(self.resource)
        if answer is not None:
            self._hear(answer)
        if now_s < self._counted_s + PERIOD_S - _SLACK_S:
            return
        self._counted_s = now_s
        self._note_silence()
        uses = tuple(part.use_of(workload) for workload, part in sorted(self._parts.items()))
        self._parts = {workload: part.in_next_period() for workload, part in self._parts.items()}
        self._tell(uses)
        self._may_tell_again = True

    def _tell(self, uses: tuple[LimitUse, ...]) -> None:
        self._told, self._is_answered = uses, not uses
        if uses:
            self._post.put(self.resource, uses)

    def _hear(self, answer: LimitsGranted) -> None:
        """Take the parts; what is claimed by another measure is told at once, others wait."""
        if self._periods_since >= KEPT_PERIODS:
            log.info("limits divided by demand again", extra={"resource": self.resource})
        self._is_answered, self._periods_since = True, 0
        for grant in answer.limits:
            if (known := self._parts.get(grant.workload)) is not None:
                self._parts[grant.workload] = known.granted(grant.part)
        claims = {workload: part.claimed for workload, part in self._parts.items()}
        told = tuple(
            replace(use, claimed=claims.get(use.workload, use.claimed)) for use in self._told
        )
        if told != self._told and self._may_tell_again:
            self._may_tell_again = False
            self._tell(told)

    def _note_silence(self) -> None:
        """Without an answer for as long as others count what this host told, each has its own."""
        if self._is_answered:
            return
        self._periods_since += 1
        if self._periods_since == KEPT_PERIODS:
            log.info("limits divided by the policy", extra={"resource": self.resource})
        if self._periods_since >= KEPT_PERIODS:
            self._parts = {
                workload: replace(part, now=part.own, claimed=part.own)
                for workload, part in self._parts.items()
            }


def _full_ratio(part: float) -> float:
    return _FULL_RATIO if part >= _SMALL_PART else _FULL_RATIO_OF_SMALL
