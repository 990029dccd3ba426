"""An uplink that is a bond: its tree stays where the member that sends goes away."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.host.network import DATAGRAMS
from tests.testbed.network.drivers import load
from tests.testbed.network.uplinks import enforced, tell

COUNT = 10


def run(*, modules: str, python: str, commands: Sequence[str]) -> dict[str, Any]:
    """A workload behind p1 sends twice ten datagrams of 1000 bytes, one time by each member.

    `members` has the frames that each sent. `commands` are those of somebody who set up the bond.
    """
    load(modules)
    send = f"ip netns exec vm1 {python} /run/datagrams.py 10.78.0.9 {COUNT}"
    Path("/run/datagrams.py").write_text(DATAGRAMS)
    try:
        _build()
        for command in commands:
            tell(f"tc {command}")
        before = _sent()
        said = enforced([send, "ip link set m1 down", send])
        return said | {"members": [now - then for now, then in zip(_sent(), before, strict=True)]}
    finally:
        for words in (
            "netns del vm1",
            "link del up0",
            *(f"link del {m}" for m in ("m1", "m2", "p2")),
        ):
            tell(f"ip {words}")


def _build() -> None:
    tell("ip link add up0 type bond mode active-backup miimon 100")
    for member in ("m1", "m2"):
        tell(f"ip link add {member} type dummy")
        tell(f"ip link set {member} master up0")
    tell("ip netns add vm1")
    tell("ip link add p1 type veth peer name e0 netns vm1")
    tell("ip link add p2 type dummy")
    for words in (
        "link set up0 up", "addr add 10.78.0.1/24 dev up0",
        "neigh add 10.78.0.9 lladdr 02:00:00:00:00:09 dev up0",
        "link set p1 up", "addr add 10.77.1.1/24 dev p1",
        "-n vm1 link set e0 up", "-n vm1 addr add 10.77.1.2/24 dev e0",
        "-n vm1 route add default via 10.77.1.1",
    ):  # fmt: skip
        tell(f"ip {words}")
    Path("/proc/sys/net/ipv4/ip_forward").write_text("1")


def _sent() -> list[int]:
    folders = [Path(f"/sys/class/net/{member}/statistics") for member in ("m1", "m2")]
    return [int((folder / "tx_packets").read_text()) for folder in folders]
