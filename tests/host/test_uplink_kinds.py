"""An uplink that is a tap, a bridge, or a port of one: packets find their classes, and all goes.

Bonds are tried on Debian's kernels (tests/testbed/test_uplinks.py).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.enforcers.policies import desired, nothing, uplink, vnic
from tests.enforcers.rig import start_rig
from tests.host.network import SINK_ADDRESS, Network

pytestmark = pytest.mark.root

HTB = "tc_htb"
COUNT = 10
FRAME_BYTES = 1042
BEHIND_THE_TAP = "10.90.0.9"
# IFF_TAP | IFF_NO_PI by TUNSETIFF, as QEMU does it (linux/if_tun.h).
GUEST = """
import fcntl, os, struct
tap = os.open("/dev/net/tun", os.O_RDWR)
fcntl.ioctl(tap, 0x400454CA, struct.pack("16sH22x", b"tap9", 0x1002))
print("ready", flush=True)
while True:
    os.read(tap, 65536)
"""


def a_tap(network: Network) -> tuple[str, str]:
    network.start(network.host, GUEST)
    host(network, "ip link set tap9 up")
    host(network, "ip addr add 10.90.0.1/24 dev tap9")
    host(network, f"ip neigh replace {BEHIND_THE_TAP} lladdr 02:00:00:00:00:09 dev tap9")
    return "tap9", BEHIND_THE_TAP


def a_bridge(network: Network) -> tuple[str, str]:
    host(network, "ip link add br9 type bridge")
    host(network, "ip link set up0 master br9")
    host(network, "ip addr flush dev up0")
    host(network, "ip addr add 10.77.255.1/24 dev br9")
    host(network, "ip link set br9 up")
    return "br9", SINK_ADDRESS


def a_port(network: Network) -> tuple[str, str]:
    _, address = a_bridge(network)
    return "up0", address


def host(network: Network, words: str) -> str:
    return network.runner.run(words.split())


@pytest.mark.parametrize("make", [a_tap, a_bridge, a_port], ids=["tap", "bridge", "bridge's port"])
def test_packets_find_their_classes_whatever_the_uplink_is(
    quiet_network: Network, tmp_path: Path, make: Callable[[Network], tuple[str, str]]
) -> None:
    device, address = make(quiet_network)
    before = host(quiet_network, f"tc qdisc show dev {device}")
    rig = start_rig(tmp_path, quiet_network.runner, interfaces=frozenset({device}))
    policy = desired(uplink(device=device), vnic(1, 20e6), vnic(2, limit=5e6))

    assert rig.apply(HTB, policy).changes == ()
    for number in (1, 2):
        quiet_network.send_datagrams(number, address, number * COUNT)
    mechanism, deadline_s = rig.mechanisms[HTB], time.monotonic() + 10
    sent: dict[str, int] = {}
    while sum(sent.values()) < 3 * COUNT and time.monotonic() < deadline_s:
        seen = mechanism.read_back(policy, mechanism.observe(policy, rig.ledger.entries()))
        sent = {
            key: int(one.counters.total / 8 / FRAME_BYTES)
            for key, one in seen.items()
            if one.counters is not None
        }
    rig.apply(HTB, nothing(device))

    assert sent == {"net-1": COUNT, "net-2": 2 * COUNT}
    assert host(quiet_network, f"tc qdisc show dev {device}") == before
