"""The host's own NFS and migration under real TCP: divided by shares, beside busy workloads."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from enforcers.mechanisms.tc_htb.observed import HtbObserved
from tests.enforcers.policies import desired, host_kind, host_traffic, nothing, uplink, vnic
from tests.enforcers.rig import Rig, start_rig
from tests.host.network import MIGRATION_PORT, NFS_PORT, Network, sender
from tests.host.steady_rates import median_rates

pytestmark = [pytest.mark.root, pytest.mark.quiet]

HTB = "tc_htb"
NFS, MIGRATION = "51ce:5", "51ce:8"
SETTLE_S = 1.5
WINDOW_S = 5.0
PINGS = 150
TOLERANCE_MBPS = 0.03 * 94


def look(rig: Rig) -> HtbObserved:
    observed = rig.mechanisms[HTB].observe(nothing("up0"), rig.ledger.entries())
    assert isinstance(observed, HtbObserved)
    return observed


@pytest.fixture
def frames_of_host(busy_network: Network) -> Iterator[Network]:
    """A host whose own packets have at most one frame, as those of its workloads."""
    run = busy_network.runner.run
    run(["ip", "link", "set", "up0", "gso_max_segs", "1", "gso_max_size", "1500"])
    yield busy_network
    run(["ip", "link", "set", "up0", "gso_max_segs", "65535", "gso_max_size", "65536"])


def ping_p99_ms(built: Network) -> float:
    """The least of three times 150 pings: what the machine's own pauses add is no queue."""
    every = [sorted(built.pings_s(PINGS))[int(0.99 * PINGS)] for _ in range(3)]
    return min(every) * 1000


def test_nfs_and_migration_share_the_hosts_part_and_its_ping_stays_short(
    frames_of_host: Network, tmp_path: Path
) -> None:
    kinds = frozenset({"nfs shares=200 tcp=2049"})
    rig = start_rig(tmp_path, frames_of_host.runner, host_kinds=kinds)
    wanted = desired(uplink(), host_traffic(30e6), vnic(1, 40e6), vnic(2), vnic(3))
    assert rig.apply(HTB, wanted).changes == ()
    bulk = [
        frames_of_host.start(frames_of_host.host, sender(port))
        for port in (NFS_PORT, MIGRATION_PORT)
    ]
    classids = {
        "nfs": NFS,
        "migration": MIGRATION,
        "vm1": "51ce:10",
        "vm2": "51ce:11",
        "vm3": "51ce:12",
    }
    try:
        time.sleep(SETTLE_S)
        rates = median_rates(lambda: look(rig).counters, classids, WINDOW_S).mbps
        longest_ms = ping_p99_ms(frames_of_host)
    finally:
        for process in bulk:
            frames_of_host.stop(process)
        rig.apply(HTB, nothing("up0"))

    # 30 are reserved, which only these two use: 20 and 10. Of the 24 that no reservation has,
    # turns of 200 : 100 : 100 : 100 : 100 are 8 and 4 each.
    assert rates["nfs"] == pytest.approx(20 + 8, abs=TOLERANCE_MBPS)
    assert rates["migration"] == pytest.approx(10 + 4, abs=TOLERANCE_MBPS)
    assert rates["nfs"] / rates["migration"] == pytest.approx(2, rel=0.1)
    assert rates["vm1"] == pytest.approx(40 + 4, abs=TOLERANCE_MBPS)
    assert rates["vm2"] == pytest.approx(4, abs=TOLERANCE_MBPS)
    # In one class with them it waits for 8 ms and more.
    assert longest_ms < 5


def test_kind_has_what_is_reserved_for_it_and_no_more_than_its_limit(
    frames_of_host: Network, tmp_path: Path
) -> None:
    rig = start_rig(tmp_path, frames_of_host.runner, host_kinds=frozenset())
    kinds = (host_kind("nfs", 30e6), host_kind("migration", limit=6e6))
    wanted = desired(uplink(), host_traffic(), *kinds, vnic(1), vnic(2), vnic(3))
    assert rig.apply(HTB, wanted).changes == ()
    bulk = [
        frames_of_host.start(frames_of_host.host, sender(port))
        for port in (NFS_PORT, MIGRATION_PORT)
    ]
    classids = {"nfs": NFS, "migration": MIGRATION, "vm1": "51ce:10", "vm2": "51ce:11"}
    try:
        time.sleep(SETTLE_S)
        rates = median_rates(lambda: look(rig).counters, classids, WINDOW_S).mbps
    finally:
        for process in bulk:
            frames_of_host.stop(process)
        rig.apply(HTB, nothing("up0"))

    # Of the host's own 9.4 the migration may have a part, up to 6. NFS has its 30 and what the
    # migration leaves of the 9.4; the four take turns for the rest of 94.
    assert rates["migration"] == pytest.approx(6, abs=0.03 * 94)
    assert rates["migration"] <= 6.1
    assert rates["nfs"] >= 30
    assert rates["vm1"] == pytest.approx(rates["vm2"], abs=0.03 * 94)
    assert rates["vm1"] < 20
