"""Hosts under one limit and the service, while messages are lost or late and agents start again.

The agents' own law and the service's; the clock goes by quarters of a second.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from enforcers.exchange import KEPT_PERIODS, PERIOD_S
from enforcers.joint_post import Letter, Post
from enforcers.limit_exchange import BORROWED_S, LENT_S, LimitGrant, LimitsGranted, LimitUse
from enforcers.limit_split import IDLE_RATIO, ROOM_RATIO, granted, own_parts
from enforcers.mechanisms.cgroup_io.joint_limits import JointLimits, Stated

LIMIT = 600.0
STEP_S = 0.25
FOLLOWED_STEPS = 2
LATE_S = 2.0
"""An agent waits no longer for an answer (`client.EXCHANGE_TIMEOUT_S`)."""
LITTLE = 30.0
IDLE, CONTENT, HELD = 0.0, LITTLE, 2000.0
END_S = 120
Uses = tuple[LimitUse, ...]


@dataclass(frozen=True)
class Fault:
    """What goes wrong at a host, or at all of them (None), for some seconds."""

    kind: str
    host: int | None
    begins_s: float
    lasts_s: float

    def is_at(self, host: int, now_s: float) -> bool:
        is_there = self.host is None or self.host == host
        return is_there and self.begins_s <= now_s < self.begins_s + self.lasts_s


@dataclass
class Service:
    """Keeps what hosts told as long as the real one."""

    told: dict[int, tuple[float, Uses]] = field(default_factory=dict)
    content: dict[int, float] = field(default_factory=dict)
    """The most that a host did in a period in which nothing held it."""

    def answer(self, host: int, uses: Uses, now_s: float) -> LimitsGranted:
        kept_s = KEPT_PERIODS * PERIOD_S
        self.told = {
            name: (at_s, one) for name, (at_s, one) in self.told.items() if now_s - at_s < kept_s
        }
        self.told[host] = (now_s, uses)
        if not uses[0].is_held:
            self.content[host] = max(self.content.get(host, 0.0), uses[0].rate)
        others = [one[0] for name, (_, one) in self.told.items() if name != host]
        part = granted(uses[0], others, limit=LIMIT)
        return LimitsGranted(limits=(LimitGrant(workload="db", part=part),))


class Host:
    """One agent, its kernel, and the thread that asks."""

    def __init__(self, number: int, own: float, demand: float) -> None:
        self.number, self.own, self.demand = number, own, demand
        self.kernel = own
        self.agent: JointLimits | None = None
        self.post = Post()
        self._asked: tuple[Letter[Uses], float, bool] | None = None
        self._answer: tuple[float, LimitsGranted] | None = None
        self.begin(standing=None)

    def begin(self, *, standing: float | None) -> None:
        """An agent starts; its first pass writes what it begins with."""
        self.post = Post()
        self.agent = JointLimits(self.post.limits, resource="ds")
        self.agent.renew({"db": Stated(own=self.own, limit=LIMIT, standing=standing)})
        self._write()

    def follow(self, now_s: float) -> None:
        if self.agent is None:
            return
        rate = min(self.demand, self.kernel)
        self.agent.follow(now_s)
        self.agent.take("db", rate=rate, elapsed_s=STEP_S * FOLLOWED_STEPS)
        self._write()

    def exchange(self, service: Service, now_s: float, faults: set[str]) -> None:
        """One step of what is on its way: one question at a time, as the thread asks."""
        if self._answer is not None and now_s >= self._answer[0]:
            if self._asked is not None and "answer lost" not in faults and self.agent is not None:
                self.post.limits.answer(self._asked[0], self._answer[1])
            self._asked = self._answer = None
        if self._asked is None and self.agent is not None:
            for letter in self.post.limits.fetch(0):
                late_s = LATE_S if "late" in faults else STEP_S
                self._asked = (letter, now_s + late_s, "question lost" in faults)
        if self._asked is None or self._answer is not None or now_s < self._asked[1]:
            return
        letter, _, is_lost = self._asked
        if is_lost:
            self._asked = None
            return
        self._answer = (now_s + STEP_S, service.answer(self.number, letter.told, now_s))

    def _write(self) -> None:
        assert self.agent is not None
        self.kernel = self.agent.part("db") or 0.0


class Fleet:
    """All hosts; `most` is the largest sum of their parts in a step so far.

    What a host may do whose agent is away is what it had, and counts up to its own part.
    """

    def __init__(self, demands: list[float], faults: list[Fault], reserved: list[float]) -> None:
        self.service = Service()
        owns = own_parts(LIMIT, (reserved + [0.0] * len(demands))[: len(demands)])
        self.hosts = [Host(n, own, demands[n]) for n, own in enumerate(owns)]
        self.faults = faults
        self.now_s = self.most = 0.0
        self._steps = 0

    def run(self, seconds: float, changes: tuple[tuple[int, float, float], ...] = ()) -> None:
        for _ in range(round(seconds / STEP_S)):
            self._steps += 1
            self.now_s = self._steps * STEP_S
            for number, at_s, demand in changes:
                if number < len(self.hosts) and at_s == self.now_s:
                    self.hosts[number].demand = demand
            for host in self.hosts:
                self._step(host)
            self.most = max(self.most, self.total)

    def _step(self, host: Host) -> None:
        kinds = {one.kind for one in self.faults if one.is_at(host.number, self.now_s)}
        if "agent away" in kinds:
            host.agent = None
        elif host.agent is None:
            host.begin(standing=host.kernel)
        # Hosts look at different times.
        if self._steps % FOLLOWED_STEPS == host.number % FOLLOWED_STEPS:
            host.follow(self.now_s)
        host.exchange(self.service, self.now_s, kinds)

    @property
    def total(self) -> float:
        return math.fsum(
            min(host.kernel, host.own) if host.agent is None else host.kernel
            for host in self.hosts
        )

    @property
    def bound(self) -> float:
        """The limit and what is open to who is idle or content, with 1 % of rounding.

        A host is either, and what is open to it is the larger of the two. At least one of them
        is neither, or the sum is far below the limit.
        """
        content = {n: (ROOM_RATIO - 1) * rate for n, rate in self.service.content.items()}
        beyond = sorted(
            max(IDLE_RATIO * host.own, content.get(host.number, 0.0)) for host in self.hosts
        )
        return 1.01 * (LIMIT + math.fsum(beyond[1:]))


demands = st.sampled_from([IDLE, CONTENT, HELD])
times = st.integers(0, 4 * END_S).map(lambda quarters: quarters / 4)
faults = st.lists(
    st.builds(
        Fault,
        kind=st.sampled_from(["question lost", "answer lost", "late", "agent away"]),
        host=st.none() | st.integers(0, 3),
        begins_s=times,
        lasts_s=st.sampled_from([0.5, 1.0, 4.0, 8.0, 12.0, 16.0, 40.0]),
    ),
    max_size=6,
)
changes = st.lists(st.tuples(st.integers(0, 3), times, demands), max_size=6).map(tuple)


@given(
    st.lists(demands, min_size=2, max_size=4),
    faults,
    changes,
    st.lists(st.sampled_from([0.0, 100.0, 300.0]), max_size=4),
)
@example(  # the borrower is cut off
    [HELD, IDLE], [Fault("question lost", 0, 30.0, 40.0)], ((1, 32.0, HELD),), []
)
@example(  # the lender hears nothing, then is cut off, and so is the borrower after 12 s
    [HELD, IDLE],
    [
        Fault("answer lost", 1, 28.0, 6.0),
        Fault("question lost", 1, 34.0, 80.0),
        Fault("question lost", 0, 41.0, 80.0),
    ],
    ((1, 32.0, HELD),),
    [],
)
@example(  # the lender is heard, and hears nothing
    [HELD, IDLE], [Fault("answer lost", 1, 30.0, 60.0)], ((1, 32.0, HELD),), []
)
@example(  # the lender's agent starts again while the borrower is cut off
    [HELD, IDLE],
    [Fault("question lost", 0, 30.0, 60.0), Fault("agent away", 1, 33.0, 1.0)],
    ((1, 32.0, HELD),),
    [],
)
@example(  # one is content from the middle of a period on
    [IDLE, HELD, HELD], [Fault("agent away", 2, 0.25, 1.0)], ((1, 24.5, CONTENT),), []
)
@example([IDLE, IDLE], [], ((0, 2.75, HELD),), [])  # one begins within a period
@example(  # all start again while several claim more at once
    [IDLE] * 4,
    [Fault("agent away", None, 4.5, 0.5)],
    ((1, 0.25, CONTENT), (2, 0.25, CONTENT), (3, 0.25, HELD)),
    [100.0],
)
def test_sum_never_exceeds_the_limit_whatever_is_lost_or_late_or_starts_again(
    wanted: list[float],
    faults: list[Fault],
    changes: tuple[tuple[int, float, float], ...],
    reserved: list[float],
) -> None:
    fleet = Fleet(wanted, faults, reserved)

    fleet.run(END_S, changes)

    assert fleet.most <= fleet.bound


def lent() -> Fleet:
    """Host 0 has borrowed what host 1 does not use, which then wants it."""
    fleet = Fleet([HELD, IDLE], [], [])
    fleet.run(24.0)
    assert [host.kernel for host in fleet.hosts] == pytest.approx([600, 15])
    fleet.hosts[1].demand = HELD
    return fleet


def test_borrower_that_is_cut_off_gives_back_before_the_others_get_it() -> None:
    fleet = lent()
    fleet.faults.append(Fault("question lost", 0, fleet.now_s, math.inf))

    fleet.run(BORROWED_S + 0.5)
    given_back = [host.kernel for host in fleet.hosts]
    fleet.run(8.0)

    assert given_back == pytest.approx([300, 15])
    assert [host.kernel for host in fleet.hosts] == pytest.approx([300, 300])


def test_lender_that_is_cut_off_takes_back_once_the_borrower_must_have_given_back() -> None:
    fleet = lent()
    fleet.faults.append(Fault("question lost", None, fleet.now_s, math.inf))

    fleet.run(LENT_S)
    meanwhile = [host.kernel for host in fleet.hosts]
    fleet.run(BORROWED_S + 1.0)

    assert meanwhile == pytest.approx([300, 15])
    assert [host.kernel for host in fleet.hosts] == pytest.approx([300, 300])


def test_lender_whose_agent_starts_again_begins_with_what_it_had() -> None:
    fleet = lent()
    fleet.faults.append(Fault("agent away", 1, fleet.now_s, 2.0))

    fleet.run(2.25)
    begun = [host.kernel for host in fleet.hosts]
    fleet.run(12.0)

    assert begun == pytest.approx([600, 15])
    assert [host.kernel for host in fleet.hosts] == pytest.approx([300, 300])


@pytest.mark.parametrize("kind", ["question lost", "answer lost"])
def test_one_lost_message_changes_nothing(kind: str) -> None:
    fleet = Fleet([HELD, IDLE], [], [])
    fleet.run(24.0)
    fleet.faults.append(Fault(kind, None, fleet.now_s, PERIOD_S))

    for _ in range(40):
        fleet.run(0.25)

        assert [host.kernel for host in fleet.hosts] == pytest.approx([600, 15])
