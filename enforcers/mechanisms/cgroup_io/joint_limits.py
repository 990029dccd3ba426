"""This host's parts of limits that it holds together with other hosts.

Counts each period, has it told, and takes the answer when it comes; waits for nothing. Without
answers it gives back what it borrowed before the service may give it to others, and takes back
what it lent once they must have given it back.
"""

import logging
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from enforcers.exchange import PERIOD_S
from enforcers.following import PERIOD_S as FOLLOWED_S
from enforcers.joint_post import Limits
from enforcers.limit_exchange import BORROWED_S, LENT_S, LimitsGranted, LimitUse
from enforcers.mechanisms.cgroup_io.pooled_limit import SLICES_PER_S

log = logging.getLogger(__name__)

# It is looked at each half second, which is never the same to a millisecond.
_SLACK_S = FOLLOWED_S / 2
_FULL_RATIO = 0.95
# Of a part of less than two I/Os per slice the kernel lets through about two thirds.
_SMALL_PART, _FULL_RATIO_OF_SMALL = 2 * SLICES_PER_S, 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated:
    """What a policy says of a limit: the host's `own` part, and the `limit` over all hosts.

    `standing` is what stands in the kernel from before; None if nothing does.
    """

    own: float
    limit: float
    standing: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """A workload's part now, and what it was let do and did in the period.

    `claimed` is what the others have been told of.
    """

    stated: Stated
    now: float
    claimed: float
    let: float = 0.0
    done: float = 0.0
    elapsed_s: float = 0.0
    held_s: float = 0.0

    @property
    def is_lent(self) -> bool:
        """Whether others may have some of what the policy gives this host."""
        return self.now < self.stated.own

    def use_of(self, workload: str) -> LimitUse:
        """What is told of it."""
        is_full = (
            self.done >= _full_ratio(self.now) * self.let or 2 * self.held_s >= self.elapsed_s
        )
        return LimitUse(
            workload=workload,
            own=self.stated.own,
            claimed=self.claimed,
            rate=self.done / self.elapsed_s if self.elapsed_s > 0 else 0.0,
            is_held=self.elapsed_s > 0 and is_full,
        )

    def granted(self, part: float) -> "_Part":
        """No more than the others know of; what is more is claimed first.

        The answer is not signed, and the policy is: no more than the limit over all hosts.
        """
        part = min(part, self.stated.limit)
        return replace(self, now=min(part, self.claimed), claimed=part)

    def alone(self) -> "_Part":
        """What was borrowed is given back. All of its own is claimed, and not yet taken."""
        own = self.stated.own
        return replace(self, now=min(self.now, own), claimed=own)

    def taken_back(self) -> "_Part":
        """The part by the policy."""
        return replace(self, now=self.stated.own, claimed=self.stated.own)

    def in_next_period(self) -> "_Part":
        """With nothing counted yet."""
        return _Part(stated=self.stated, now=self.now, claimed=self.claimed)


class JointLimits:
    """The joint limits of one resource, by workload.

    Each begins with the part by the policy, or with what stands of it in the kernel if that is
    less: others may have the rest. It begins alone, and is so until it hears the others, and
    again without an answer for `BORROWED_S`.
    """

    def __init__(self, post: Limits, *, resource: str) -> None:
        self.resource = resource
        self._post = post
        self._parts: dict[str, _Part] = {}
        self._told: tuple[LimitUse, ...] = ()
        self._may_tell_again = True
        self._told_s = self._counted_s = -math.inf
        self._heard_s: float | None = None
        self._alone_s: float | None = None

    def renew(self, stated: Mapping[str, Stated]) -> None:
        """Go on with these, which a policy gives this host."""
        self._parts = {workload: self._renewed(workload, one) for workload, one in stated.items()}

    def _renewed(self, workload: str, stated: Stated) -> _Part:
        known = self._parts.get(workload)
        if known is not None and _is_same(known.stated, stated):
            return known
        before = stated.standing if known is None else known.now
        now = stated.own if before is None else min(before, stated.own)
        new = _Part(stated=stated, now=now, claimed=now)
        if not self._is_alone:
            return new
        if new.is_lent:
            # Who borrowed it may not have heard of this policy yet.
            self._alone_s = None
        return new.alone()

    @property
    def _is_alone(self) -> bool:
        return self._heard_s is None

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
        if not self._parts:
            # Who comes back to a limit begins anew.
            self._heard_s = self._alone_s = None
            return
        answer = self._post.take_answer(self.resource)
        if answer is not None:
            self._hear(answer, now_s)
        self._note_silence(now_s)
        if now_s < self._counted_s + PERIOD_S - _SLACK_S:
            return
        self._counted_s = now_s
        uses = tuple(part.use_of(workload) for workload, part in sorted(self._parts.items()))
        self._parts = {workload: part.in_next_period() for workload, part in self._parts.items()}
        self._tell(uses, now_s)
        self._may_tell_again = True

    def _tell(self, uses: tuple[LimitUse, ...], now_s: float) -> None:
        self._told, self._told_s = uses, now_s
        self._post.put(self.resource, uses)

    def _hear(self, answer: LimitsGranted, now_s: float) -> None:
        """Take the parts; what is claimed by another measure is told at once, others wait."""
        parts = {grant.workload: grant.part for grant in answer.limits}
        if self._is_alone:
            log.info("limits divided by demand", extra={"resource": self.resource})
        self._heard_s = self._told_s
        self._parts = {
            workload: part.granted(parts[workload]) if workload in parts else part.alone()
            for workload, part in self._parts.items()
        }
        claims = {workload: part.claimed for workload, part in self._parts.items()}
        told = tuple(
            replace(use, claimed=claims.get(use.workload, use.claimed)) for use in self._told
        )
        if told != self._told and self._may_tell_again:
            self._may_tell_again = False
            self._tell(told, now_s)

    def _note_silence(self, now_s: float) -> None:
        """Give back in time what was borrowed, and take back in time what was lent."""
        if self._heard_s is not None and now_s >= self._heard_s + BORROWED_S:
            log.info("limits divided by the policy", extra={"resource": self.resource})
            self._heard_s, self._alone_s = None, now_s
            self._parts = {workload: part.alone() for workload, part in self._parts.items()}
        if not self._is_alone:
            return
        if self._alone_s is None:
            self._alone_s = now_s
        if now_s >= self._alone_s + LENT_S:
            self._parts = {workload: part.taken_back() for workload, part in self._parts.items()}


def _is_same(one: Stated, other: Stated) -> bool:
    return (one.own, one.limit) == (other.own, other.limit)


def _full_ratio(part: float) -> float:
    return _FULL_RATIO if part >= _SMALL_PART else _FULL_RATIO_OF_SMALL
