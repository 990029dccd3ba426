"""What somebody set on an uplink of two transmit queues, before, under and after a policy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.testbed.network.drivers import load
from tests.testbed.network.uplinks import enforced, tell


def run(*, modules: str, commands: Sequence[str]) -> dict[str, Any]:
    """`commands` are those of tc, without its name, of somebody who set up the uplink."""
    load(modules)
    tell("ip link add up0 numtxqueues 2 type veth peer name other")
    for number in (1, 2):
        tell(f"ip link add p{number} type dummy")
    try:
        tell("ip link set up0 up")
        for command in commands:
            tell(f"tc {command}")
        return enforced(())
    finally:
        for name in ("up0", "p1", "p2"):
            tell(f"ip link del {name}")
