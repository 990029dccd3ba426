"""What this host may do on a datastore that others use too, from what all of them tell.

Counts each period, has it told, and takes the answer when it comes; waits for nothing.
"""

import logging
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from enforcers.contract import Allocation
from enforcers.exchange import KEPT_PERIODS, PERIOD_S
from enforcers.following import PERIOD_S as FOLLOWED_S
from enforcers.host_fs import HostFs
from enforcers.joint_loop import (
    JointState,
    RateDemand,
    RatePeriod,
    after_period,
    is_in_vain,
    part_alone,
    part_of,
)
from enforcers.joint_post import Loads
from enforcers.mechanisms.cgroup_io.controls import claim_of
from enforcers.mechanisms.cgroup_io.counts import Count, Did, DiskCount, did, disk_count

log = logging.getLogger(__name__)

UNSHARED_PERIOD_S = 60.0
"""Of a datastore that no other host uses, as the service says: somebody may join."""
# It is looked at each half second, which is never the same to a millisecond.
_SLACK_S = FOLLOWED_S / 2
_ACTIVE_RATE = 1.0
# Of I/O beside the workloads', what the two readings differ by.
_NOISE_RATIO = 0.03


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The host's part of a shared datastore, and the latency that the datastore shall have.

    `threshold_ms` None: nobody has said it to this agent yet.
    """

    budget_iops: float
    threshold_ms: float | None


class JointBudget:
    """One device, by the name that its datastore has in the policy.

    `resumed_iops` is what an agent before this one let the host do: its part until the first
    answer, or until none has come for as long as an answer counts.
    """

    def __init__(
        self,
        host_fs: HostFs,
        post: Loads,
        *,
        resource: str,
        stated_iops: float,
        resumed_iops: float | None = None,
    ) -> None:
        self.resource, self.stated_iops = resource, stated_iops
        self._resumed_iops = resumed_iops
        self._host_fs, self._post = host_fs, post
        self._state = JointState()
        self._told: RatePeriod | None = None
        self._disk: DiskCount | None = None
        self._counts: dict[str, Count] = {}
        self._counted_s = -math.inf
        self._is_in_vain = False

    @property
    def part(self) -> Part | None:
        """None: no other host uses the datastore, as far as this one knows."""
        if self._resumed_iops is not None:
            return Part(budget_iops=self._resumed_iops, threshold_ms=None)
        budget, threshold_ms = self._state.budget_iops, self._state.threshold_ms
        if budget is None or threshold_ms is None:
            return None
        return Part(budget_iops=budget, threshold_ms=threshold_ms)

    def part_by_policy(self, items: Sequence[Allocation]) -> float:
        """What the host has of the datastore where nobody hears of it."""
        shares = float(sum(item.shares for item in items))
        return part_alone(self._state, shares=shares, stated_iops=self.stated_iops)

    def follow(
        self,
        number: str,
        items: tuple[Allocation, ...],
        read: Callable[[str], Count | None],
        clock_s: Callable[[], float],
    ) -> None:
        """Part of a period: take what came, and once a whole one is over, have it told.

        `read` counts a group; a device that cannot be read is not told of.
        """
        self._hear()
        now_s = clock_s()
        if now_s < self._counted_s + self._period_s - _SLACK_S:
            return
        self._counted_s = now_s
        period = self._counted(number, items, read, clock_s)
        if period is None:
            self._told = None
            return
        if self._told is not None:
            self._state = after_period(self._state, period, None, stated_iops=self.stated_iops)
            if self._state.periods_since > KEPT_PERIODS:
                self._resumed_iops = None
        self._told = period
        self._post.put(self.resource, part_of(self._state, period))

    def _hear(self) -> None:
        answer = self._post.take_answer(self.resource)
        if answer is None or self._told is None:
            return
        was_alone = self._state.budget_iops is None
        if self._resumed_iops is not None and answer.hosts > 1:
            # It takes more only once the others have heard of it.
            self._state = replace(self._state, budget_iops=self._resumed_iops)
        self._resumed_iops = None
        self._state = after_period(self._state, self._told, answer, stated_iops=self.stated_iops)
        self._told = None
        if was_alone and self._state.budget_iops is not None:
            log.info(
                "datastore divided with other hosts",
                extra={"resource": self.resource, "hosts": answer.hosts},
            )
        was_in_vain = self._is_in_vain
        self._is_in_vain = is_in_vain(self._state, stated_iops=self.stated_iops)
        if self._is_in_vain and not was_in_vain:
            log.warning(
                "datastore late whatever hosts hold back",
                extra={
                    "resource": self.resource,
                    "latency_ms": round(answer.latency_ms or 0.0, 1),
                    "threshold_ms": answer.threshold_ms,
                },
            )

    @property
    def _period_s(self) -> float:
        heard = self._state.heard
        is_alone = heard is not None and not heard.is_shared and heard.hosts < 2
        return UNSHARED_PERIOD_S if is_alone else PERIOD_S

    def _counted(
        self,
        number: str,
        items: tuple[Allocation, ...],
        read: Callable[[str], Count | None],
        clock_s: Callable[[], float],
    ) -> RatePeriod | None:
        """What was done since the last time; None if that cannot be told."""
        text = self._host_fs.read_or_none(f"/sys/dev/block/{number}/stat")
        disk = None if text is None else disk_count(text, clock_s())
        before, self._disk = self._disk, disk
        done = self._done({item.selector.value: read(item.selector.value) for item in items})
        if disk is None or before is None:
            return None
        elapsed_s, ios = disk.at_s - before.at_s, disk.ios - before.ios
        queued_ms = disk.queued_ms - before.queued_ms
        if elapsed_s <= 0 or min(ios, queued_ms) < 0:
            return None
        latency_ms = queued_ms / ios if ios > 0 else None
        demands = self._demands(items, done, latency_ms)
        rest = ios / elapsed_s - math.fsum(one.rate for one in done.values())
        if rest > _NOISE_RATIO * ios / elapsed_s:
            demands.append(RateDemand(shares=0.0, asked=rest))
        return RatePeriod(
            ios=ios,
            done_iops=ios / elapsed_s,
            mean_device_latency_ms=latency_ms,
            outstanding_io=queued_ms / 1000 / elapsed_s,
            shares=float(sum(item.shares for item in items)),
            reserved_iops=math.fsum(claim_of(item).reservation for item in items),
            demands=tuple(demands),
        )

    def _done(self, counts: Mapping[str, Count | None]) -> dict[str, Did]:
        """What each group did since the last time; new ones and gone ones are left out."""
        known = {group: count for group, count in counts.items() if count is not None}
        before, self._counts = self._counts, known
        found = {
            group: did(before.get(group), count, period_s=math.inf)
            for group, count in known.items()
        }
        return {group: one for group, one in found.items() if one is not None}

    def _demands(
        self, items: tuple[Allocation, ...], done: Mapping[str, Did], latency_ms: float | None
    ) -> list[RateDemand]:
        """Where the datastore is late nobody waits in iocost, and who is at work may want more."""
        threshold_ms = self._state.threshold_ms
        is_late = latency_ms is not None and threshold_ms is not None and latency_ms > threshold_ms
        demands = []
        for item in items:
            one = done.get(item.selector.value)
            if one is None:
                continue
            wants = one.waits or (is_late and one.rate > _ACTIVE_RATE)
            claim = claim_of(item)
            asked = min(math.inf if wants else one.rate, claim.most)
            demands.append(
                RateDemand(shares=float(item.shares), asked=asked, reserved=claim.reservation)
            )
        return demands
