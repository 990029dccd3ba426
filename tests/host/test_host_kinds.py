"""Kinds of the host's own traffic on the real kernel: how their packets are told."""

import sys
import time
from pathlib import Path

import pytest

from enforcers.mechanisms.tc_htb.observed import HtbObserved
from tests.enforcers.policies import desired, host_traffic, nothing, uplink, vnic
from tests.enforcers.rig import Rig, start_rig
from tests.host.network import (
    NFS_PORT,
    SINK_ADDRESS,
    SINK_ADDRESS_V6,
    NamespaceRunner,
    Network,
)

pytestmark = pytest.mark.root

HTB = "tc_htb"
MANAGEMENT, NFS, BACKUP, OTHER = "51ce:4", "51ce:5", "51ce:b", "51ce:2"
DATAGRAM_COUNT = 9

DATAGRAMS = """
import socket, sys
address, port, dscp, count = sys.argv[1], *map(int, sys.argv[2:])
is_v6 = ":" in address
sender = socket.socket(socket.AF_INET6 if is_v6 else socket.AF_INET, socket.SOCK_DGRAM)
if is_v6:
    sender.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_TCLASS, dscp << 2)
else:
    sender.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, dscp << 2)
for _ in range(count):
    sender.sendto(bytes(1000), (address, port))
"""


def start(directory: Path, built: Network, *kinds: str) -> Rig:
    return start_rig(directory, built.runner, host_kinds=frozenset(kinds))


def look(rig: Rig) -> HtbObserved:
    observed = rig.mechanisms[HTB].observe(nothing("up0"), rig.ledger.entries())
    assert isinstance(observed, HtbObserved)
    return observed


OWN_KINDS = (
    "nfs tcp=2049 udp=2049",
    f"backup to={SINK_ADDRESS} udp=5406",
    "migration dscp=8 tcp=49152-49215",
)


# Address, port and DSCP, and the class that they are told by.
PACKETS = (
    (SINK_ADDRESS, 5405, 0, MANAGEMENT),
    (SINK_ADDRESS_V6, 5405, 0, MANAGEMENT),
    (SINK_ADDRESS, 5412, 0, MANAGEMENT),
    (SINK_ADDRESS_V6, 5406, 0, MANAGEMENT),
    (SINK_ADDRESS, 2049, 0, NFS),
    (SINK_ADDRESS_V6, 2049, 46, NFS),
    (SINK_ADDRESS, 5406, 0, BACKUP),
    (SINK_ADDRESS, 5404, 0, OTHER),
    (SINK_ADDRESS, 5413, 0, OTHER),
    (SINK_ADDRESS_V6, 5413, 0, OTHER),
    # Migration is TCP with this DSCP only.
    (SINK_ADDRESS, 49152, 8, OTHER),
)


def test_packets_of_the_host_find_the_class_of_their_kind(
    quiet_network: Network, tmp_path: Path
) -> None:
    rig = start(tmp_path, quiet_network, *OWN_KINDS)
    rig.apply(HTB, desired(uplink(), host_traffic(), vnic(1)))

    found = [
        (address, port, dscp, most_of(send(rig, quiet_network.runner, address, port, dscp)))
        for address, port, dscp, _ in PACKETS
    ]

    assert found == list(PACKETS)


def send(
    rig: Rig, inside: NamespaceRunner, address: str, port: int, dscp: int = 0
) -> dict[str, int]:
    """Send datagrams, and what left by each leaf in thousands of bytes."""
    before = leaves(rig)
    words = [address, str(port), str(dscp), str(DATAGRAM_COUNT)]
    inside.run([sys.executable, "-c", DATAGRAMS, *words])
    deadline_s = time.monotonic() + 10
    while True:
        sent = {name: count - before[name] for name, count in leaves(rig).items()}
        if sum(sent.values()) >= DATAGRAM_COUNT * 1000 or time.monotonic() > deadline_s:
            return {name: count // 1000 for name, count in sent.items()}
        time.sleep(0.02)


def leaves(rig: Rig) -> dict[str, int]:
    """Bytes sent by class number."""
    seen = look(rig)
    leaves = [name for name, item in seen.classes.items() if item.quantum_bytes is not None]
    return {name: seen.counters[name].sent_bytes for name in leaves}


def most_of(sent: dict[str, int]) -> str:
    """The class of all datagrams; beside them a kernel asks for neighbours."""
    (classid,) = [name for name, count in sent.items() if count >= DATAGRAM_COUNT]
    return classid


def test_packets_of_a_workload_are_its_own_whatever_port_they_go_to(
    quiet_network: Network, tmp_path: Path
) -> None:
    rig = start(tmp_path, quiet_network)
    rig.apply(HTB, desired(uplink(), host_traffic(), vnic(1)))

    sent = send(rig, NamespaceRunner(quiet_network.workload(1)), SINK_ADDRESS, NFS_PORT)

    assert most_of(sent) == "51ce:10"
    assert sent[NFS] == 0


@pytest.mark.parametrize("first", [("off",), ()], ids=["one class first", "kinds first"])
def test_kinds_are_switched_on_and_off_while_the_policy_is_in_force(
    quiet_network: Network, tmp_path: Path, first: tuple[str, ...]
) -> None:
    second = () if first else ("off",)
    wanted = desired(uplink(), host_traffic(20e6), vnic(1, 30e6))
    before = quiet_network.settings()
    start(tmp_path, quiet_network, *first).apply(HTB, wanted)
    rig = start(tmp_path, quiet_network, *second)

    left = rig.apply(HTB, wanted)
    classes = look(rig).classes
    rig.apply(HTB, nothing("up0"))

    assert left.changes == ()
    assert classes["51ce:10"].rate_bits_per_s == 30_000_000
    assert (NFS in classes) is (not second)
    assert classes[OTHER].parent == ("51ce:1" if second else "51ce:3")
    assert quiet_network.settings() == before


def test_host_is_reported_with_what_all_its_kinds_send(
    quiet_network: Network, tmp_path: Path
) -> None:
    rig = start(tmp_path, quiet_network)
    wanted = desired(uplink(), host_traffic(20e6, shares=200), vnic(1))
    rig.apply(HTB, wanted)

    for port in (NFS_PORT, 5405, 9):
        send(rig, quiet_network.runner, SINK_ADDRESS, port)

    mechanism = rig.mechanisms[HTB]
    seen = mechanism.read_back(wanted, mechanism.observe(wanted, rig.ledger.entries()))["host-1"]
    assert seen.setting is not None
    assert seen.counters is not None
    assert (seen.setting.reservation, seen.setting.shares) == (20e6, 200.0)
    assert seen.counters.total >= 3 * DATAGRAM_COUNT * 1042 * 8
