"""What comes in, of more than the link carries: a limit holds, and shares divide the link.

The sink sends to three workloads all the time; what each has got is counted at its own end. They
are datagrams at a rate of their own, so that packets of every class wait: TCP gives way by losses,
and what a workload does not ask for says nothing of its shares.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

import pytest

from enforcers.contract import Allocation, Pool
from enforcers.following import following
from enforcers.mechanisms.tc_htb.mechanism import TcHtb
from enforcers.mechanisms.tc_htb.tc_text import ClassCounters, parse_counters
from tests.enforcers.policies import LINK, desired, nothing, pool, uplink
from tests.enforcers.rig import Rig, start_rig
from tests.host.network import NamespaceRunner, Network, network
from tests.host.paced import DEAF, flood
from tests.host.steady_rates import median_rates
from tests.host.test_incoming import HTB, UP0, by_address, host, ifb

pytestmark = [pytest.mark.root, pytest.mark.quiet, pytest.mark.slow]

SETTLE_S = 2.0
WINDOW_S = 2.5


@pytest.fixture(scope="module")
def receiving_network(htb: None) -> Iterator[Network]:
    """Three workloads, to each of which the sink sends nearly as much as the link carries."""
    with network(3, label="in") as built:
        for number in built.numbers:
            built.start(built.workload(number), DEAF)
            built.start(built.sink, flood(f"10.77.{number}.2", bits_per_s=90e6))
        yield built


@pytest.fixture
def rig(receiving_network: Network, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    rig = start_rig(tmp_path_factory.mktemp("agent"), receiving_network.runner, ingress=UP0)
    yield rig
    rig.apply(HTB, nothing("up0"))


def received(network: Network) -> list[int]:
    """The bytes that each workload has got so far, by its own interface."""
    file = "/sys/class/net/e0/statistics/rx_bytes"
    inside = [NamespaceRunner(network.workload(number)) for number in network.numbers]
    return [int(one.run(["cat", file])) for one in inside]


def measure_mbps(network: Network) -> list[float]:
    """What each has got while packets of every class waited."""
    time.sleep(SETTLE_S)
    names = {str(number): str(number) for number in network.numbers}
    rates = median_rates(lambda: counters(network), names, WINDOW_S)
    return [rates.mbps[name] for name in names]


def counters(network: Network) -> dict[str, ClassCounters]:
    """By the number of a workload: what its own interface got, and the least that waits."""
    text = host(network, f"tc -s class show dev {ifb(network)}")
    own = [
        one for classid, one in parse_counters(text).items() if re.fullmatch("51ce:1.", classid)
    ]
    waiting = sorted(one.backlog_bytes for one in own)[-len(network.numbers) :]
    return {
        str(number): ClassCounters(
            sent_bytes=got, drops=0, overlimits=0, backlog_bytes=min(waiting, default=0)
        )
        for number, got in zip(network.numbers, received(network), strict=True)
    }


def apply(rig: Rig, *allocations: Allocation, pools: tuple[Pool, ...] = ()) -> None:
    left = rig.apply(HTB, desired(uplink(), *allocations, pools=pools))
    assert (left.changes, left.shortfalls) == ((), {})


def test_limit_of_what_comes_in_holds_and_what_it_leaves_is_used(
    rig: Rig, receiving_network: Network
) -> None:
    apply(rig, by_address(1, limit=20e6), by_address(2), by_address(3))

    rates = measure_mbps(receiving_network)

    assert rates[0] == pytest.approx(20.0, rel=0.02)
    assert sum(rates) == pytest.approx(LINK / 1e6, rel=0.03)


def test_shares_of_three_to_one_divide_what_comes_in_so(
    rig: Rig, receiving_network: Network
) -> None:
    apply(rig, by_address(1, shares=300), by_address(2, shares=100), by_address(3, shares=100))

    rates = measure_mbps(receiving_network)

    assert rates[0] / rates[1] == pytest.approx(3.0, rel=0.05)
    assert rates[0] / rates[2] == pytest.approx(3.0, rel=0.05)
    assert sum(rates) == pytest.approx(LINK / 1e6, rel=0.03)


def test_reservation_is_there_of_what_comes_in(rig: Rig, receiving_network: Network) -> None:
    apply(rig, by_address(1, reservation=75e6), by_address(2), by_address(3))

    rates = measure_mbps(receiving_network)

    # Ideal: 75 + 19/3 = 81.3, of which HTB with full-sized frames gives 80.6.
    assert rates[0] == pytest.approx(80.6, abs=0.03 * LINK / 1e6)
    assert rates[0] >= 75.0


def test_limit_of_a_pool_holds_over_what_comes_in_for_its_members(
    rig: Rig, receiving_network: Network
) -> None:
    members = (by_address(number, pool="pool-1") for number in (1, 2))
    apply(rig, *members, by_address(3), pools=(pool(reservation=0.0, limit=30e6),))

    rates = measure_mbps(receiving_network)

    assert rates[0] + rates[1] == pytest.approx(30.0, rel=0.02)
    assert sum(rates) == pytest.approx(LINK / 1e6, rel=0.03)


def test_shares_of_a_pool_hold_for_what_comes_in_for_some_of_its_members(
    rig: Rig, receiving_network: Network
) -> None:
    """A fourth member, for which nothing comes, leaves its turns to the others."""
    members = (by_address(number, pool="pool-1") for number in (1, 2, 4))
    terms = (pool(reservation=0.0, limit=None, shares=100),)
    policy = desired(uplink(), *members, by_address(3), pools=terms)
    rig.apply(HTB, policy)
    mechanism = rig.mechanisms[HTB]
    assert isinstance(mechanism, TcHtb)

    def follow() -> None:
        mechanism.follow(policy, rig.ledger.of(HTB, "up0"), rig.executor, time.monotonic)

    with following(follow, look=lambda: None):
        time.sleep(SETTLE_S)
        rates = measure_mbps(receiving_network)

    # By three fixed parts of the pool's turn it would be two thirds.
    assert (rates[0] + rates[1]) / rates[2] == pytest.approx(1.0, rel=0.1)
