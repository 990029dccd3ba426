"""A host's part of a datastore that several hosts share, as a budget of I/Os per second. Pure.

For hosts that hold a rate and no window. What each tells and hears is that of the window loop
(`enforcers.exchange`): from the sums all hosts derive the same capacity
(`enforcers.joint_capacity`) and divide it alike. A workload has `iops_per_share` for each of its
shares, less if it asks for less, and more if its reservation is more. It counts periods and
reads no clock, so that a clock that is set changes nothing.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from enforcers.exchange import KEPT_PERIODS, DatastoreLoad, HostPart
from enforcers.joint_capacity import (
    DRAIN_PERIODS,
    Capacity,
    CapacityLaw,
    Seen,
    next_capacity,
)

ROOM_RATIO = 1.1
"""What content workloads may take at once, of what they took: others hear of it a period later."""
FLOOR_RATIO = 0.03
"""Of a host's part by the policy, while it is idle: what it comes back with."""
LEAST_IOPS = 10.0
"""With less a request would wait for longer than a period of iocost."""
JOIN_PERIODS = 1
"""What was there before the hosts had their parts says little of what they do with them."""
LOWERED_RATIO = 0.97
"""Of what a host takes the datastore for: another one lowered it, and is not a step behind."""
STEEPEST_FALL = 4.0
"""Of what each share gives in a period, where reservations do not say how far it may fall."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RateDemand:
    """A workload, in I/Os per second; `asked` is what it did, infinite if it waited for more.

    Without shares it is the host's own I/O, which no budget holds back.
    """

    shares: float
    asked: float
    reserved: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RatePeriod:
    """What a host counted; shares and reservations are of all its workloads, idle ones too.

    It completed `done_iops` a second. The latency is that of the device, None without I/O.
    """

    ios: int
    done_iops: float
    mean_device_latency_ms: float | None
    outstanding_io: float
    shares: float
    reserved_iops: float
    demands: tuple[RateDemand, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class JointState:
    """`budget_iops` None: the datastore is this host's alone, as far as it knows.

    `capacity` is that of all hosts, by sums that all heard; `alone` that of this host by itself,
    while it hears nothing. `target_iops` is what the last answer gave it: a host takes more only
    if two answers give it, so that the others have heard of it before. `iops_per_share` None:
    nobody has wanted any yet.
    """

    budget_iops: float | None = None
    capacity: Capacity | None = None
    alone: Capacity | None = None
    target_iops: float | None = None
    iops_per_share: float | None = None
    heard: DatastoreLoad | None = None
    periods_since: int = 0

    @property
    def threshold_ms(self) -> float | None:
        """The datastore's, as far as it is known."""
        return None if self.heard is None else self.heard.threshold_ms


def is_in_vain(state: JointState, *, stated_iops: float) -> bool:
    """Whether the latency is above the threshold though all hosts hold back as far as they may."""
    heard, threshold_ms = state.heard, state.threshold_ms
    if heard is None or heard.latency_ms is None or not threshold_ms or state.capacity is None:
        return False
    law = CapacityLaw(stated_iops=stated_iops, threshold_ms=threshold_ms)
    return heard.latency_ms > threshold_ms and state.capacity.iops <= law.lowest_iops


def part_alone(state: JointState, *, shares: float, stated_iops: float) -> float:
    """What the policy gives a host with so many shares; all of it where it never heard another."""
    by_policy = 1.0 if state.heard is None else _by_policy(shares, state.heard)
    return max(by_policy, FLOOR_RATIO) * stated_iops


def part_of(state: JointState, period: RatePeriod) -> HostPart:
    """What the host tells the others."""
    active_shares, met = _claim(period.demands, state.iops_per_share)
    latency_ms = period.mean_device_latency_ms
    return HostPart(
        ios=period.ios,
        mean_device_latency_ms=latency_ms,
        outstanding_io=period.outstanding_io,
        active_shares=active_shares,
        met_io=met * (latency_ms or 0.0) / 1000,
        done_iops=period.done_iops,
        met_iops=met,
        shares=period.shares,
        reserved_iops=period.reserved_iops,
        capacity_iops=None
        if state.capacity is None or _is_by_itself(state)
        else state.capacity.iops,
    )


def after_period(
    state: JointState, period: RatePeriod, answer: DatastoreLoad | None, *, stated_iops: float
) -> JointState:
    """The state of the next period; an answer of None means that the service gave none.

    Then the last one counts for three periods, then the latency that the host itself sees; a
    host that sees none either takes its part by the policy. A datastore of which no answer ever
    named another host, or any threshold, is left as it is.
    """
    if answer is not None:
        return _by_answer(state, period, answer, stated_iops)
    since = state.periods_since + 1
    if state.heard is None or state.budget_iops is None:
        return replace(state, periods_since=since)
    state = replace(state, periods_since=since)
    return _by_itself(state, period, stated_iops) if _is_by_itself(state) else state


def _by_answer(
    state: JointState, period: RatePeriod, load: DatastoreLoad, stated_iops: float
) -> JointState:
    is_known = load.threshold_ms is not None and load.threshold_ms > 0
    is_shared = load.hosts > 1 or state.budget_iops is not None
    if not is_known or not is_shared:
        return JointState(heard=load)
    law = CapacityLaw(stated_iops=stated_iops, threshold_ms=load.threshold_ms or 0.0)
    capacity = _joint(state, load, law)
    per_share = _next_per_share(state.iops_per_share, load, capacity.iops)
    target = _due(period, load, capacity.iops, per_share)
    before = next(
        (known for known in (state.target_iops, state.budget_iops) if known is not None), target
    )
    return replace(
        state,
        heard=load,
        periods_since=0,
        budget_iops=min(target, before),
        capacity=capacity,
        alone=None,
        target_iops=target,
        iops_per_share=per_share,
    )


def _joint(state: JointState, load: DatastoreLoad, law: CapacityLaw) -> Capacity:
    """One step from the least that any host takes it for; a host that comes takes theirs.

    So one that has to lower it lowers it for all, and the others wait with it until that shows.
    While hosts come or go the sums are not of all, and it stays.
    """
    least = None if load.capacity_iops is None else law.bounded(load.capacity_iops)
    own = state.capacity
    is_late = load.latency_ms is not None and load.latency_ms > law.threshold_ms
    if own is None or _is_by_itself(state):
        known = law.stated_iops if own is None else own.iops
        return _joined(known if least is None else least, load, law, is_late=is_late)
    # The hosts' periods end at different times: while one takes much from another, the sum has
    # the loss of this one before the gain of that one. So a fall goes by the larger of two sums.
    before = load if state.heard is None else state.heard
    done_iops = max(load.done_iops, before.done_iops)
    if is_late and least is not None and least < LOWERED_RATIO * own.iops:
        return Capacity(iops=least, drain_periods=DRAIN_PERIODS, fell_from=done_iops)
    if own.join_periods > 0 and not is_late:
        return replace(own, join_periods=own.join_periods - 1)
    own = replace(own, iops=own.iops if least is None else least)
    if load.hosts > before.hosts:
        return _joined(own.iops, load, law, is_late=is_late)
    if load.hosts < before.hosts:
        return own
    seen = Seen(
        done_iops=done_iops if is_late else load.done_iops,
        latency_ms=load.latency_ms,
        is_wanted=load.total_active_shares > 0,
    )
    return next_capacity(own, seen, law=law)


def _joined(iops: float, load: DatastoreLoad, law: CapacityLaw, *, is_late: bool) -> Capacity:
    """Where hosts come together: at least what they do now, if it is not late.

    Who hears nothing of a host takes what that one leaves for the capacity. What is stated is the
    bound: sums of different times may have the same I/O twice. It stands until all have heard.
    """
    if not is_late:
        iops = max(iops, min(load.done_iops, law.stated_iops))
    return Capacity(iops=iops, drain_periods=JOIN_PERIODS, join_periods=JOIN_PERIODS)


def _is_by_itself(state: JointState) -> bool:
    """Whether the last answer is so old that the host goes on alone; the others may know more."""
    return state.periods_since > KEPT_PERIODS


def _next_per_share(held: float | None, load: DatastoreLoad, capacity: float) -> float | None:
    """What is left beside content workloads, for each share of those who want more.

    Not less than what would be left if everybody wanted more: who was content with much until now
    may want it still, and says so a period later.
    """
    if load.total_active_shares <= 0:
        return held
    found = (capacity - load.met_iops) / load.total_active_shares
    everybody = max(load.total_shares, load.total_active_shares)
    least = max(0.0, capacity - load.reserved_iops) / everybody
    if load.reserved_iops > 0 and held is not None:
        least = max(least, min(held / STEEPEST_FALL, capacity / everybody))
    return max(found, least)


def _due(
    period: RatePeriod, load: DatastoreLoad, capacity: float, per_share: float | None
) -> float:
    """The host's part of the capacity; while nobody wants more, with a part of what is free.

    Never more than the whole, whatever the sums say: they come with no signature.
    """
    by_policy = _by_policy(period.shares, load)
    floor = max(FLOOR_RATIO * by_policy * capacity, LEAST_IOPS)
    if load.total_active_shares > 0:
        given = math.fsum(
            min(_entitled(each, per_share or 0.0), ROOM_RATIO * each.asked)
            for each in period.demands
        )
        return max(min(given, max(capacity, period.reserved_iops)), floor)
    free = max(0.0, capacity - load.done_iops)
    given = min(period.done_iops + free * by_policy, max(capacity, period.done_iops))
    promised = math.fsum(each.reserved for each in period.demands if math.isinf(each.asked))
    return max(given, promised, floor)


def _by_policy(shares: float, load: DatastoreLoad) -> float:
    """The host's part of all shares."""
    if load.total_shares > 0:
        return min(shares / load.total_shares, 1.0)
    return 1 / max(load.hosts, 1)


def _by_itself(state: JointState, period: RatePeriod, stated_iops: float) -> JointState:
    """By the latency that the host itself sees, from the budget that it had; or its part."""
    heard, threshold_ms = state.heard, state.threshold_ms
    if heard is None or threshold_ms is None:
        return state
    part_iops = part_alone(state, shares=period.shares, stated_iops=stated_iops)
    if period.mean_device_latency_ms is None:
        return replace(
            state, budget_iops=part_iops, alone=Capacity(iops=part_iops), target_iops=None
        )
    law = CapacityLaw(stated_iops=part_iops, threshold_ms=threshold_ms)
    now = state.alone or Capacity(iops=state.budget_iops or part_iops)
    seen = Seen(
        done_iops=period.done_iops,
        latency_ms=period.mean_device_latency_ms,
        is_wanted=any(math.isinf(each.asked) for each in period.demands),
    )
    alone = next_capacity(now, seen, law=law)
    return replace(state, budget_iops=alone.iops, alone=alone, target_iops=None)


def _claim(demands: Sequence[RateDemand], per_share: float | None) -> tuple[float, float]:
    """Shares of the workloads that want more, and the I/Os per second that content ones take."""
    own = math.fsum(each.asked for each in demands if each.shares == 0)
    asking = [each for each in demands if each.asked > 0 and each.shares > 0]
    if per_share is None:
        return math.fsum(each.shares for each in asking), own
    wanting = [each for each in asking if _wants(each, per_share)]
    content = [each for each in asking if not _wants(each, per_share)]
    met = math.fsum(min(_entitled(each, per_share), each.asked) for each in content)
    return math.fsum(each.shares for each in wanting), own + met


def _entitled(each: RateDemand, per_share: float) -> float:
    """What a workload may have, whatever it asks for."""
    if each.shares == 0:
        return each.asked
    return max(each.shares * per_share, each.reserved)


def _wants(each: RateDemand, per_share: float) -> bool:
    """Whether more for each share would give it more at once."""
    return each.asked > each.shares * per_share > each.reserved
