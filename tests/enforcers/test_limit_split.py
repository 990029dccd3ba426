"""A limit over several hosts: parts follow demand, and never add up to more than the limit."""

import math
import random
from dataclasses import dataclass

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from enforcers.limit_exchange import (
    LimitsGranted,
    LimitUse,
    decode_granted,
    decode_told,
    encode_granted,
    encode_told,
    told_of,
)
from enforcers.limit_split import IDLE_RATIO, ROOM_RATIO, granted, own_parts
from tests.enforcers.policies import NOON

LIMIT = 600.0


@dataclass
class Hosts:
    """Hosts that ask one after the other; `demands` is what the workload wants on each."""

    demands: list[float]

    def __post_init__(self) -> None:
        self.own = own_parts(LIMIT, [0.0] * len(self.demands))
        self.parts = list(self.own)
        self.claims = list(self.own)
        self.told = [self.use(place) for place in range(len(self.demands))]

    def use(self, place: int) -> LimitUse:
        demand, part = self.demands[place], self.parts[place]
        return LimitUse(
            workload="db",
            own=self.own[place],
            claimed=self.claims[place],
            rate=min(demand, part),
            is_held=demand >= 0.95 * part,
        )

    def ask(self, place: int, *, is_lost: bool = False) -> None:
        """Once more for what is granted beyond what was claimed."""
        for _ in range(2):
            self.told[place] = self.use(place)
            others = [use for other, use in enumerate(self.told) if other != place]
            part = granted(self.told[place], others, limit=LIMIT)
            if is_lost:
                return
            self.parts[place] = min(part, self.claims[place])
            self.claims[place] = part

    def settle(self) -> None:
        for _ in range(8):
            for place in range(len(self.demands)):
                self.ask(place)

    @property
    def rates(self) -> list[float]:
        return [min(pair) for pair in zip(self.demands, self.parts, strict=True)]


@pytest.mark.parametrize(
    ("demands", "rates"),
    [
        ([900.0, 900.0], [300.0, 300.0]),
        ([900.0, 0.0], [600.0, 0.0]),
        ([900.0, 100.0], [500.0, 100.0]),
        ([900.0, 100.0, 900.0], [250.0, 100.0, 250.0]),
        ([100.0, 50.0], [100.0, 50.0]),
    ],
)
def test_hosts_share_what_the_others_leave(demands: list[float], rates: list[float]) -> None:
    hosts = Hosts(demands)

    hosts.settle()

    assert hosts.rates == pytest.approx(rates)


def test_host_that_is_back_has_its_part_once_the_other_has_heard() -> None:
    hosts = Hosts([900.0, 0.0])
    hosts.settle()
    hosts.demands[1] = 900.0

    hosts.ask(1)
    assert hosts.parts == pytest.approx([600.0, 15.0])  # 5 % of its own 300 are open
    hosts.ask(0)
    assert hosts.parts == pytest.approx([300.0, 15.0])
    hosts.ask(1)
    assert hosts.parts == pytest.approx([300.0, 300.0])


demands = st.lists(st.sampled_from([0.0, 1.0, 40.0, 150.0, 200.0, 2000.0]), min_size=2, max_size=5)


@given(demands, st.integers(0, 2**32 - 1))
@example([0.0, 0.0], 342659179)  # content, then idle unheard, then held
def test_sum_stays_within_the_limit_whatever_is_late_or_lost(
    wanted: list[float], seed: int
) -> None:
    """But for what is open to hosts that are idle, or take a little more than before."""
    hosts, chance = Hosts(wanted), random.Random(seed)
    content = [0.0] * len(wanted)
    for _ in range(60):
        place = chance.randrange(len(wanted))
        if chance.random() < 0.2:
            hosts.demands[place] = chance.choice([0.0, 30.0, 200.0, 2000.0])
        is_lost = chance.random() < 0.2
        hosts.ask(place, is_lost=is_lost)

        use = hosts.told[place]
        if not use.is_held:
            # Who does not hear the answer keeps what it was granted for more.
            content[place] = max(content[place], use.rate) if is_lost else use.rate
        is_open = (ROOM_RATIO - 1) * math.fsum(content) + IDLE_RATIO * LIMIT
        assert math.fsum(hosts.rates) <= LIMIT * 1.01 + is_open


@given(demands)
def test_steady_demand_gets_all_of_the_limit_and_no_more(wanted: list[float]) -> None:
    hosts = Hosts(wanted)

    hosts.settle()

    assert math.fsum(hosts.rates) == pytest.approx(min(LIMIT, math.fsum(wanted)), rel=0.01)


def test_host_that_says_nothing_keeps_its_own_part() -> None:
    alone = LimitUse(workload="db", own=300.0, claimed=300.0, rate=300.0, is_held=True)

    assert granted(alone, [], limit=LIMIT) == 300


@given(st.lists(st.floats(0, 400), min_size=1, max_size=6))
def test_own_parts_add_up_and_hold_what_is_reserved(reserved: list[float]) -> None:
    parts = own_parts(LIMIT, reserved)

    assert math.fsum(parts) == pytest.approx(LIMIT)
    assert min(parts) > 0
    if math.fsum(reserved) <= LIMIT * (1 - IDLE_RATIO):
        for part, least in zip(parts, reserved, strict=True):
            assert part >= least - 1e-9


def test_host_keeps_a_little_where_another_has_reserved_it_all() -> None:
    # 5 % of 600 are left to both; the reservation is cut by that.
    assert own_parts(LIMIT, [600.0, 0.0]) == pytest.approx([585, 15])


def test_what_is_told_and_granted_comes_back_from_the_wire() -> None:
    use = LimitUse(workload="db", own=300.0, claimed=15.0, rate=12.5, is_held=True)
    told = told_of([use], host="h1", resource="ds1", period_end=NOON)

    assert decode_told(encode_told(told)) == told
    nothing = LimitsGranted(limits=())
    assert decode_granted(encode_granted(nothing)) == nothing
