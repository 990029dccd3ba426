"""HTB under real TCP: reservations, limits and shares hold, and change while traffic flows.

Three workloads send all the time, as much as they can.
"""

import statistics
import time

import pytest

from enforcers.contract import Allocation, ReservationMode
from enforcers.mechanisms.tc_htb.observed import HtbObserved
from tests.enforcers.policies import LINK, desired, host_traffic, nothing, uplink, vnic
from tests.enforcers.rig import Rig, start_rig
from tests.host.network import SENDER, Network
from tests.host.steady_rates import median_rates

pytestmark = [pytest.mark.root, pytest.mark.quiet]

HTB = "tc_htb"
CLASSES = {"vm1": "51ce:10", "vm2": "51ce:11", "vm3": "51ce:12", "rest": "51ce:2"}
WORKLOAD_CLASSES = ("51ce:10", "51ce:11", "51ce:12")
SETTLE_S = 1.5
WINDOW_S = 2.5
# Three per cent of the link, as the reservation experiment allows.
TOLERANCE_MBPS = 0.03 * LINK / 1e6


@pytest.fixture(scope="module")
def traffic_rig(busy_network: Network, tmp_path_factory: pytest.TempPathFactory) -> Rig:
    """An agent on the host of the busy network; each test starts from its own policy."""
    return start_rig(tmp_path_factory.mktemp("agent"), busy_network.runner)


@pytest.fixture(autouse=True)
def as_found(traffic_rig: Rig) -> None:
    """Every test begins without classes, so that their numbers are known."""
    traffic_rig.apply(HTB, nothing("up0"))
    traffic_rig.executor.release(traffic_rig.ledger.entries())


def look(rig: Rig) -> HtbObserved:
    observed = rig.mechanisms[HTB].observe(nothing("up0"), rig.ledger.entries())
    assert isinstance(observed, HtbObserved)
    return observed


def measure_mbps(rig: Rig) -> dict[str, float]:
    """What each class sent while every workload that has one wanted more, by name.

    TCP that lost all that it had under way is silent for seconds; what a workload gets that asks
    for nothing says nothing about its class.
    """
    time.sleep(SETTLE_S)
    there = look(rig).counters
    classes = {name: classid for name, classid in CLASSES.items() if classid in there}
    rest = {name: classes.pop(name) for name in ("rest",) if name in classes}
    rates = median_rates(lambda: look(rig).counters, classes, WINDOW_S, others=rest)
    return dict(rates.mbps)


def apply(rig: Rig, *allocations: Allocation, mode: str = "additive") -> None:
    spec = uplink(mode=ReservationMode(mode))
    assert rig.apply(HTB, desired(spec, *allocations)).changes == ()


def test_reservation_of_75_of_94_mbit_is_met_and_the_rest_is_shared(traffic_rig: Rig) -> None:
    apply(traffic_rig, vnic(1, 75e6), vnic(2), vnic(3))

    rates = measure_mbps(traffic_rig)

    # Ideal: 75 + 19/3 = 81.3 and 19/3 = 6.3; HTB with full-sized frames gives 80.6, 6.7, 6.7.
    assert rates["vm1"] == pytest.approx(80.6, abs=TOLERANCE_MBPS)
    assert rates["vm2"] == pytest.approx(6.7, abs=TOLERANCE_MBPS)
    assert rates["vm3"] == pytest.approx(6.7, abs=TOLERANCE_MBPS)
    assert rates["vm1"] >= 75.0


def test_limit_holds_and_what_it_leaves_is_used(traffic_rig: Rig) -> None:
    apply(traffic_rig, vnic(1, limit=20e6), vnic(2), vnic(3))

    rates = measure_mbps(traffic_rig)

    assert 20.0 * 0.96 <= rates["vm1"] <= 20.0 * 1.02
    assert sum(rates.values()) == pytest.approx(94.0, abs=TOLERANCE_MBPS)


def test_shares_of_three_to_one_split_the_link_so(traffic_rig: Rig) -> None:
    apply(traffic_rig, vnic(1, shares=300), vnic(2, shares=100), vnic(3, shares=100))

    rates = measure_mbps(traffic_rig)

    assert rates["vm1"] == pytest.approx(94.0 * 3 / 5, abs=TOLERANCE_MBPS)
    assert rates["vm2"] == pytest.approx(94.0 / 5, abs=TOLERANCE_MBPS)
    assert rates["vm3"] == pytest.approx(94.0 / 5, abs=TOLERANCE_MBPS)


def test_unclassified_traffic_is_shaped_too(traffic_rig: Rig) -> None:
    apply(traffic_rig, vnic(1, 75e6))

    rates = measure_mbps(traffic_rig)

    # Two workloads without allocations are in the class for the rest, which has 9.4 of its own:
    # 75 + 9.6/2 and 9.4 + 9.6/2.
    assert rates["vm1"] == pytest.approx(75 + 9.6 / 2, abs=TOLERANCE_MBPS)
    assert rates["rest"] == pytest.approx(9.4 + 9.6 / 2, abs=TOLERANCE_MBPS)


ALL_RESERVED = (vnic(1, 75e6), vnic(2, 9e6), vnic(3))
ALL_ENTITLED = (vnic(1, entitlement=75e6), vnic(2, entitlement=10e6), vnic(3, entitlement=9e6))


@pytest.mark.parametrize(
    ("mode", "allocations"),
    [("additive", ALL_RESERVED), ("floor", ALL_ENTITLED)],
    ids=["additive", "floor"],
)
def test_host_has_its_part_of_the_link_and_answers_soon_beside_its_own_bulk_traffic(
    traffic_rig: Rig, busy_network: Network, mode: str, allocations: tuple[Allocation, ...]
) -> None:
    apply(traffic_rig, *allocations, mode=mode)
    bulk = busy_network.start(busy_network.host, SENDER)
    try:
        rates = measure_mbps(traffic_rig)
        times_s = busy_network.round_trips_s(20)
    finally:
        busy_network.stop(bulk)

    # A tenth of 94 Mbit/s; before it had its own, it got 0.01 and 1757 ms.
    assert rates["rest"] >= 9.4 * 0.95
    assert rates["vm1"] >= (75.0 if mode == "additive" else 67.0) * 0.97
    # A FIFO of its own holds 131,108 bytes, which 9.4 Mbit/s send in 112 ms.
    assert statistics.median(times_s) < 0.2


def test_host_has_its_reservation_and_shares_and_leaves_what_it_does_not_send(
    traffic_rig: Rig, busy_network: Network
) -> None:
    apply(traffic_rig, host_traffic(20e6, shares=200), vnic(1, 40e6), vnic(2), vnic(3))
    bulk = busy_network.start(busy_network.host, SENDER)
    try:
        busy = measure_mbps(traffic_rig)
    finally:
        busy_network.stop(bulk)
    idle = measure_mbps(traffic_rig)

    # 94 - 60 by 200 : 100 : 100 : 100, beside what is reserved.
    assert busy["rest"] == pytest.approx(20 + 13.6, abs=TOLERANCE_MBPS)
    assert busy["vm1"] == pytest.approx(40 + 6.8, abs=TOLERANCE_MBPS)
    assert busy["vm2"] == pytest.approx(6.8, abs=TOLERANCE_MBPS)
    # 94 - 40 by three.
    assert idle["vm1"] == pytest.approx(40 + 18, abs=TOLERANCE_MBPS)
    assert idle["vm2"] == pytest.approx(18, abs=TOLERANCE_MBPS)


def test_policy_changes_while_traffic_flows(traffic_rig: Rig) -> None:
    apply(traffic_rig, vnic(1, 60e6), vnic(2), vnic(3))
    first = measure_mbps(traffic_rig)
    before = look(traffic_rig).counters

    apply(traffic_rig, vnic(1), vnic(2, 60e6), vnic(3))
    second = measure_mbps(traffic_rig)

    after = look(traffic_rig).counters
    # Nothing was torn down: the counters go on.
    assert all(after[name].sent_bytes > before[name].sent_bytes for name in WORKLOAD_CLASSES)
    assert first["vm1"] == pytest.approx(60 + 34 / 3, abs=TOLERANCE_MBPS)
    assert second["vm2"] == pytest.approx(60 + 34 / 3, abs=TOLERANCE_MBPS)
    assert second["vm1"] == pytest.approx(34 / 3, abs=TOLERANCE_MBPS)


def test_restore_under_traffic_leaves_nothing_behind(
    traffic_rig: Rig, busy_network: Network
) -> None:
    before = busy_network.settings()
    apply(traffic_rig, vnic(1, limit=1e6), vnic(2, limit=1e6), vnic(3, limit=1e6))

    traffic_rig.apply(HTB, nothing("up0"))

    assert busy_network.settings() == before
