"""An uplink that is a tap, a bridge, or a port of one: packets find their classes, and all goes.

Bonds are tried on Debian's kernels (tests/testbed/test_uplinks.py).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.enforcers.policies import desired, nothing, uplink
from tests.enforcers.rig import start_rig
from tests.host.network import SINK_ADDRESS, NamespaceRunner, Network
from tests.host.test_incoming import by_address, host, ifb, sent

pytestmark = pytest.mark.root

HTB = "tc_htb"
COUNT = 10
BEHIND_THE_TAP = "10.90.0.9"
# Opens the tap as QEMU does (IFF_TAP | IFF_NO_PI by TUNSETIFF, linux/if_tun.h), and sends each
# IPv4 packet back to where it came from.
GUEST = """
import fcntl, os, struct
tap = os.open("/dev/net/tun", os.O_RDWR)
fcntl.ioctl(tap, 0x400454CA, struct.pack("16sH22x", b"tap9", 0x1002))
print("ready", flush=True)
while True:
    got = os.read(tap, 65536)
    if got[12:14] == bytes.fromhex("0800"):
        os.write(tap, got[6:12] + got[:6] + got[12:26] + got[30:34] + got[26:30]
                 + got[36:38] + got[34:36] + got[38:])
"""
# The same of datagrams, by the sink.
ECHO = """
import socket
listener = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
listener.bind(("0.0.0.0", 9))
print("ready", flush=True)
while True:
    listener.sendto(*listener.recvfrom(2048))
"""

# Sends so many datagrams of 1000 bytes, and has each back.
ASK = """
import socket, sys
asking = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
asking.connect((sys.argv[1], 9))
asking.settimeout(10)
for _ in range(int(sys.argv[2])):
    asking.send(bytes(1000))
    asking.recv(2048)
"""


def a_tap(network: Network) -> tuple[str, str]:
    network.start(network.host, GUEST)
    host(network, "ip link set tap9 up")
    host(network, "ip addr add 10.90.0.1/24 dev tap9")
    host(network, f"ip neigh replace {BEHIND_THE_TAP} lladdr 02:00:00:00:00:09 dev tap9")
    return "tap9", BEHIND_THE_TAP


def a_bridge(network: Network) -> tuple[str, str]:
    network.start(network.sink, ECHO)
    host(network, "ip link add br9 type bridge")
    host(network, "ip link set up0 master br9")
    host(network, "ip addr flush dev up0")
    host(network, "ip addr add 10.77.255.1/24 dev br9")
    host(network, "ip link set br9 up")
    return "br9", SINK_ADDRESS


def a_port(network: Network) -> tuple[str, str]:
    _, address = a_bridge(network)
    return "up0", address


@pytest.mark.parametrize("make", [a_tap, a_bridge, a_port], ids=["tap", "bridge", "bridge's port"])
def test_packets_find_their_classes_both_ways_whatever_the_uplink_is(
    quiet_network: Network, tmp_path: Path, make: Callable[[Network], tuple[str, str]]
) -> None:
    device, address = make(quiet_network)
    before = quiet_network.settings()
    only = frozenset({device})
    rig = start_rig(tmp_path, quiet_network.runner, interfaces=only, ingress=only)

    left = rig.apply(HTB, desired(uplink(device=device), by_address(1), by_address(2)))
    for number in (1, 2):
        inside = NamespaceRunner(quiet_network.workload(number))
        inside.run([sys.executable, "-c", ASK, address, str(number * COUNT)])
    incoming = sent(quiet_network, ifb(quiet_network), total=3 * COUNT)
    outgoing = sent(quiet_network, device, total=3 * COUNT)
    rig.apply(HTB, nothing(device))

    assert (left.changes, left.shortfalls) == ((), {})
    assert [outgoing["51ce:10"], outgoing["51ce:11"]] == [COUNT, 2 * COUNT]
    assert [incoming["51ce:10"], incoming["51ce:11"]] == [COUNT, 2 * COUNT]
    assert quiet_network.settings() == before
    assert "sluice" not in host(quiet_network, "ip -br link")
