"""What comes in on an uplink that is a bond, by whichever member it comes."""

from __future__ import annotations

import re
import time
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from enforcers.runner import SubprocessRunner
from tests.enforcers.policies import desired, nothing, uplink
from tests.enforcers.rig import start_rig
from tests.host.network import DATAGRAMS
from tests.host.test_incoming import by_address
from tests.testbed.network.drivers import load
from tests.testbed.network.uplinks import HTB, tell

COUNT = 10
FRAME_BYTES = 1042
_ENDS = ("netns del far", "netns del vm1", "link del up0")


def run(*, modules: str, python: str) -> dict[str, Any]:
    """Datagrams for a workload by one member, and as many by the other one when that is down.

    `counts` has what the workload's class of the ifb device counted after each.
    """
    load(modules)
    Path("/run/datagrams.py").write_text(DATAGRAMS)
    try:
        _build()
        only = frozenset({"up0"})
        rig = start_rig(Path(mkdtemp(prefix="agent-")), SubprocessRunner(), ingress=only)
        before = _shown()
        left = rig.apply(HTB, desired(uplink(), by_address(1)))
        counts = []
        for number in (1, 2):
            tell(f"ip -n far route replace default via 10.78.0.1 dev q{number}")
            tell(f"ip netns exec far {python} /run/datagrams.py 10.77.1.2 {COUNT}")
            counts.append(_counted(number * COUNT))
            tell("ip link set m1 down")
        rig.apply(HTB, nothing("up0"))
        return {
            "left": [str(change) for change in left.changes],
            "untold": list(left.shortfalls),
            "counts": counts,
            "before": before,
            "after": _shown(),
        }
    finally:
        for words in _ENDS:
            tell(f"ip {words}")


def _build() -> None:
    for words in (
        "netns add far", "netns add vm1",
        "link add up0 type bond mode active-backup miimon 100",
        "link add m1 type veth peer name q1 netns far",
        "link add m2 type veth peer name q2 netns far",
        "link set m1 master up0", "link set m2 master up0",
        "link set up0 up", "addr add 10.78.0.1/24 dev up0",
        "-n far link set q1 up", "-n far link set q2 up",
        "link add p1 type veth peer name e0 netns vm1",
        "link set p1 up", "addr add 10.77.1.1/24 dev p1",
        "-n vm1 link set e0 up", "-n vm1 addr add 10.77.1.2/24 dev e0",
    ):  # fmt: skip
        tell(f"ip {words}")
    address = Path("/sys/class/net/up0/address").read_text().strip()
    for number in (1, 2):
        tell(f"ip -n far addr add 10.78.0.{number + 1}/24 dev q{number}")
        tell(f"ip -n far neigh add 10.78.0.1 lladdr {address} dev q{number}")
    Path("/proc/sys/net/ipv4/ip_forward").write_text("1")


def _shown() -> list[str]:
    """What is told of the uplink, and which ifb devices of the agent there are."""
    of_uplink = [tell("tc qdisc show dev up0"), tell("tc filter show dev up0 ingress")]
    return [*of_uplink, *re.findall(r"sluice-i\d+", tell("ip -br link"))]


def _counted(wanted: int) -> int:
    (name,) = re.findall(r"sluice-i\d+", tell("ip -br link"))
    deadline_s = time.monotonic() + 10
    while True:
        shown = tell(f"tc -s class show dev {name}")
        (sent_bytes,) = re.findall(r"class htb 51ce:10 .*?\n Sent (\d+) bytes", shown)
        count = int(sent_bytes) // FRAME_BYTES
        if count >= wanted or time.monotonic() > deadline_s:
            return count
        time.sleep(0.1)
