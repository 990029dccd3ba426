"""Pools under real TCP: limit, reservation and shares hold over whichever members send.

Four workloads, of which a test lets some send as much as they can.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from time import monotonic, sleep

import pytest

from enforcers.contract import Allocation, Pool
from enforcers.following import following
from enforcers.mechanisms.tc_htb.tc_text import ClassCounters, parse_counters
from tests.enforcers.policies import LINK, document, member, pool, vnic
from tests.enforcers.rig import Rig, start_rig
from tests.host.network import SENDER, SINK, NamespaceRunner, Network, network
from tests.host.paced import FRAME_BYTES, PacedFlow
from tests.host.steady_rates import median_rates

pytestmark = [pytest.mark.root, pytest.mark.quiet]

LINK_MBPS = LINK / 1e6
WINDOW_S = 3.0
SETTLE_S = 3.0
PACED_S = 6.0
FRAMES = ("gso_max_segs", "1", "gso_max_size", "1500")


@pytest.fixture(scope="module")
def four(htb: None) -> Iterator[Network]:
    """Four silent workloads, of which TCP keeps its queues filled."""
    with network(4) as built:
        built.runner.run(["ip", "link", "set", "up0", *FRAMES])
        for name in built.names:
            runner = NamespaceRunner(name)
            runner.run(["tee", "/proc/sys/net/ipv4/tcp_congestion_control"], stdin="reno")
        yield built


@pytest.fixture
def agent(four: Network, tmp_path: Path) -> Iterator[Rig]:
    """An agent on the host that leaves it as it was."""
    before = four.settings()
    rig = start_rig(tmp_path, four.runner)
    yield rig
    four.stop_all()
    rig.enforcement.run(None, previous=None, now_s=monotonic())
    assert four.settings() == before


def enforce(
    rig: Rig, *allocations: Allocation, pools: tuple[Pool, ...], revision: int = 1
) -> None:
    policy = document(*allocations, pools=pools, revision=revision)
    result = rig.enforcement.run(policy, previous=None, now_s=monotonic())
    assert result.is_in_force
    assert not result.has_failed


def counters(network: Network) -> dict[str, ClassCounters]:
    """Asked beside the agent, which follows at the same time."""
    return parse_counters(network.runner.run(["tc", "-s", "class", "show", "dev", "up0"]))


@contextmanager
def sending(four: Network, rig: Rig, *numbers: int) -> Iterator[None]:
    """These send, and the agent follows them."""
    four.start(four.sink, SINK)
    follow = partial(rig.enforcement.follow, clock_s=monotonic)
    with following(follow, look=lambda: None):
        for number in numbers:
            four.start(four.workload(number), SENDER)
        sleep(SETTLE_S)
        yield


def mbps(four: Network, *numbers: int) -> dict[int, float]:
    """What these workloads get, which are in the order of their numbers in the policy."""
    classids = {str(number): f"51ce:{0xF + number:x}" for number in numbers}
    rates = median_rates(lambda: counters(four), classids, WINDOW_S)
    return {number: rates.mbps[str(number)] for number in numbers}


def test_limit_of_a_pool_holds_over_all_of_its_members(four: Network, agent: Rig) -> None:
    enforce(
        agent,
        member(1, shares=200),
        member(2),
        vnic(3),
        vnic(4),
        pools=(pool(reservation=0.0, limit=30e6),),
    )

    with sending(four, agent, 1, 2, 3, 4):
        rates = mbps(four, 1, 2, 3, 4)

    together = rates[1] + rates[2]
    assert 30 * 0.98 <= together <= 30 * 1.01
    # By their own shares within it.
    assert rates[1] / together == pytest.approx(2 / 3, abs=0.03)
    assert sum(rates.values()) >= LINK_MBPS * 0.97


def test_reservation_of_a_pool_is_for_the_one_member_that_sends(four: Network, agent: Rig) -> None:
    enforce(
        agent,
        member(1),
        member(2),
        vnic(3, shares=1000),
        vnic(4, shares=1000),
        pools=(pool(reservation=50e6, limit=None),),
    )

    with sending(four, agent, 1, 3, 4):
        rates = mbps(four, 1, 3, 4)

    # And of the rest, with the host's unused part, a part by 100 of 2100 shares.
    rest = LINK_MBPS - 50
    assert rates[1] >= 50 * 0.99
    assert rates[1] == pytest.approx(50 + rest * 100 / 2100, abs=0.03 * LINK_MBPS)


@pytest.mark.parametrize("many", [1, 2], ids=["the one", "the three"])
def test_pools_with_shares_of_two_to_one_split_the_link_so(
    four: Network, agent: Rig, many: int
) -> None:
    """One sender beside three, whichever pool has the larger shares."""
    enforce(
        agent,
        member(1, pool="pool-2"),
        member(2),
        member(3),
        member(4),
        pools=(
            pool(reservation=0.0, limit=None, shares=100 * many),
            pool(id="pool-2", name="db", reservation=0.0, limit=None, shares=300 - 100 * many),
        ),
    )

    with sending(four, agent, 1, 2, 3, 4):
        rates = mbps(four, 1, 2, 3, 4)

    three = rates[2] + rates[3] + rates[4]
    assert three / (three + rates[1]) == pytest.approx(many / 3, abs=0.05 / 3)


def test_shares_of_a_pool_are_those_of_whichever_members_send(four: Network, agent: Rig) -> None:
    enforce(
        agent,
        member(1),
        member(2),
        member(3),
        vnic(4),
        pools=(pool(reservation=0.0, limit=None, shares=200),),
    )

    with sending(four, agent, 1, 4):
        rates = mbps(four, 1, 4)

    assert rates[1] / (rates[1] + rates[4]) == pytest.approx(2 / 3, abs=0.05 / 3)


@pytest.mark.parametrize("by_u32", [True, False], ids=["u32", "BPF"])
def test_workload_that_comes_into_a_pool_and_leaves_it_goes_on(
    four: Network, tmp_path: Path, by_u32: bool
) -> None:
    """What waits below the class that goes is lost: of a paced flow that is next to nothing."""
    before = four.settings()
    rig = start_rig(tmp_path, four.runner, by_u32=by_u32)
    inside = (member(1), member(2))
    outside = (vnic(1), member(2))
    terms = (pool(reservation=5e6, limit=60e6),)
    enforce(rig, *outside, pools=terms)
    flow = PacedFlow(four, 1, bits_per_s=4e6, seconds=PACED_S)

    steps = [(inside, terms), (outside, terms), (inside, terms), ((vnic(1), vnic(2)), ())]
    for revision, (allocations, pools) in enumerate(steps, start=2):
        sleep(1.0)
        enforce(rig, *allocations, pools=pools, revision=revision)
    sent, arrived = flow.ended()

    rig.enforcement.run(None, previous=None, now_s=monotonic())
    assert four.settings() == before
    assert sent >= 0.9 * PACED_S * 4e6 / 8 / FRAME_BYTES
    assert sent - arrived <= 3
